import json
import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from puzzlemix.training.config import DataConfig, LoopConfig, MachineConfig, ModelConfig, TrainConfig
from puzzlemix.training.log import Quiet
from puzzlemix.training.loop import train
from puzzlemix.training.schedule import ScheduleConfig

TINY = TrainConfig(
    method="vanilla",
    data=DataConfig(train_images=60, test_images=25),
    model=ModelConfig(width=2, final_norm=True),
    schedule=ScheduleConfig(lr=0.05),
    loop=LoopConfig(epochs=3, batch_size=12),
    machine=MachineConfig(device="cpu", log_steps=1, tensorboard=False),
)


@pytest.fixture(autouse=True)
def one_thread(threads):
    """Everything here is small: threads would only wait for each other."""
    threads(1)


def config_of(**changes):
    """The tiny config with other values, wherever they belong."""
    config = TINY
    for name, value in changes.items():
        if hasattr(TINY, name):
            config = replace(config, **{name: value}, **({"settings": None} if name == "method" else {}))
            continue
        group = next(g for g in ("data", "model", "loop", "machine", "optimiser") if hasattr(getattr(TINY, g), name))
        config = replace(config, **{group: replace(getattr(config, group), **{name: value})})
    return config


@pytest.fixture
def tiny():
    return config_of


class Ear(Quiet):
    """Hears what a run says, and does something at each step (the bar is due after every one)."""

    def __init__(self, at_step=None):
        super().__init__()
        self.heard, self.drawn, self.at_step = [], [], at_step

    def say(self, text):
        self.heard.append(text)

    def is_due(self):
        return True

    def draw(self, text):
        self.drawn.append(text)
        if self.at_step is not None:
            self.at_step(len(self.drawn))


@pytest.fixture
def ear():
    return Ear


@pytest.fixture
def weights_of():
    """The weights that a run in a folder ended with: of the model and, if there is one, of its average."""
    return lambda folder: {path.name: load_file(path) for path in sorted(folder.glob("*.safetensors"))}


@pytest.fixture
def trained(tmp_path, weights_of):
    """Train in a folder of the test's: the weights."""

    def run(config, name="run", console=None):
        train(config, tmp_path / name, console or Quiet())
        return weights_of(tmp_path / name)

    return run


def torchrun(rank, size):
    """What torchrun tells a process of a single machine."""
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size, "GROUP_RANK": 0}
    return {name: str(value) for name, value in told.items()} | {"TORCHELASTIC_RUN_ID": "test"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Warm:
    """Starts training runs as processes of their own, out of one that has done all the importing."""

    def __init__(self):
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, str(Path(__file__).with_name("warm.py"))]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def _order(self, **order):
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(self, config, folder, *, job="train", output=os.devnull, environment=None, kill_at_write=None):
        """Start one of the jobs; its process id. kill_at_write: the checkpoint in whose writing SIGKILL comes."""
        return self._order(
            job=job,
            config=config.to_json(),
            folder=str(folder),
            output=str(output),
            environment=environment or {},
            kill_at_write=kill_at_write,
        )

    def start_team(self, config, folder, *, job="train", size=2, environment=torchrun):
        """Start processes that are to work together; what rank 1 says goes to `rank1.log` in the folder, and so on."""
        folder.mkdir(exist_ok=True)
        port = free_port()
        return [
            self.start(
                config,
                folder,
                job=job,
                output=folder / f"rank{rank}.log",
                environment=environment(rank, size) | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)},
            )
            for rank in range(size)
        ]

    def wait_all(self, pids):
        """The exit codes of several."""
        return [self.wait(pid) for pid in pids]

    def wait(self, pid):
        """The exit code, negative for a signal that ended the process."""
        return self._order(wait=pid)

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="session")
def warm():
    starter = Warm()
    yield starter
    starter.close()

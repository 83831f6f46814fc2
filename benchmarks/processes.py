"""How training scales over processes: one that uses all cores beside one for each core (DDP, started by torchrun).

`python benchmarks/processes.py` takes some minutes and prints a table, and with --record writes records/processes.json;
`--quick` only shows that everything runs. The two are measured in turn, each in processes of their own.
"""

import argparse
import os
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

import recording
import report
from report import Row

from puzzlemix.training.config import DataConfig, LoopConfig, MachineConfig, ModelConfig, TrainConfig

WHAT = (
    "A vanilla step of PreActResNet-18 on 100 images of 32x32 in float32, from the input pipeline to the optimiser: "
    "one process with all cores, and one process for each core with its share of the images; best of several steps"
)
LEAST_THROUGHPUT = 0.85  # of the single process's
WARM_UP = 2


def config_of(quick: bool) -> TrainConfig:
    """The run whose steps are timed."""
    images, width, batch_size = (80, 2, 20) if quick else (2000, 64, 100)
    return TrainConfig(
        method="vanilla",
        data=DataConfig("synthetic", train_images=images, test_images=10),
        model=ModelConfig("preact_resnet18", width=width),
        loop=LoopConfig(batch_size=batch_size),
        machine=MachineConfig(device="cpu", tensorboard=False),
    )


# ---- in the processes that train -----------------------------------------------------------------------------------


def time_steps(config: TrainConfig, steps: int) -> list[float]:
    """Seconds of each step; every process must have ended it."""
    from puzzlemix.training.feed import Feed
    from puzzlemix.training.loop import build_engine
    from puzzlemix.training.processes import start
    from puzzlemix.training.seeds import step_generator

    team = start(config.loop, config.machine)
    feed = Feed(config)
    engine = build_engine(config, feed, team)
    engine.net.train()
    ends = []
    batches = feed.train(0, rank=team.rank, world=team.size)
    for number, batch in zip(range(WARM_UP + steps), batches, strict=False):
        engine.step(batch, 0.01, number + 1, lambda part, n=number: step_generator(0, 0, n, team.rank, part))
        team.agree(0)
        ends.append(time.perf_counter())
    taken = [end - begin for begin, end in pairwise(ends)]
    return taken[WARM_UP - 1 :] if team.first else []


# ---- in the process that compares ----------------------------------------------------------------------------------


def ask(processes: int, options: argparse.Namespace) -> list[float]:
    """Start so many processes that share the cores, and hear what their steps took."""
    program = [str(Path(__file__)), "--steps", str(options.steps), *(["--quick"] if options.quick else [])]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    threads = str((os.cpu_count() or 1) // processes)
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "PUZZLEMIX_TIMED": "1"}
    command = [sys.executable, *(torchrun if processes > 1 else []), *program]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return [float(word) for word in done.stdout.split()]


def compare(options: argparse.Namespace) -> Row:
    """Both in turn, round after round."""
    together, alone = [], []
    for _ in range(options.rounds):
        alone += ask(1, options)
        together += ask(options.processes, options)
    best = {"one process": 1e3 * min(alone)}
    medians = {"ours": 1e3 * median(together), "one process": 1e3 * median(alone)}
    case = f"{options.processes} processes of one thread"
    return Row("vanilla step", case, "ms", 1e3 * min(together), best, "time", 1 / LEAST_THROUGHPUT, medians)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options(arguments)
    if "PUZZLEMIX_TIMED" in os.environ:
        print(*time_steps(config_of(options.quick), options.steps))
        return
    row = compare(options)
    print(report.full_table([row]), end="")
    print(f"throughput: {row.peers['one process'] / row.ours:.2f} of one process with all cores")
    if options.record:
        recording.save("processes", WHAT, [row])


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="How training scales over processes.")
    parser.add_argument("--quick", action="store_true", help="measure so little that the numbers mean nothing")
    parser.add_argument("--record", action="store_true", help="write records/processes.json")
    parser.add_argument("--processes", type=int, default=max(os.cpu_count() or 2, 2), help="how many beside one")
    parser.add_argument("--steps", type=int, default=8, help="timed steps in each process")
    parser.add_argument("--rounds", type=int, default=2, help="how often each is started")
    options = parser.parse_args(arguments)
    if options.quick:
        options.steps, options.rounds = 2, 1
        if options.record:
            parser.error("a record is carefully measured: leave out --quick")
    return options


if __name__ == "__main__":
    main()

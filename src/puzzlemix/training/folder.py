"""A run's folder: its config, checkpoints, metrics, weights and results, and one process at a time in it."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ..files import remove_leftovers, write_atomically
from .config import TrainConfig, differences

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class RunFolder:
    """Where everything of a run lies."""

    def __init__(self, path: Path):
        self.path = path
        self.config = path / "config.json"
        self.checkpoints = path / "checkpoints"
        self.weights = path / "weights.safetensors"
        self.ema_weights = path / "weights-ema.safetensors"
        self.result = path / "result.json"

    def claim(self, config: TrainConfig) -> None:
        """Make the folder this config's; ValueError where it holds another run."""
        if self.config.exists():
            self._check_same(config)
        elif self.checkpoints.exists():
            raise ValueError(f"{self.path} holds checkpoints but no config.json: pass another folder")
        write_atomically(self.config, config.to_json().encode())
        for folder in (self.path, self.checkpoints):
            remove_leftovers(folder)

    def _check_same(self, config: TrainConfig) -> None:
        there = TrainConfig.load(self.config)
        if there.fingerprint() != config.fingerprint():
            listed = "; ".join(differences(config.essence(), there.essence()))
            raise ValueError(f"{self.path} holds another run ({listed}): pass another folder, or repeat its settings")

    def write_result(self, values: dict[str, Any]) -> None:
        """Write the results."""
        write_atomically(self.result, (json.dumps(values, indent=2) + "\n").encode())


@contextlib.contextmanager
def open_folder(path: Path, config: TrainConfig) -> Iterator[RunFolder]:
    """Make or take up a run's folder, and keep other processes out of it; the system lets go when a process dies."""
    path.mkdir(parents=True, exist_ok=True)
    with open(path / ".lock", "a") as lock:
        _take(lock, path)
        folder = RunFolder(path)
        folder.claim(config)
        yield folder


def _take(lock: IO[str], path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"another process is training in {path}: wait for it, or pass another folder") from None
    except OSError:  # a file system without locks
        os.utime(path)

"""What a record of measurements says about where they come from, and how it reaches the disk."""

import contextlib
import datetime
import json
import math
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from .files import write_atomically

_PACKAGES = ("puzzlemix", "torch", "torchvision", "numpy", "numba", "scipy")
_SOURCE = Path(__file__).parent


def where(device: torch.device | str = "cpu") -> dict[str, Any]:
    """The machine, the versions and the state of the source, without anybody's names or paths."""
    return {
        "device": device_name(device),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": {name: number for name in _PACKAGES if (number := _version(name)) is not None},
        "git": git_state(_SOURCE),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def device_name(device: torch.device | str) -> str:
    """The kind of device, and for CUDA what the hardware is called."""
    device = torch.device(device)
    return f"cuda, {torch.cuda.get_device_name(device)}" if device.type == "cuda" else device.type


def git_state(folder: Path) -> dict[str, Any] | None:
    """Which commit the source in a folder is of, and whether tracked files differ; None where git knows neither."""
    commit = _git(folder, "rev-parse", "HEAD")
    # an installed package may lie below somebody else's checkout
    if not commit or not _git(folder, "ls-files", "."):
        return None
    return {"commit": commit, "changed": bool(_git(folder, "status", "--porcelain", "--untracked-files=no", "."))}


def write_record(path: Path, content: Mapping[str, Any]) -> None:
    """Write a record as JSON, the whole file or none; what is not a finite number becomes null."""
    text = json.dumps(_plain(content), indent=2, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _processor() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    with contextlib.suppress(PackageNotFoundError):
        return version(package)
    return None


def _git(folder: Path, *arguments: str) -> str:
    """What git answers; nothing where it is not there or fails."""
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""

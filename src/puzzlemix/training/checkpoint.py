"""Checkpoints that are whole or not there: written beside their place, renamed into it, and named after their content.

A file is called `epoch0003-step00000150.<digest>.pt`, the digest being the first 16 hex digits of its SHA-256. So one
rename makes both the content and its checksum visible, and `torch.load` opens the file as it is.
"""

import hashlib
import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..files import write_atomically

_NAME = re.compile(r"epoch(\d+)-step(\d+)\.([0-9a-f]{16})\.pt")
_KEPT = 2


class Checkpoint(NamedTuple):
    """A checkpoint's file and what it holds."""

    path: Path
    state: dict[str, Any]


def save_checkpoint(folder: Path, state: dict[str, Any], epoch: int, step: int) -> Path:
    """Write a checkpoint of the whole run's step number `step`, and remove all but the last two."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getbuffer()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"epoch{epoch:04}-step{step:08}.{_digest(content)}.pt"
    write_atomically(path, content)
    _remove_old(folder, path)
    return path


def load_latest(folder: Path, tell: Callable[[str], None]) -> Checkpoint | None:
    """Load the newest checkpoint that is whole, and `tell` of each that is passed over; None where there is none."""
    for path in reversed(list_checkpoints(folder)):
        try:
            return Checkpoint(path, _load(path))
        except ValueError as error:
            tell(f"{error}: going back to the one before")
    return None


def list_checkpoints(folder: Path) -> list[Path]:
    """All checkpoints, the oldest first."""
    found = [path for path in folder.glob("*.pt") if _NAME.fullmatch(path.name)] if folder.is_dir() else []
    return sorted(found, key=lambda path: (_step(path), path.stat().st_mtime_ns))


def _load(path: Path) -> dict[str, Any]:
    """Read a checkpoint; ValueError for one that is not what was written."""
    content = path.read_bytes()
    match = _NAME.fullmatch(path.name)
    if match is None or _digest(content) != match[3]:
        raise ValueError(f"{path.name} is damaged ({len(content)} bytes, but not those that were written)")
    try:
        return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        # not chained: torch's message goes on to advise switching the protection off
        raise ValueError(f"{path.name} is refused: it holds more than tensors and plain values") from None


def _digest(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _step(path: Path) -> int:
    match = _NAME.fullmatch(path.name)
    assert match is not None
    return int(match[2])


def _remove_old(folder: Path, newest: Path) -> None:
    """Keep the newest and the one before; those of later steps are damaged, or the run would have gone on from them."""
    others = [path for path in list_checkpoints(folder) if path != newest]
    before = [path for path in others if _step(path) <= _step(newest)]
    for path in set(others) - set(before[-(_KEPT - 1) :]):
        path.unlink(missing_ok=True)

"""What a run says: metrics as JSON lines and for TensorBoard, and a word to whoever watches."""

import json
import math
import os
import sys
import time
from pathlib import Path
from typing import IO, Any

_REDRAW_SECONDS = 0.2
_BAR = 24


class MetricsLog:
    """Appends one JSON object per line, and can be cut back to where a checkpoint was taken: no line comes twice."""

    def __init__(self, folder: Path, *, tensorboard: bool, position: int = 0, step: int = 0):
        """Open `metrics.jsonl` at `position` bytes and, for TensorBoard, forget what was written after `step`."""
        self.path = folder / "metrics.jsonl"
        self._file = open(self.path, "ab")  # noqa: SIM115  (`close` closes it)
        self._file.truncate(min(position, self._size()))
        self._board = _open_board(folder / "tensorboard", step) if tensorboard else None

    def write(self, event: str, step: int, values: dict[str, Any]) -> None:
        """Write the values of one event ("step", "epoch", ...) at a step of the whole run; NaN becomes null."""
        line = {"event": event, "step": step, **{name: _plain(value) for name, value in values.items()}}
        self._file.write(json.dumps(line).encode() + b"\n")
        self._file.flush()
        if self._board is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._board.add_scalar(f"{event}/{name}", value, step)

    def position(self) -> int:
        """How long the file is in bytes, once all of it has reached the disk."""
        os.fsync(self._file.fileno())
        if self._board is not None:
            self._board.flush()
        return self._size()

    def close(self) -> None:
        """Close the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()

    def _size(self) -> int:
        return os.fstat(self._file.fileno()).st_size


class NoLog(MetricsLog):
    """Writes nothing: of several processes one does."""

    def __init__(self):
        pass

    def write(self, event: str, step: int, values: dict[str, Any]) -> None:
        """Write nothing."""

    def position(self) -> int:
        """Nothing was written."""
        return 0

    def close(self) -> None:
        """There is nothing to close."""


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _open_board(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError(
            f'TensorBoard cannot be written ({error}): pip install "puzzlemix[train]", or pass --no-tensorboard'
        ) from error
    return SummaryWriter(folder, purge_step=step + 1)


class Console:
    """Lines for whoever watches, and on a terminal a bar below them that is drawn over and over."""

    def __init__(self, stream: IO[str] | None = None):
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self._drawn_at = -math.inf
        self._bar = ""

    def say(self, text: str) -> None:
        """Print a line; the bar, if there is one, gives way."""
        self._clear()
        self.stream.write(text + "\n")
        self.stream.flush()

    def warn(self, text: str) -> None:
        """Print a line about something that is not as it should be."""
        self.say(f"warning: {text}")

    def is_due(self) -> bool:
        """Whether the bar may be drawn again: what it shows costs a moment to read off an accelerator."""
        return self.live and time.monotonic() - self._drawn_at > _REDRAW_SECONDS

    def draw(self, text: str) -> None:
        """Draw the bar's line over the one before."""
        width = _columns(self.stream) - 1
        self._clear()
        self._bar = text[:width]
        self.stream.write(self._bar)
        self.stream.flush()
        self._drawn_at = time.monotonic()

    def _clear(self) -> None:
        if self._bar:
            self.stream.write("\r" + " " * len(self._bar) + "\r")
            self._bar = ""


class Quiet(Console):
    """Says nothing."""

    def __init__(self):
        self.live = False

    def say(self, text: str) -> None:
        """Say nothing."""


def bar(share: float) -> str:
    """Draw a share from 0 to 1 as a bar."""
    full = round(min(max(share, 0.0), 1.0) * _BAR)
    return "━" * full + "╌" * (_BAR - full)


def clock(seconds: float) -> str:
    """Seconds as 1:02:03 or 2:03."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _columns(stream: IO[str]) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        return 80

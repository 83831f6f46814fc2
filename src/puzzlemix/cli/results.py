"""Finished runs as a table: one run, and beside it those that differ from it by the method alone."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..training.config import TrainConfig
from ..training.folder import RunFolder
from ..training.log import clock
from .tables import aligned


class Finished(NamedTuple):
    """A finished run: where it lies, its settings and its results."""

    folder: Path
    config: TrainConfig
    result: dict[str, Any]


def read_finished(folder: Path) -> Finished | None:
    """Read a run's folder; None where there is no finished run, or none that can be read."""
    files = RunFolder(folder)
    try:
        return Finished(folder, TrainConfig.load(files.config), json.loads(files.result.read_text()))
    except (OSError, ValueError):
        return None


def beside(run: Finished) -> list[Finished]:
    """The run, and the finished ones in folders beside it that had another method and all else the same."""
    return [run, *sorted(_rivals(run), key=lambda other: other.folder.name)]


def _rivals(run: Finished) -> Iterator[Finished]:
    for path in run.folder.absolute().parent.glob("*/result.json"):
        other = read_finished(run.folder.parent / path.parent.name)
        if other is not None and other.config.method != run.config.method and _rest(other) == _rest(run):
            yield other


def _rest(run: Finished) -> dict[str, Any]:
    """What a run depends on, without its method."""
    return {name: value for name, value in run.config.essence().items() if name not in ("method", "settings")}


def table(runs: Sequence[Finished]) -> str:
    """Errors in per cent of the test images, a line for each run, and for its averaged weights."""
    reach = f"FGSM {runs[0].config.loop.fgsm_255:g}/255"
    rows = [("method", "clean error", "median of last 10", reach, "time"), *(row for run in runs for row in _rows(run))]
    return aligned(rows)


def _rows(run: Finished) -> Iterator[tuple[str, ...]]:
    for name, errors in (("", run.result["errors"]), (", averaged", run.result["ema_errors"])):
        if errors is not None:
            shares = (f"{100 * errors[key]:.1f} %" for key in ("top1", "median_top1", "fgsm"))
            yield (run.config.method + name, *shares, clock(run.result["seconds"]))

"""From a table to its results: the runs it needs, done one after the other, each with a record when it is done."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..files import write_atomically
from ..training.config import MachineConfig, TrainConfig
from .recipes import Table

Scale = Callable[[TrainConfig], TrainConfig]


@dataclass(frozen=True)
class Places:
    """Where things lie: runs, with their checkpoints and weights, and records, small files that are worth keeping."""

    runs: Path = Path("runs")
    records: Path = Path("records/runs")


@dataclass(frozen=True)
class Planned:
    """A run that a table needs: its row, its config, and what is to be measured of it."""

    row: str
    config: TrainConfig
    measures: tuple[str, ...]

    def folder(self, places: Places) -> Path:
        """Where it is trained."""
        return places.runs / self.config.folder_name()

    def record(self, places: Places) -> Path:
        """Its record."""
        return places.records / f"{self.config.fingerprint()}.json"

    def result(self, places: Places) -> dict[str, float] | None:
        """What its record says, in percent; None where a measure is not there yet."""
        values = _read(self.record(places)).get("errors", {})
        return values if all(name in values for name in self.measures) else None


def plan(
    table: Table, seeds: int, scale: Callable[[TrainConfig], TrainConfig], machine: MachineConfig
) -> list[Planned]:
    """Every run of a table, seed by seed, so that all rows are there before the next seed begins."""
    return [
        Planned(row, replace(scale(recipe()), seed=seed, machine=machine), table.published.columns)
        for seed in range(seeds)
        for row, recipe in table.recipes.items()
    ]


def results(planned: Iterable[Planned], places: Places) -> dict[str, list[dict[str, float]]]:
    """What the records say, by row."""
    found: dict[str, list[dict[str, float]]] = {}
    for run in planned:
        values = run.result(places)
        if values is not None:
            found.setdefault(run.row, []).append(values)
    return found


def missing(planned: Iterable[Planned], places: Places) -> Iterator[Planned]:
    """The runs without a full record, each once though it may stand in several rows."""
    seen: set[str] = set()
    for run in planned:
        name = run.config.fingerprint()
        if name not in seen and run.result(places) is None:
            seen.add(name)
            yield run


def write_record(run: Planned, places: Places, errors: Mapping[str, float], about: Mapping[str, Any]) -> None:
    """Keep what a run came to, with its config; errors measured before stay."""
    path = run.record(places)
    before = _read(path).get("errors", {})
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"config": run.config.essence(), "errors": {**before, **errors}, **about}
    write_atomically(path, (json.dumps(content, indent=2) + "\n").encode())


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): remove it, and the run is done again") from None


def passes(config: TrainConfig, images: int) -> float:
    """Roughly how many images go through the network and back, in millions: what a run costs."""
    return config.loop.epochs * images * _PASSES.get(config.method, 1) / 1e6


_PASSES = {"augmix": 3, "puzzle": 2}

"""A table with what the records of its runs say."""

import json
from collections.abc import Sequence
from typing import Any

from .recipes import COSTS, Table
from .run import Places, Planned, results
from .tables import Column, paired_text, sweep_text, table_text

_PLAIN, _HALF = "Vanilla", " (half)"


def filled(table: Table, planned: Sequence[Planned], places: Places) -> str:
    """The table as far as it is, as Markdown, with the tests that the paper makes of it."""
    found = results(planned, places)
    beside = (epochs_column(planned), time_column(planned) if table.small else None)
    more = [column for column in beside if column is not None]
    parts = [table_text(table.published, list(table.recipes), found, more, verdicts=table.paired is None)]
    if table.sweep is not None:
        parts.append(sweep_text(table.sweep, found))
    if table.paired is not None:
        parts.append(paired_text(table.paired, differences(table, planned, places)))
    return "\n".join(parts)


def differences(table: Table, planned: Sequence[Planned], places: Places) -> list[float]:
    """By how much the second row's top-1 accuracy exceeds the first row's, for every seed that both rows have."""
    one, other = table.recipes
    errors = {(run.row, run.config.seed): found["top1"] for run in planned if (found := run.result(places))}
    seeds = sorted({seed for _, seed in errors})
    return [errors[one, seed] - errors[other, seed] for seed in seeds if {(one, seed), (other, seed)} <= errors.keys()]


def epochs_column(planned: Sequence[Planned]) -> Column | None:
    """How long each row is trained; None where all are trained alike."""
    epochs = {run.row: str(run.config.loop.epochs) for run in planned}
    return Column("epochs", epochs) if len(set(epochs.values())) > 1 else None


def time_column(planned: Sequence[Planned]) -> Column | None:
    """How long each row's training takes over the plain one's, by what its steps cost; None where that is not known.

    Not by what the records say: several runs may have shared a machine.
    """
    epochs = {run.row: run.config.loop.epochs for run in planned}
    costs = {row: COSTS.get(row.replace(_HALF, "")) for row in epochs}
    if _PLAIN not in epochs or None in costs.values():
        return None
    cells = {row: f"{cost * epochs[row] / epochs[_PLAIN]:.2f}" for row, cost in costs.items() if cost is not None}
    note = "Times are epochs times what a step costs on two CPU cores (`benchmarks/train.py`)."
    return Column("time, x vanilla", cells, note)


def machine_of(record: dict[str, Any]) -> str:
    """The kind of machine that a run was trained on."""
    where = record["where"]
    threads = where["threads"]
    return f"{where['device']}, {where['processor']}, {threads} thread{'' if threads == 1 else 's'}"


def record_of(run: Planned, places: Places) -> dict[str, Any]:
    """All that was recorded of a run."""
    return json.loads(run.record(places).read_text())

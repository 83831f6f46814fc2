"""Writes the tables of README.md and docs/ from records/: what stands in them was measured.

A table goes between `<!-- table: NAME -->` and `<!-- end table -->`. `python benchmarks/tables.py` rewrites them all,
`--check` only tells whether they are up to date. Where nothing is recorded yet a table is empty.
"""

import argparse
import itertools
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import curves
import recording
import report

from puzzlemix.experiments import recipes
from puzzlemix.experiments.filled import filled, machine_of, record_of
from puzzlemix.experiments.recipes import on_data
from puzzlemix.experiments.run import Places, Planned, plan, results
from puzzlemix.experiments.tables import markdown, spread, values_of
from puzzlemix.training.config import MachineConfig

ROOT = Path(__file__).parents[1]
SHORT = {"mix": ("whole mix", "mask alone", "128 images of 224x224"), "train": ("step",), "explorer": ("all of these",)}
CHOSEN = {
    "gpu": (
        ("mask", "128 images, 16x16"),
        ("plans of both images", "128 images, 16x16"),
        ("whole mix", "eager, of a WRN-28-10 step"),
        ("step of WRN-28-10", "eager, exact saliency"),
        ("step of WRN-28-10", "eager, saliency remembered"),
        ("step of WRN-28-10", "compiled, CUDA graph, exact saliency"),
        ("step of WRN-28-10", "compiled, CUDA graph, saliency given"),
    ),
    "transport": (
        ("Algorithm 1", "s raw, 1024 cells"),
        ("Algorithm 1", "s summing to 1, 1024 cells"),
        ("error of Algorithm 1", "s raw, 1024 cells"),
        ("error of Algorithm 1", "s summing to 1, 1024 cells"),
        ("exact plan", "real maps, 256 cells"),
        ("exact plan", "real maps, 1024 cells"),
    ),
    "convergence": tuple((plan, f"xi 0.8, grid {grid}") for plan in ("Algorithm 1", "exact plan") for grid in (4, 16)),
}
# What the small tables were filled with: puzzlemix reproduce mini --data ... --seeds ...
SMALL_DATA, SMALL_SEEDS = "data/cifar10-subset.zip", 3
SMALL_ROWS = ("Vanilla", "Input", "Manifold", "CutMix", "AugMix", "Puzzle Mix", "Puzzle Mix (adv)", "Puzzle Mix (aug)")
_BLOCK = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end table -->)", re.DOTALL)


def short(name: str) -> str:
    """What matters most of a record, without goals."""
    return _of_record(name, lambda rows: report.short_table(row for row in rows if row.part in SHORT[name]))


def in_full(name: str) -> str:
    """All of a record, with the goals."""
    return _of_record(name, report.full_table)


def gpu() -> str:
    """What was measured on a GPU, with the goals."""
    return _of_record("gpu", lambda rows: report.full_table(report.telling(rows)))


def chosen(name: str) -> str:
    """Single rows of a record that say the most, without goals."""
    return _of_record(
        name, lambda rows: report.short_table(row for row in rows if (row.part, row.case) in CHOSEN[name])
    )


def of_plans(real: bool) -> str:
    """How fast plans are: on real maps, or on random costs."""
    return _of_record(
        "transport", lambda rows: report.full_table(row for row in rows if ("real maps" in row.case) == real)
    )


def _of_record(name: str, table: Callable[[list[report.Row]], str]) -> str:
    """A table of a record's rows, and where they come from; nothing where nothing is recorded."""
    found = recording.load(name)
    return "" if found is None else f"{table(found[1])}\n{_origin(found[0])}"


def of_curves() -> str:
    """What mixed images keep against lambda."""
    found = curves.load()
    return "" if found is None else f"{curves.text(found[1])}\n{_origin(found[0])}"


def runs_in_full(name: str) -> str:
    """A table of runs, as far as they are recorded."""
    planned, places = _planned(name), _places()
    recorded = _recorded(planned, places)
    return f"{filled(recipes.TABLES[name], planned, places)}\n{_origin_of(recorded)}" if recorded else ""


def runs_in_short() -> str:
    """The methods alone: errors after 40 epochs, in their time and after 160, attacked and corrupted."""
    places = _places()
    tables = {name: _planned(name) for name in ("mini", "mini-time", "mini-long")}
    recorded = _recorded(itertools.chain(*tables.values()), places)
    if not recorded:
        return ""
    found, in_time, long = (results(planned, places) for planned in tables.values())
    columns = [
        ("40 epochs", "final_top1", found),
        ("in equal time", "final_top1", in_time),
        ("160 epochs", "final_top1", long),
        ("FGSM", "fgsm", found),
        ("corruptions", "corruption", found),
    ]
    rows = [[row, *(spread(values_of(name, row, values)) for _, name, values in columns)] for row in SMALL_ROWS]
    return f"{markdown(['', *(head for head, _, _ in columns)], rows)}\n{_origin_of(recorded)}"


def _planned(name: str) -> list[Planned]:
    """All runs of a small table."""
    return plan(recipes.TABLES[name], SMALL_SEEDS, partial(on_data, data=SMALL_DATA), MachineConfig())


def _places() -> Places:
    return Places(records=recording.RECORDS / "runs")


def _recorded(planned: Iterable[Planned], places: Places) -> list[dict[str, Any]]:
    """The records that there are, each once."""
    paths = {run.record(places): run for run in planned if run.result(places) is not None}
    return [record_of(run, places) for run in paths.values()]


def _origin_of(records: Iterable[dict[str, Any]]) -> str:
    """Where and when runs were done: once for each kind of machine and versions."""
    groups: dict[str, list[str]] = {}
    for record in records:
        where = record["where"]
        machine = f"{machine_of(record)}; {_software(where)}"
        groups.setdefault(machine, []).append(where["date"])
    lines = [
        f"{len(dates)} runs on {machine}; {' to '.join(dict.fromkeys((min(dates), max(dates))))}."
        for machine, dates in groups.items()
    ]
    return f"Errors in %, mean ± deviation over (so many) seeds. {' '.join(lines)}\n"


TABLES: dict[str, Callable[[], str]] = {
    **{name: partial(short, name) for name in SHORT},
    **{f"{name} in full": partial(in_full, name) for name in SHORT},
    "gpu": gpu,
    **{f"{name} in short": partial(chosen, name) for name in CHOSEN},
    **{name: partial(in_full, name) for name in ("evaluation", "processes", "convergence")},
    "curves": of_curves,
    "plans of random costs": partial(of_plans, False),
    "plans of real maps": partial(of_plans, True),
    "results mini": partial(runs_in_full, "mini"),
    "results mini in time": partial(runs_in_full, "mini-time"),
    "results mini long": partial(runs_in_full, "mini-long"),
    "results mini in short": runs_in_short,
}


def _origin(content: dict[str, Any]) -> str:
    where = content["where"]
    threads = f"{where['threads']} thread{'' if where['threads'] == 1 else 's'}"
    machine = f"{where['processor']}, {threads}; {_software(where)}"
    return f"{content['what']}. {machine}; {where['date']}.\n"


def _software(where: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    return f"Python {where['python']}, {versions}"


def with_tables(text: str) -> str:
    """The text with all its tables as they should be."""
    return _BLOCK.sub(lambda block: f"{block[1]}{_table(block[2])}{block[3]}", text)


def _table(name: str) -> str:
    if name not in TABLES:
        raise SystemExit(f"there is no table {name!r}: choose from {', '.join(TABLES)}")
    return TABLES[name]()


def outdated(files: Iterable[Path]) -> list[Path]:
    """The files whose tables are not what the records say."""
    return [path for path in files if with_tables(path.read_text()) != path.read_text()]


def documents() -> list[Path]:
    """Every file that may hold a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: list[str] | None = None) -> None:
    """Rewrite, or check."""
    parser = argparse.ArgumentParser(description="Write the tables of README.md and docs/ from records/.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a table is out of date")
    check = parser.parse_args(arguments).check
    paths = outdated(documents())
    for path in paths:
        print(f"{path.relative_to(ROOT)}: {'out of date' if check else 'rewritten'}")
        if not check:
            path.write_text(with_tables(path.read_text()))
    if check and paths:
        raise SystemExit("run `python benchmarks/tables.py`")


if __name__ == "__main__":
    main()

"""How fast plans are and how good: prints a table, and with --record writes records/transport.json.

`python benchmarks/transport.py --network RUN` takes some minutes; RUN is the folder of a finished run, whose network
looks at its test images. Parts: random (the paper's random costs), real (the costs of mixes). `--quick` only
shows that everything runs. All solvers have one thread. `pip install lap lapjv` for those beside ours.
"""

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import recording
import report
import torch
from networks import network_of
from options import checked, parser_of
from report import Row

from puzzlemix.experiments import assignment, published
from puzzlemix.experiments.assignment import Timing
from puzzlemix.experiments.figures import Source

WHAT = (
    "Times per problem on one thread, averages over {random} random problems and {real} real ones: ours for all in one "
    "call or with a call for each, those of others with a call for each, from ready cost matrices. Real maps: test "
    "images of {data}, {model} after {epochs} epochs"
)
GOALS = {"raw": 20, "sum to 1": 60}  # how much faster than others Algorithm 1 is at the size below
LARGEST = 1024
RANDOM, REAL = 20, 100  # problems of each size
SECONDS = 1e6  # in microseconds


def of_random_costs(_: Path | None, quick: bool) -> Iterator[Row]:
    """Algorithm 1 on the paper's random costs, and the paper's own times."""
    rows = assignment.measure(1 if quick else RANDOM, torch.Generator().manual_seed(0))
    for row in rows:
        goal = GOALS[row.costs] if row.cells == LARGEST else None
        yield timed("Algorithm 1", row, row.algorithm_1, goal)
    for row in rows:
        if row.cells == LARGEST:
            yield timed("Algorithm 1, one call each", row, row.algorithm_1_alone)
    for row in rows:
        yield timed("exact plan", row, row.exact)
    for theirs in published.TRANSPORT:
        beside = {"exact": SECONDS * theirs.exact_seconds}
        yield Row("as published", f"{theirs.cells} cells", "µs", SECONDS * theirs.seconds, beside)
    yield from errors_of(rows)


def of_real_maps(network: Path | None, quick: bool) -> Iterator[Row]:
    """Both plans on the costs of mixes."""
    count = 2 if quick else REAL
    source = Source(network, pairs=count)
    rows = assignment.measure_real(source.batches(), count, source.generator())
    for row in rows:
        yield timed("exact plan", row, row.exact, goal=1)
    for row in rows:
        yield timed("exact plan, one call each", row, row.exact_alone)
    for row in rows:
        yield timed("Algorithm 1", row, row.algorithm_1)
    yield from errors_of(rows)


def timed(part: str, row: Timing, seconds: float, goal: float | None = None) -> Row:
    """A row beside what others take, the faster one of lap and lapjv first: that is the one to beat."""
    others = {name: getattr(row, name) for name in ("lap", "lapjv")}
    installed = sorted((time, name) for name, time in others.items() if time is not None)
    peers = {name: SECONDS * time for time, name in [*installed, (row.scipy, "scipy")]}
    return Row(part, case_of(row), "µs", SECONDS * seconds, peers, goal=goal if installed else None)


def errors_of(rows: Iterable[Timing]) -> Iterator[Row]:
    """Relative errors, beside the paper's where costs are random."""
    known = {theirs.cells: {"in the paper": 100 * theirs.error} for theirs in published.TRANSPORT}
    for row in rows:
        peers = {} if row.costs == assignment.REAL else known[row.cells]
        yield Row("error of Algorithm 1", case_of(row), "%", 100 * row.error, peers, judge="value")


def case_of(row: Timing) -> str:
    """The kind of costs and the size, in words."""
    kinds = {"raw": "s raw", "sum to 1": "s summing to 1", assignment.REAL: assignment.REAL}
    return f"{kinds[row.costs]}, {row.cells} cells"


PARTS: dict[str, Callable[[Path | None, bool], Iterator[Row]]] = {
    "random": of_random_costs,
    "real": of_real_maps,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options(arguments)
    torch.set_num_threads(1)
    rows = [row for part in options.only for row in PARTS[part](options.network, options.quick)]
    print(report.full_table(rows), end="")
    if options.record:
        recording.save("transport", WHAT.format(random=RANDOM, real=REAL, **network_of(options.network)), rows)


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of("transport", "How fast plans are, and how good.", PARTS)
    parser.add_argument("--network", type=Path, metavar="RUN", help="the folder of a finished run")
    options = checked(parser, arguments, PARTS)
    if options.network is None and "real" in options.only:
        parser.error("real maps need a network: pass --network RUN, a finished run, or --only random")
    return options


if __name__ == "__main__":
    main()

"""What changes after the first cycle of the minimisation: a table, and with --record records/convergence.json.

`python benchmarks/convergence.py --network RUN` takes some minutes; RUN is the folder of a finished run, whose network
looks at its test images. `--quick` only shows that everything runs.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import recording
import report
from report import Row
from transport import network_of

from puzzlemix.experiments import convergence
from puzzlemix.experiments.figures import Source

WHAT = (
    "{pairs} pairs of test images of {data}, {model} after {epochs} epochs: mixed images that {cycles} cycles change "
    "against one, with the gain s_i z_j; lambda drawn per batch. The goal is of xi from 0.5 to 0.8, as in the paper"
)
GOAL = 0.2  # at most so many % of images change
_PLANS = {"paper": "Algorithm 1", "exact": "exact plan"}


def changes(source: Source) -> Iterator[Row]:
    """Each solver of plans, cost of distance and grid."""
    for change in convergence.measure(source.batches(), source.generator()):
        least, most = convergence.BEST_COSTS
        goal = GOAL if least <= change.xi <= most else None
        case, pixels = f"xi {change.xi:g}, grid {change.grid}", {"of the pixels": 100 * change.pixels}
        yield Row(_PLANS[change.plan], case, "%", 100 * change.images, pixels, judge="value", goal=goal)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options(arguments)
    pairs = 4 if options.quick else options.pairs
    rows = list(changes(Source(options.network, pairs=pairs)))
    print(report.full_table(rows), end="")
    if options.record:
        what = WHAT.format(pairs=f"{pairs:,}", cycles=convergence.CYCLES, **network_of(options.network))
        recording.save("convergence", what, rows)


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="What changes after the first cycle of the alternating minimisation.")
    parser.add_argument("--network", type=Path, metavar="RUN", required=True, help="the folder of a finished run")
    parser.add_argument("--pairs", type=int, default=1000, metavar="N", help="how many pairs are mixed (1000)")
    parser.add_argument("--quick", action="store_true", help="measure so little that the numbers mean nothing")
    parser.add_argument("--record", action="store_true", help="write records/convergence.json")
    options = parser.parse_args(arguments)
    if options.record and options.quick:
        parser.error("a record is measured with care: leave out --quick")
    return options


if __name__ == "__main__":
    main()

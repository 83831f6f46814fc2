"""What changes after the first cycle of the minimisation: a table, and with --record records/convergence.json.

`python benchmarks/convergence.py --network RUN` takes some minutes; RUN is the folder of a finished run, whose network
looks at its test images. `--quick` only shows that everything runs.
"""

from collections.abc import Iterator

import recording
import report
from networks import network_of, read_options
from report import Row

from puzzlemix.experiments import convergence
from puzzlemix.experiments.figures import Source

WHAT = (
    "{pairs} pairs of test images of {data}, {model} after {epochs} epochs: mixed images that {cycles} cycles change "
    "against one, with the gain s_i z_j; lambda drawn per batch. The goal is of xi from 0.5 to 0.8, as in the paper"
)
GOAL = 0.2  # at most so many % of images change


def changes(source: Source) -> Iterator[Row]:
    """Each solver of plans, cost of distance and grid."""
    for change in convergence.measure(source.batches(), source.generator()):
        least, most = convergence.BEST_COSTS
        goal = GOAL if least <= change.xi <= most else None
        case, pixels = f"xi {change.xi:g}, grid {change.grid}", {"of the pixels": 100 * change.pixels}
        yield Row(convergence.PLANS[change.plan], case, "%", 100 * change.images, pixels, judge="value", goal=goal)


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options("convergence", "What changes after the first cycle of the minimisation.", arguments)
    rows = list(changes(Source(options.network, pairs=options.pairs)))
    print(report.full_table(rows), end="")
    if options.record:
        what = WHAT.format(pairs=f"{options.pairs:,}", cycles=convergence.CYCLES, **network_of(options.network))
        recording.save("convergence", what, rows)


if __name__ == "__main__":
    main()

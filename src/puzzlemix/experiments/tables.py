"""Results beside the paper's, as Markdown."""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import NamedTuple

from .published import PairedTest, PublishedTable, Sweep

Results = Mapping[str, Sequence[Mapping[str, float]]]  # of every row: what each seed came to, in percent

HEADINGS = {
    "top1": "top-1",
    "final_top1": "top-1",
    "top5": "top-5",
    "best_top1": "best top-1",
    "best_top5": "best top-5",
    "fgsm": "FGSM",
    "pgd": "PGD",
    "corruption": "corruption",
}
_NONE = "-"


class Column(NamedTuple):
    """A column beside the errors: its heading, the cells of the rows that have one, and what is to be said of it."""

    heading: str
    cells: Mapping[str, str]
    note: str = ""


def table_text(
    published: PublishedTable,
    rows: Sequence[str],
    results: Results,
    more: Sequence[Column] = (),
    *,
    verdicts: bool = True,
) -> str:
    """A table of errors in percent: the paper's and ours, mean and deviation over seeds, and who leads."""
    columns = [*_error_columns(published, results, rows), *more]
    lines = [[row, *(column.cells.get(row, "") for column in columns)] for row in rows]
    table = markdown(["method", *(column.heading for column in columns)], lines)
    said = [verdict(name, rows, results) for name in published.columns] if verdicts else []
    notes = [f"- {line}" for line in (*said, *(column.note for column in more)) if line]
    return "\n".join([f"**{published.title}**, errors in %", "", table, *notes]).rstrip() + "\n"


def _error_columns(published: PublishedTable, results: Results, rows: Sequence[str]) -> list[Column]:
    """A column for each measure, the paper's before ours where it has any."""
    columns = []
    for number, name in enumerate(published.columns):
        if published.rows:
            theirs = {row: f"{errors[number]:.2f}" for row, errors in published.rows.items()}
            columns.append(Column(f"{HEADINGS[name]}, paper", theirs))
        ours = {row: spread(values_of(name, row, results)) for row in rows}
        columns.append(Column(f"{HEADINGS[name]}{', ours' if published.rows else ''}", ours))
    return columns


def values_of(measure: str, row: str, results: Results) -> list[float]:
    """What the seeds of a row came to."""
    return [seed[measure] for seed in results.get(row, ()) if measure in seed]


def spread(values: Sequence[float]) -> str:
    """Mean and deviation over seeds, as far as there are any."""
    if not values:
        return _NONE
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{mean(values):.2f} ± {stdev(values):.2f} ({len(values)})"


def verdict(measure: str, rows: Sequence[str], results: Results) -> str:
    """Which row is best, by how much, and whether that could be chance; empty where there is nothing to compare."""
    known = {row: values for row in rows if (values := values_of(measure, row, results))}
    if len(known) < 2:
        return ""
    best, runner_up = sorted(known, key=lambda row: mean(known[row]))[:2]
    lead = mean(known[runner_up]) - mean(known[best])
    text = f"{HEADINGS[measure]}: {best} leads {runner_up} by {lead:.2f} points"
    p = p_value(known[best], known[runner_up])
    return (
        f"{text} (too few seeds to say whether by chance)." if p is None else f"{text} (Welch's t-test: p = {p:.2g})."
    )


def p_value(one: Sequence[float], other: Sequence[float]) -> float | None:
    """How likely means at least this far apart are if both are samples of the same; None where seeds do not tell.

    Written out, as scipy's own warns of seeds that came to the same, which is no trouble here.
    """
    if min(len(one), len(other)) < 2:
        return None
    from scipy.stats import t as student

    shares = [stdev(values) ** 2 / len(values) for values in (one, other)]
    if not sum(shares):
        return None
    t = (mean(one) - mean(other)) / math.sqrt(sum(shares))
    freedom = sum(shares) ** 2 / sum(s**2 / (len(v) - 1) for s, v in zip(shares, (one, other), strict=True))
    return float(2 * student.sf(abs(t), freedom))


# ---- all rows together -------------------------------------------------------------------------------------------


def sweep_text(published: Sweep, results: Results) -> str:
    """Mean and deviation over the values of a coefficient, the paper's and ours."""
    ours = [mean(values) for row in results if (values := values_of("top1", row, results))]
    lines = [
        ["paper", str(len(published.values)), f"{published.mean:.2f}", f"{published.deviation:.2f}"],
        ["ours", str(len(ours)), *_mean_and_deviation(ours, 2)],
    ]
    return f"Top-1 errors over all values:\n\n{markdown(['', 'values', 'mean', 'deviation'], lines)}"


def paired_text(published: PairedTest, differences: Sequence[float]) -> str:
    """The paper's two-sided paired t-test, and ours of the same differences, run by run."""
    ours = paired_test(differences)
    test = [_NONE, _NONE] if ours is None else [f"{ours.statistic:.3f}", f"{ours.p_value:.3f}"]
    lines = [
        ["paper", str(published.runs), *(f"{value:.3f}" for value in published[1:])],
        ["ours", str(len(differences)), *_mean_and_deviation(differences, 3), *test],
    ]
    table = markdown(["", "runs", "mean", "deviation", "T", "p"], lines)
    return f"Top-1 accuracy with the exact plan less that with Algorithm 1, two-sided paired t-test:\n\n{table}"


def paired_test(differences: Sequence[float]) -> PairedTest | None:
    """Whether differences could be 0 on average; None where they are too few, or all the same, to tell."""
    if len(differences) < 2 or not stdev(differences):
        return None
    from scipy.stats import t as student

    runs, middle, deviation = len(differences), mean(differences), stdev(differences)
    statistic = middle / (deviation / math.sqrt(runs))
    return PairedTest(runs, middle, deviation, statistic, float(2 * student.sf(abs(statistic), runs - 1)))


def _mean_and_deviation(values: Sequence[float], digits: int) -> list[str]:
    """Both as text, as far as there are enough values."""
    middle = f"{mean(values):.{digits}f}" if values else _NONE
    return [middle, f"{stdev(values):.{digits}f}" if len(values) > 1 else _NONE]


# ---- Markdown ----------------------------------------------------------------------------------------------------


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that can be read as it is: the first column to the left, the others to the right."""
    widths = [max(3, *map(len, column)) for column in zip(head, *rows, strict=True)]
    rules = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "".join(_line(row, widths) for row in (head, rules, *rows))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = cells
    padded = (first.ljust(widths[0]), *map(str.rjust, others, widths[1:]))
    return f"| {' | '.join(padded)} |\n"

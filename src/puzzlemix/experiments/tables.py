"""Results beside the paper's, as Markdown."""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, stdev

from .published import PublishedTable

Results = Mapping[str, Sequence[Mapping[str, float]]]  # of every row: what each seed came to, in percent

HEADINGS = {
    "top1": "top-1",
    "top5": "top-5",
    "best_top1": "best top-1",
    "best_top5": "best top-5",
    "fgsm": "FGSM",
    "pgd": "PGD",
    "corruption": "corruption",
}


def table_text(published: PublishedTable, rows: Sequence[str], results: Results) -> str:
    """A table of errors in percent: the paper's and ours, mean and deviation over seeds, and who leads."""
    columns = published.columns
    beside = bool(published.rows)
    heads = [f"{HEADINGS[name]}{where}" for name in columns for where in ((", paper", ", ours") if beside else ("",))]
    lines = [_line(["method", *heads]), _line(["---", *["---:"] * len(heads)])]
    for row in rows:
        cells = []
        for number, name in enumerate(columns):
            if beside:
                cells.append(f"{published.rows[row][number]:.2f}" if row in published.rows else "")
            cells.append(spread([seed[name] for seed in results.get(row, ()) if name in seed]))
        lines.append(_line([row, *cells]))
    leads = [verdict(name, rows, results) for name in columns]
    return "\n".join([f"**{published.title}**, errors in %", "", *lines, "", *filter(None, leads)]).rstrip() + "\n"


def spread(values: Sequence[float]) -> str:
    """Mean and deviation over seeds, as far as there are any."""
    if not values:
        return "-"
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{mean(values):.2f} ± {stdev(values):.2f} ({len(values)})"


def verdict(measure: str, rows: Sequence[str], results: Results) -> str:
    """Which row is best, by how much, and whether that could be chance; empty where there is nothing to compare."""
    known = {row: [seed[measure] for seed in results.get(row, ()) if measure in seed] for row in rows}
    known = {row: values for row, values in known.items() if values}
    if len(known) < 2:
        return ""
    best, runner_up = sorted(known, key=lambda row: mean(known[row]))[:2]
    lead = mean(known[runner_up]) - mean(known[best])
    text = f"- {HEADINGS[measure]}: {best} leads {runner_up} by {lead:.2f} points"
    p = p_value(known[best], known[runner_up])
    return f"{text} (one seed each says nothing of chance)." if p is None else f"{text} (Welch's t-test: p = {p:.2g})."


def p_value(one: Sequence[float], other: Sequence[float]) -> float | None:
    """How likely means at least this far apart are if both are samples of the same; None with fewer than two seeds."""
    if min(len(one), len(other)) < 2:
        return None
    from scipy.stats import ttest_ind

    p = float(ttest_ind(one, other, equal_var=False)[1])  # pyright: ignore[reportArgumentType]
    return None if math.isnan(p) else p


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

"""A row of a benchmark, and tables of rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

SAME = 1e-5  # a difference that rounding explains


@dataclass(frozen=True)
class Row:
    """One measurement, in `unit`: `ours` and, by name, what stands beside it.

    goal: the limit that was set, of what `judge` names: "speedup" (at least: the first peer's time over ours), "time"
    (at most: ours over the first peer's) or "value" (at most: ours). medians: where `ours` and `peers` are the best of
    several, the medians, ours under "ours"; best: where they are medians, the best.
    """

    part: str
    case: str
    unit: str
    ours: float
    peers: dict[str, float] = field(default_factory=dict)
    judge: Literal["speedup", "time", "value"] = "speedup"
    goal: float | None = None
    medians: dict[str, float] = field(default_factory=dict)
    best: dict[str, float] = field(default_factory=dict)

    def ratios(self) -> dict[str, float]:
        """By peer: how many times faster ours is, or which part of its time ours takes."""
        if self.judge == "value":
            return {}
        speedups = {name: peer / self.ours for name, peer in self.peers.items()}
        return speedups if self.judge == "speedup" else {name: 1 / value for name, value in speedups.items()}

    def met(self) -> bool | None:
        """Whether the goal is met; None where there is none, or nothing to compare with."""
        figure = self.ours if self.judge == "value" else next(iter(self.ratios().values()), None)
        if self.goal is None or figure is None:
            return None
        return figure >= self.goal if self.judge == "speedup" else figure <= self.goal


def telling(rows: Iterable[Row]) -> list[Row]:
    """All but the comparisons that had to show no difference and show none."""
    return [row for row in rows if row.goal is None or row.goal > SAME or not row.met()]


def full_table(rows: Iterable[Row]) -> str:
    """Everything, with the goals."""
    return _table(("", "puzzlemix", "beside", "ratio", "goal", ""), rows, _goal)


def short_table(rows: Iterable[Row]) -> str:
    """No goals."""
    return _table(("", "puzzlemix", "beside", "ratio"), rows, lambda row: ())


def _table(head: tuple[str, ...], rows: Iterable[Row], more: Callable[[Row], tuple[str, ...]]) -> str:
    """In Markdown; the first column is text, the others are numbers."""
    lines = [head, ("---",) + ("--:",) * (len(head) - 1)]
    for row in rows:
        cells = (f"{row.part}, {row.case}", quantity(row.ours, row.unit), _beside(row), _ratio(row))
        lines.append(cells + more(row))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def number(value: float) -> str:
    """Three digits, never an exponent."""
    digits = f"{value:.3g}"
    return digits if "e" not in digits else f"{float(digits):.0f}" if value > 1 else f"{float(digits):f}"


def quantity(value: float, unit: str) -> str:
    """A number with its unit."""
    return f"{number(value)} {unit}"


def _beside(row: Row) -> str:
    """The peers' numbers and names."""
    return ", ".join(f"{quantity(value, row.unit)} {name}" for name, value in row.peers.items())


def _ratio(row: Row) -> str:
    """The ratios, in the order of the peers."""
    if row.judge == "time":
        return ", ".join(f"{number(value)}x the time" for value in row.ratios().values())
    return ", ".join(
        f"{number(value)}x faster" if value >= 1 else f"{number(1 / value)}x slower" for value in row.ratios().values()
    )


def _goal(row: Row) -> tuple[str, str]:
    """The limit in words, and whether it is met."""
    if row.goal is None:
        return "", ""
    unit = f" {row.unit}" if row.judge == "value" else "x"
    words = f"at {'least' if row.judge == 'speedup' else 'most'} {number(row.goal)}{unit}"
    return words, {True: "met", False: "**not met**", None: "not measured"}[row.met()]

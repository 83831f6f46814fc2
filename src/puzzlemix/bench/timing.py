"""Times of several functions side by side: a noisy machine is noisy for all of them."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import NamedTuple


class Effort(NamedTuple):
    """How long to measure: rounds, seconds per function and round, training steps, processes that are started."""

    rounds: int = 9
    turn: float = 0.15
    steps: int = 3
    processes: int = 5


QUICK = Effort(rounds=1, turn=0.01, steps=1, processes=1)


class Times(NamedTuple):
    """The best and the median of several runs, in seconds."""

    best: float
    median: float


def side_by_side(effort: Effort, functions: Mapping[str, Callable[[], object]]) -> dict[str, Times]:
    """In every round each function runs in turn for `effort.turn` seconds, at least once, after one run to warm up."""
    for function in functions.values():
        function()
    runs: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(effort.rounds):
        for name, function in functions.items():
            runs[name] += _take_turn(function, effort.turn)
    return {name: Times(min(times), median(times)) for name, times in runs.items()}


def one_by_one(effort: Effort, functions: Mapping[str, Callable[[], object]]) -> dict[str, Times]:
    """Like `side_by_side` for what takes a second or so: every turn is one call, and `effort.steps` the rounds."""
    return side_by_side(effort._replace(rounds=effort.steps, turn=0), functions)


def average(*parts: tuple[float, Times]) -> Times:
    """Mean of times with their weights."""
    total = sum(weight for weight, _ in parts)
    best, middle = (sum(weight * times[part] for weight, times in parts) / total for part in (0, 1))
    return Times(best, middle)


def _take_turn(function: Callable[[], object], seconds: float) -> list[float]:
    times = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return times

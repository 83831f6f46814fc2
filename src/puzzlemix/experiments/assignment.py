"""Algorithm 1 beside exact solvers, on random costs as the paper draws them (Supplementary B.1).

Shape suffixes: N cells.
"""

import importlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from ..core.transport import TransportProblem, solve_transport, transport_problem

SIZES = (4, 16, 64, 256, 1024)
READINGS = ("raw", "sum to 1")  # whether uniform saliency is taken as it is drawn; the paper does not say

Solver = Callable[[], Any]


class Timing(NamedTuple):
    """One size in one reading, averages over the trials: seconds of each solver, and Algorithm 1's relative error.

    paper: ours, Algorithm 1's limit; exact: ours; scipy, lap: solvers of others, from a ready cost matrix (lap is None
    where it is not installed). error: e / (e + r), e what the plan costs above the best one, r what a random one does.
    """

    reading: str
    cells: int
    paper: float
    exact: float
    scipy: float
    lap: float | None
    error: float


def measure(trials: int, generator: torch.Generator, sizes: Sequence[int] = SIZES) -> list[Timing]:
    """Solve `trials` random problems of every size in both readings."""
    return [_average(reading, cells, trials, generator) for reading in READINGS for cells in sizes]


def random_problem(reading: str, cells: int, generator: torch.Generator) -> TransportProblem:
    """C' = C - s z^T on a square grid: s uniform, z a fair coin per cell, C the squared distance over (side - 1)^2."""
    side = round(cells**0.5)
    share = torch.rand(1, side, side, generator=generator)
    visible = torch.rand(1, side, side, generator=generator) < 0.5
    if reading == "sum to 1":
        share = share / share.sum()
    return transport_problem(share, visible.long(), 1.0, "weight", 1)


def _average(reading: str, cells: int, trials: int, generator: torch.Generator) -> Timing:
    for solver in ("paper", "exact"):  # compiled code is loaded at the first call
        solve_transport(random_problem(reading, cells, generator), solver)
    rows = [_trial(random_problem(reading, cells, generator), generator) for _ in range(trials)]
    paper, exact, scipy, lap, error = (float(np.mean(column)) for column in zip(*rows, strict=True))
    return Timing(reading, cells, paper, exact, scipy, None if np.isnan(lap) else lap, error)


def _trial(problem: TransportProblem, generator: torch.Generator) -> tuple[float, ...]:
    cost_NN = problem.cost()[0].double().numpy()
    paper_seconds, plan = _timed(lambda: solve_transport(problem, "paper"))
    exact_seconds, best = _timed(lambda: solve_transport(problem, "exact"))
    scipy_seconds, _ = _timed(lambda: linear_sum_assignment(cost_NN))
    lap = _lap()
    lap_seconds = float("nan") if lap is None else _timed(lambda: lap.lapjv(cost_NN))[0]
    return paper_seconds, exact_seconds, scipy_seconds, lap_seconds, _error(problem, plan, best, generator)


def _error(problem: TransportProblem, plan: Tensor, best: Tensor, generator: torch.Generator) -> float:
    random = torch.randperm(plan.shape[1], generator=generator)[None]
    least = problem.evaluate(best)
    excess, chance = (int(problem.evaluate(other) - least) for other in (plan, random))
    return excess / (excess + chance) if excess else 0.0


def _timed(solve: Solver) -> tuple[float, Any]:
    start = time.perf_counter()
    result = solve()
    return time.perf_counter() - start, result


def _lap() -> Any:
    """The lap package, for comparison only; None where it is not installed."""
    try:
        return importlib.import_module("lap")
    except ImportError:
        return None

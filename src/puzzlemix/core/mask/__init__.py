"""Optimal masks: integers in, integers out."""

import torch
from torch import Tensor

from ..checks import require
from .exact import solve_exact
from .problem import BUDGET, LABELS, MaskProblem
from .swap import solve_swap

__all__ = ["LABELS", "SOLVERS", "MaskProblem", "solve_mask"]

SOLVERS = {"exact": solve_exact, "swap": solve_swap}


def solve_mask(problem: MaskProblem, solver: str = "exact") -> Tensor:
    """Labels (B,R,K) int32 that minimise the problem.

    `"exact"` finds the global optimum, and of several the one with the smallest labels, wherever the steps of every
    cell rise with the label and no weight is negative, which holds for all energies of Puzzle Mix. `"swap"` is the
    paper's alpha-beta swap: a local optimum, for any steps.
    """
    if solver not in SOLVERS:
        raise ValueError(f"mask solver {solver!r} is unknown: choose one of {', '.join(map(repr, SOLVERS))}")
    _check(problem, convex=solver == "exact")
    return SOLVERS[solver](*problem)


def _check(problem: MaskProblem, convex: bool) -> None:
    steps, down, across = problem
    batch, rows, cols, top = steps.shape
    if top + 1 not in LABELS:
        raise ValueError(f"{top + 1} labels are out of range: pass {LABELS[0]} to {LABELS[-1]}")
    if down.shape != (batch, rows - 1, cols) or across.shape != (batch, rows, cols - 1):
        raise ValueError(f"edges {tuple(down.shape)} and {tuple(across.shape)} do not fit steps {tuple(steps.shape)}")
    if any(tensor.dtype != torch.int32 for tensor in problem):
        raise ValueError(f"dtypes {[tensor.dtype for tensor in problem]}: pass int32 integers")
    require(steps.abs() <= BUDGET // top**2, lambda: f"steps pass {BUDGET // top**2}: scale the energy down")
    for weights in (down, across):
        require(
            (weights >= 0) & (weights <= BUDGET // 8),
            lambda: f"edge weights leave 0..{BUDGET // 8}: clamp or scale the energy",
        )
    if convex:
        require(
            steps.diff(dim=-1) >= 0,
            lambda: "steps fall with the label, so the exact solver may miss the optimum: use solver='swap'",
        )

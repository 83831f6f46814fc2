"""Optimal masks: integers in, integers out."""

import numpy as np
import torch
from torch import Tensor

from ..checks import readable, require
from .exact import solve_exact
from .problem import BUDGET, CELLS, LABELS, MaskProblem
from .swap import solve_swap

__all__ = ["LABELS", "SOLVERS", "MaskProblem", "solve_mask"]

SOLVERS = {"exact": solve_exact, "swap": solve_swap}


def solve_mask(problem: MaskProblem, solver: str = "exact", *, check: bool = True) -> Tensor:
    """Labels (B,R,K) int32 that minimise the problem.

    `"exact"` finds the global optimum, and of several the one with the smallest labels, wherever the steps of every
    cell rise with the label and no weight is negative, which holds for all energies of Puzzle Mix. `"swap"` is the
    paper's alpha-beta swap: a local optimum, for any steps.

    check=False trusts the problem, as is right for those of `MaskEnergy.problem`.
    """
    if solver not in SOLVERS:
        raise ValueError(f"mask solver {solver!r} is unknown: choose one of {', '.join(map(repr, SOLVERS))}")
    if check:
        _check(problem, convex=solver == "exact")
    return SOLVERS[solver](*problem)


def _check(problem: MaskProblem, convex: bool) -> None:
    """Turn away what the solvers were not made for."""
    _check_shapes(*problem)
    # numpy where it can: torch would wake its threads for so few numbers, which on a busy machine outlasts the solver
    steps, down, across = (tensor.numpy() if readable(tensor) else tensor for tensor in problem)
    limit = 2 * BUDGET // (problem.top + 1)
    steepest, heaviest = limit // problem.top**2, limit // 8
    _check_range("steps", steps, -steepest, steepest)
    _check_range("edge weights", down, 0, heaviest)
    _check_range("edge weights", across, 0, heaviest)
    for label in range(1, problem.top if convex else 0):
        require(
            torch.as_tensor((steps[..., label] >= steps[..., label - 1]).all()),
            lambda: "steps fall with the label, so the exact solver may miss the optimum: use solver='swap'",
        )


def _check_shapes(steps: Tensor, down: Tensor, across: Tensor) -> None:
    if steps.ndim != 4:
        raise ValueError(f"steps have shape {tuple(steps.shape)}: pass (batch, rows, cols, labels - 1)")
    batch, rows, cols, top = steps.shape
    if top + 1 not in LABELS:
        raise ValueError(f"{top + 1} labels are out of range: pass {LABELS[0]} to {LABELS[-1]}")
    if not 0 < rows * cols <= CELLS:
        raise ValueError(f"grid {rows}x{cols} has {rows * cols} cells: pass a grid of 1 to {CELLS}")
    if down.shape != (batch, rows - 1, cols) or across.shape != (batch, rows, cols - 1):
        raise ValueError(
            f"edges {tuple(down.shape)} and {tuple(across.shape)} do not fit steps {tuple(steps.shape)}: "
            f"pass {(batch, rows - 1, cols)} and {(batch, rows, cols - 1)}"
        )
    for tensor in (steps, down, across):
        if tensor.dtype != torch.int32:
            raise TypeError(f"a mask problem holds {tensor.dtype}: pass int32 integers")


def _check_range(name: str, values: Tensor | np.ndarray, least: int, most: int) -> None:
    """Require `least <= values <= most`."""
    if 0 in values.shape:
        return
    low, high = values.min(), values.max()
    span = "" if isinstance(low, Tensor) else f" {low}..{high}"
    require(
        torch.as_tensor((low >= least) & (high <= most)),
        lambda: f"{name}{span} leave {least}..{most}: scale the energy down, or clamp it",
    )

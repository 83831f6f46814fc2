"""Plans that move salient cells to where the mask shows them: integers in, permutations out."""

import torch
from torch import Tensor

from ..checks import require
from .exact import transport_exact
from .paper import transport_paper
from .problem import BUDGET, LEVELS, TransportProblem, transport_problem

__all__ = ["SOLVERS", "TransportProblem", "solve_transport", "transport_problem"]

SOLVERS = {"paper": transport_paper, "exact": transport_exact}


def solve_transport(problem: TransportProblem, solver: str = "paper", *, check: bool = True) -> Tensor:
    """The plan `source_BN`, int64: which cell of the image lands on each cell. Always a permutation.

    `"paper"` is the limit of the paper's Algorithm 1: of all moves, the cheapest first, ties to the lowest cell and
    then to the lowest target. It is the method as published, it is unique, and it is the faster one: use it unless the
    cost itself matters. `"exact"` finds a plan of the least total cost, usually about 1 % less; of several equally
    cheap ones it returns any. It too is quick where distance matters as much as saliency; where moves are nearly free
    it leaves the image to a dense solver, which takes milliseconds at 16x16 and many seconds at 64x64.

    check=False trusts the problem, as is right for those of `transport_problem`.
    """
    if solver not in SOLVERS:
        raise ValueError(f"transport solver {solver!r} is unknown: choose one of {', '.join(map(repr, SOLVERS))}")
    if check:
        _check(problem)
    gain_BN, level_BN, distance, rows, cols, _ = problem
    return SOLVERS[solver](gain_BN, level_BN, distance, rows, cols)


def _check(problem: TransportProblem) -> None:
    gain_BN, level_BN, distance, rows, cols, _ = problem
    if gain_BN.shape != level_BN.shape or gain_BN.shape[1:] != (rows * cols,):
        shapes = f"{tuple(gain_BN.shape)} and {tuple(level_BN.shape)}"
        raise ValueError(f"gain and level {shapes} do not fit a grid of {rows}x{cols}: pass (B, {rows * cols}) each")
    if gain_BN.dtype != torch.int64 or level_BN.dtype != torch.int64:
        raise ValueError(f"dtypes {gain_BN.dtype} and {level_BN.dtype}: pass int64 integers")
    furthest = (rows - 1) ** 2 + (cols - 1) ** 2
    if distance < 1 or distance * furthest > BUDGET:
        most = BUDGET // max(furthest, 1)
        raise ValueError(f"distance {distance} is out of range on a {rows}x{cols} grid: pass 1 to {most}")
    most = BUDGET // LEVELS[-1]
    require(_within(gain_BN, most), lambda: f"gains leave 0..{most}: scale the problem")
    require(_within(level_BN, LEVELS[-1]), lambda: f"levels leave 0..{LEVELS[-1]}: merge some")


def _within(values: Tensor, most: int) -> Tensor:
    if values.numel() == 0:
        return torch.ones((), dtype=torch.bool, device=values.device)
    least, largest = values.aminmax()
    return (least >= 0) & (largest <= most)

"""The transport problem in integers: which cell of an image should land on which cell of the mixed image.

Shape suffixes: B batch, R rows of the grid, K columns of the grid, N = R*K cells in row-major order.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

GAINS = ("visible", "weight")
LEVELS = range(8)  # how visible a cell can be
FINEST = 2.0**40  # what shares are multiplied by: a float32 share above 2**-17 is then an integer, exactly
BUDGET = 1 << 49  # no cost passes this, so that sums over paths of 64x64 cells fit int64


class TransportProblem(NamedTuple):
    """Moving cell i to cell j costs `distance * d2(i, j) - gain_i * level_j`, d2 the squared distance in cells.

    gain_BN and level_BN are int64 and at least 0, level 0 is hidden; `distance` is at least 1; costs are in units of
    1 / `scale`. A plan `source_BN` names for each cell j the cell that lands on it.
    """

    gain_BN: Tensor
    level_BN: Tensor
    distance: int
    rows: int
    cols: int
    scale: float = 1.0

    def cost(self) -> Tensor:
        """The cost of every move, (B,N,N) from cell (dim 1) to cell (dim 2). For checking: solvers do without."""
        cell_N = torch.arange(self.rows * self.cols, device=self.gain_BN.device)
        away_NN = self._squared_distance(cell_N[:, None], cell_N)
        return self.distance * away_NN - self.gain_BN[:, :, None] * self.level_BN[:, None, :]

    def evaluate(self, source_BN: Tensor) -> Tensor:
        """The cost of a plan, (B,) int64."""
        cell_N = torch.arange(self.rows * self.cols, device=source_BN.device)
        away_BN = self._squared_distance(source_BN, cell_N)
        return (self.distance * away_BN - self.gain_BN.gather(1, source_BN) * self.level_BN).sum(1)

    def plan_cost(self, source_BN: Tensor) -> Tensor:
        """The cost of a plan in the paper's units, (B,) float64."""
        return self.evaluate(source_BN).double() / self.scale

    def _squared_distance(self, cell: Tensor, other: Tensor) -> Tensor:
        down = cell // self.cols - other // self.cols
        right = cell % self.cols - other % self.cols
        return down**2 + right**2


def transport_problem(share_BRK: Tensor, weight_BRK: Tensor, xi: float, gain: str, top: int) -> TransportProblem:
    """Quantise the cost C'_ij = xi d2(i, j) / (max(R, K) - 1)^2 - s_i z_j.

    share_BRK holds the saliency s, summing to 1 per image; weight_BRK counts from 0 to `top` how much of the image is
    visible in a cell. With gain "visible" z_j is 1 wherever the weight is above 0 (as in the authors' code), with gain
    "weight" it is weight / top (as in the paper).
    """
    if gain not in GAINS:
        raise ValueError(f"gain {gain!r} is unknown: choose one of {', '.join(map(repr, GAINS))}")
    if not 0 <= xi < math.inf:
        raise ValueError(f"xi {xi} is no cost of distance: pass a finite number, 0 or above")
    if gain == "visible":
        weight_BRK, top = weight_BRK > 0, 1
    gain_BN = _quantise(share_BRK, unit_of(xi, top)).flatten(1)
    rows, cols = share_BRK.shape[-2:]
    return priced(gain_BN, weight_BRK.long().flatten(1), rows, cols, xi, top)


def priced(gain_BN: Tensor, level_BN: Tensor, rows: int, cols: int, xi: float, top: int) -> TransportProblem:
    """The problem of gains in units of `unit_of(xi, top)` and levels up to `top`: it remains to price distance."""
    scale = unit_of(xi, top) * top
    per_cell = round(xi * scale / max(rows - 1, cols - 1, 1) ** 2)
    # even where xi is 0: of equally good cells the nearest moves
    return TransportProblem(gain_BN, level_BN, max(1, per_cell), rows, cols, scale)


def unit_of(xi: float, top: int) -> float:
    """What shares are multiplied by: a power of two, smaller where the dearest move would pass half the budget."""
    dearest = math.log2(top) + (math.log2(xi) + 1 if xi > 0.5 else 0)  # d2 is at most twice what it is divided by
    return min(FINEST, 2.0 ** math.floor(math.log2(BUDGET) - 1 - dearest))


def _quantise(share: Tensor, unit: float) -> Tensor:
    """Cut off to integers. A power of two keeps every digit of a float, so this is exact in float32 too."""
    wide = share.to(torch.promote_types(share.dtype, torch.float32))
    return (wide * unit).long()


def empty_plan(gain_BN: Tensor, *_: object) -> Tensor:
    """A plan for a solver to fill."""
    return torch.empty_like(gain_BN, memory_format=torch.contiguous_format)

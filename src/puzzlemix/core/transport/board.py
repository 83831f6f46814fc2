"""A grid laid out on a padded board, where walking away from a cell is one addition and needs no test for the edge.

A board has `2 * cols - 1` positions per line: a line of the grid, then `cols - 1` positions outside it, which lie right
of this line and left of the next one. `rows` lines lie outside above the grid, `rows - 1` below it. Positions ascend
with the cells, so they settle ties between cells as well as the cells' numbers do.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from torch import Tensor

from .problem import empty_plan

OUTSIDE = -1  # the cell, and the level, of a position outside the grid
STEP, SQUARE = range(2)  # what a walk adds to a position, and its squared length
CELLS_PER_THREAD = 1 << 13  # fewer are solved before another thread wakes up


@lru_cache(maxsize=32)
def positions(rows: int, cols: int) -> np.ndarray:
    """Where each cell lies: (N,) int64."""
    row, col = np.divmod(np.arange(rows * cols), cols)
    return (row + rows) * (2 * cols - 1) + col


@lru_cache(maxsize=32)
def cells(rows: int, cols: int) -> np.ndarray:
    """Which cell lies where: (P,) int64, OUTSIDE where none does."""
    cell_P = np.full((3 * rows - 1) * (2 * cols - 1), OUTSIDE)
    cell_P[positions(rows, cols)] = np.arange(rows * cols)
    return cell_P


@lru_cache(maxsize=32)
def walks(rows: int, cols: int) -> np.ndarray:
    """Every walk from one cell to another, nearest first, ties in row-major order: (2, (2R-1)(2K-1)) int64."""
    down, right = np.mgrid[1 - rows : rows, 1 - cols : cols].reshape(2, -1)
    square = down**2 + right**2
    nearest_first = np.argsort(square, kind="stable")
    return np.stack([(down * (2 * cols - 1) + right)[nearest_first], square[nearest_first]])


def solve_images(kernel: Callable, gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    """Run a kernel over the images: the plans (B,N) that it fills in."""
    from ..threads import run_over

    source_BN = empty_plan(gain_BN)
    if source_BN.numel() > 0:
        given = (gain_BN.contiguous().numpy(), level_BN.contiguous().numpy(), source_BN.numpy(), distance)
        board = (rows, cols, positions(rows, cols), cells(rows, cols), walks(rows, cols))
        run_over(kernel, len(gain_BN), *given, *board, least=1 + CELLS_PER_THREAD // (rows * cols))
    return source_BN

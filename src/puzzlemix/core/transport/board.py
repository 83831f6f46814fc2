"""A grid laid out on a padded board, where walking away from a cell is one addition and needs no test for the edge.

A board has `2 * cols - 1` positions per line: a line of the grid, then `cols - 1` positions outside it, which lie right
of this line and left of the next one. `rows` lines lie outside above the grid, `rows - 1` below it. Positions ascend
with the cells, so they settle ties between cells as well as the cells' numbers do.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Board(NamedTuple):
    """Where each cell lies, and every walk between two cells: nearest first, ties in row-major order; all int64."""

    place: np.ndarray  # (N,): where each cell lies
    cell: np.ndarray  # (size,): which cell lies there
    step: np.ndarray  # ((2R-1)*(2K-1),): what a walk adds to a position
    square: np.ndarray  # its squared length


@lru_cache(maxsize=32)
def board_of(rows: int, cols: int) -> Board:
    """The board of a rows x cols grid."""
    line = 2 * cols - 1
    row, col = np.divmod(np.arange(rows * cols), cols)
    place = (row + rows) * line + col
    cell = np.full((3 * rows - 1) * line, -1)
    cell[place] = np.arange(rows * cols)
    down, right = np.mgrid[1 - rows : rows, 1 - cols : cols].reshape(2, -1)
    square = down**2 + right**2
    nearest_first = np.argsort(square, kind="stable")
    return Board(place, cell, (down * line + right)[nearest_first], square[nearest_first])

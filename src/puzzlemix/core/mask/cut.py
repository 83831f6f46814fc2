"""The minimum cut under both mask solvers: push-relabel on a four-neighbour grid, sixteen images at a time.

Each cell may be raised or left. Its `EXCESS` is the cost of raising it: positive excess is flow that looks for a way to
a cell with a deficit, along arcs to the four neighbours whose residual capacity is left. When no excess can reach a
deficit any more, the cells that can still reach one are the smallest optimal set to raise. That set does not depend on
the flow that was found, hence neither on the other images of the group nor on where a warm start came from.

Layout: one int32 array `cells`, [row, column, field, image], with a border of one cell on each side that no residual
leads to. A cell's base position is `at`; its field `EAST`, of all images, starts at `at + EAST`.
"""

import numpy as np

from ..compiled import compiled
from ..simd import LANES, any_lane, load, maximum, minimum, splat, store, where

STRIDE = 6 * LANES  # from one cell to the next
EXCESS, HEIGHT, EAST, WEST, SOUTH, NORTH = range(0, STRIDE, LANES)
UNREACHED = 1 << 20  # the height of a cell from which no deficit can be reached: more than there are cells
PUSHES = 6  # discharge sweeps between two exact relabellings


@compiled
def cell_at(row, col, cols):
    """The base position of a cell behind the border."""
    return ((row + 1) * (cols + 2) + col + 1) * STRIDE


@compiled
def clear(cells):
    """Take away all excess and arcs; everything is out of reach."""
    cells[:] = 0
    for at in range(0, cells.size, STRIDE):
        store(cells, at + HEIGHT, splat(UNREACHED))


@compiled
def new_cells(rows, cols):
    """Room for a grid and its border; to be cleared."""
    return np.empty((rows + 2) * (cols + 2) * STRIDE, np.int32)


@compiled
def is_raised(cells, at):
    """Whether the cut raises a cell in the image whose lane `at` points to."""
    return cells[at + HEIGHT] < UNREACHED


@compiled
def _climb(cells, near, there):
    """One more than the height of the cell `there`, if the arc of residual `near` leads there."""
    return where(load(cells, near) > 0, load(cells, there + HEIGHT) + 1, splat(UNREACHED))


@compiled
def _lower(cells, at, bound):
    """Lower a cell's height to `bound`; the height, and whether it changed in any image."""
    before = load(cells, at + HEIGHT)
    height = minimum(before, bound)
    store(cells, at + HEIGHT, height)
    return height, any_lane(height != before)


@compiled
def _relax_row(cells, row, cols, down):
    """Lower a row's heights to what its arcs allow, going east and coming back; whether any changed."""
    changed = False
    at = row * down
    height = splat(UNREACHED)
    for _ in range(cols):
        at += STRIDE
        upright = minimum(_climb(cells, at + SOUTH, at + down), _climb(cells, at + NORTH, at - down))
        west = where(load(cells, at + WEST) > 0, height + 1, upright)  # carried along: quicker than loading it again
        height, lower = _lower(cells, at, minimum(upright, west))
        changed |= lower
    for _ in range(cols - 1):
        at -= STRIDE
        height, lower = _lower(cells, at, where(load(cells, at + EAST) > 0, height + 1, splat(UNREACHED)))
        changed |= lower
    return changed


@compiled
def _relax_all(cells, rows, cols, down, dirty):
    """Lower all heights as far as they go, down and up the rows whose neighbours changed."""
    dirty[:] = True
    changed = True
    backwards = False
    while changed:
        changed = False
        for turn in range(rows):
            row = rows - turn if backwards else turn + 1
            if dirty[row]:
                dirty[row] = False
                if _relax_row(cells, row, cols, down):
                    dirty[row - 1] = dirty[row + 1] = changed = True
        backwards = not backwards


@compiled
def _relabel(cells, rows, cols, down, dirty):
    """Set every height to the exact distance to the nearest deficit."""
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols)
            store(cells, at + HEIGHT, where(load(cells, at + EXCESS) < 0, splat(0), splat(UNREACHED)))
    _relax_all(cells, rows, cols, down, dirty)


@compiled
def _push(cells, excess, downhill, near, there, back):
    """Send what fits over the arc of residual `near` to the cell `there`, whose arc back is `back`; what is left."""
    capacity = load(cells, near)
    flow = minimum(excess, where(downhill, capacity, splat(0)))
    store(cells, near, capacity - flow)
    store(cells, back, load(cells, back) + flow)
    store(cells, there + EXCESS, load(cells, there + EXCESS) + flow)
    return excess - flow


@compiled
def _discharge(cells, at, down):
    """Lift a cell to where its excess can flow, and let it flow."""
    to_east, to_west, to_south, to_north = at + STRIDE, at - STRIDE, at + down, at - down
    east, west = _climb(cells, at + EAST, to_east), _climb(cells, at + WEST, to_west)
    south, north = _climb(cells, at + SOUTH, to_south), _climb(cells, at + NORTH, to_north)
    lowest = minimum(minimum(minimum(east, west), minimum(south, north)), splat(UNREACHED))
    balance = load(cells, at + EXCESS)
    height = where(balance < 0, splat(0), maximum(load(cells, at + HEIGHT), lowest))
    store(cells, at + HEIGHT, height)
    excess = maximum(balance, splat(0))
    left = _push(cells, excess, east == height, at + EAST, to_east, to_east + WEST)
    left = _push(cells, left, west == height, at + WEST, to_west, to_west + EAST)
    left = _push(cells, left, south == height, at + SOUTH, to_south, to_south + NORTH)
    left = _push(cells, left, north == height, at + NORTH, to_north, to_north + SOUTH)
    store(cells, at + EXCESS, balance - (excess - left))


@compiled
def _is_active(cells, at):
    """Whether any image has excess in this cell that may still reach a deficit."""
    return any_lane((load(cells, at + EXCESS) > 0) & (load(cells, at + HEIGHT) < UNREACHED))


@compiled
def _discharge_all(cells, rows, cols, down, backwards):
    """One sweep over all active cells, from either corner; whether there were any.

    It goes by diagonals, whose cells do not wait for each other: the same flow as row by row, but quicker.
    """
    found = False
    diagonals = rows + cols - 1
    for turn in range(diagonals):
        diagonal = diagonals - 1 - turn if backwards else turn
        first, last = max(0, diagonal - cols + 1), min(rows - 1, diagonal)
        at = cell_at(first, diagonal - first, cols)
        for _ in range(last - first + 1):
            if _is_active(cells, at):
                _discharge(cells, at, down)
                found = True
            at += down - STRIDE
    return found


@compiled
def cut(cells, rows, cols, dirty):
    """Find the minimum cut; `is_raised` then tells which cells to raise.

    It ends: exact heights never fall, and while any cell is active, the first one after a relabelling can push.
    """
    down = (cols + 2) * STRIDE
    active = True
    while active:
        _relabel(cells, rows, cols, down, dirty)
        active = False
        for sweep in range(PUSHES):
            if not _discharge_all(cells, rows, cols, down, sweep % 2 == 1):
                break
            active = True

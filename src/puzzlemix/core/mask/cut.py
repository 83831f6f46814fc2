"""The minimum cut under both mask solvers: push-relabel on a four-neighbour grid, sixteen images at a time.

Each cell may be raised or left. Its `EXCESS` is the cost of raising it: positive excess is flow that looks for a way to
a cell with a deficit, along arcs to the four neighbours whose residual capacity is left. When no excess can reach a
deficit any more, the cells that can still reach one are the smallest optimal set to raise. That set does not depend on
the flow that was found, hence neither on the other images of the group nor on where a warm start came from.

Layout: one int32 array `cells`, [row, column, field, image], with a border of one cell on each side that no residual
leads to. A cell's base position is `at`; field f of it starts at `at + f * LANES`.
"""

import numpy as np

from ..compiled import compiled
from ..simd import LANES, any_lane, load, maximum, minimum, splat, store, where

EXCESS, HEIGHT, EAST, WEST, SOUTH, NORTH = range(6)
STRIDE = 6 * LANES  # from one cell to the next
UNREACHED = 1 << 20  # the height of a cell from which no deficit can be reached
PUSHES = 6  # discharge sweeps between two exact relabellings
_H, _E, _W, _S, _N = HEIGHT * LANES, EAST * LANES, WEST * LANES, SOUTH * LANES, NORTH * LANES


@compiled
def cell_at(row, col, cols):
    """The base position of a cell behind the border."""
    return ((row + 1) * (cols + 2) + col + 1) * STRIDE


@compiled
def clear(cells):
    """Take away all excess and arcs; everything is out of reach."""
    cells[:] = 0
    for at in range(HEIGHT * LANES, cells.size, STRIDE):
        cells[at : at + LANES] = UNREACHED


@compiled
def empty_cells(rows, cols):
    """Cells without excess or arcs."""
    cells = np.empty((rows + 2) * (cols + 2) * STRIDE, np.int32)
    clear(cells)
    return cells


@compiled
def is_raised(cells, at):
    """Whether the cut raises a cell in the image whose lane `at` points to."""
    return cells[at + HEIGHT * LANES] < UNREACHED


@compiled
def _climb(cells, at, near, there):
    """One more than the height of the cell `there`, if the arc with residual `near` leads there."""
    return where(load(cells, at + near) > 0, load(cells, there + _H) + 1, splat(UNREACHED))


@compiled
def _relax_row(cells, row, cols, down):
    """Let a row's heights fall to what its arcs allow, going east and coming back; whether any fell."""
    fell = False
    at = row * down
    height = splat(UNREACHED)
    for _ in range(cols):
        at += STRIDE
        before = load(cells, at + _H)
        upright = minimum(_climb(cells, at, _S, at + down), _climb(cells, at, _N, at - down))
        west = where(load(cells, at + _W) > 0, height + 1, splat(UNREACHED))
        height = minimum(before, minimum(upright, west))
        store(cells, at + _H, height)
        fell |= any_lane(height != before)
    for _ in range(cols - 1):
        at -= STRIDE
        before = load(cells, at + _H)
        height = minimum(before, where(load(cells, at + _E) > 0, height + 1, splat(UNREACHED)))
        store(cells, at + _H, height)
        fell |= any_lane(height != before)
    return fell


@compiled
def _relabel(cells, rows, cols, down, dirty):
    """Set every height to the exact distance to the nearest deficit."""
    for row in range(1, rows + 1):
        dirty[row] = True
        for col in range(1, cols + 1):
            at = row * down + col * STRIDE
            store(cells, at + _H, where(load(cells, at) < 0, splat(0), splat(UNREACHED)))
    backwards = False
    changed = True
    while changed:
        changed = False
        for step in range(rows):
            row = rows - step if backwards else step + 1
            if dirty[row]:
                dirty[row] = False
                if _relax_row(cells, row, cols, down):
                    dirty[row - 1] = dirty[row + 1] = changed = True
        backwards = not backwards


@compiled
def _push(cells, at, excess, downhill, near, there, back):
    """Send what fits over the arc with residual `near` to the cell `there` (residual `back`); return what is left."""
    capacity = load(cells, at + near)
    flow = minimum(excess, where(downhill, capacity, splat(0)))
    store(cells, at + near, capacity - flow)
    store(cells, there + back, load(cells, there + back) + flow)
    store(cells, there, load(cells, there) + flow)
    return excess - flow


@compiled
def _discharge(cells, at, down):
    """Lift a cell to where its excess can flow, and let it flow."""
    balance = load(cells, at)
    east, west = _climb(cells, at, _E, at + STRIDE), _climb(cells, at, _W, at - STRIDE)
    south, north = _climb(cells, at, _S, at + down), _climb(cells, at, _N, at - down)
    lowest = minimum(minimum(east, west), minimum(south, north))
    height = where(balance < 0, splat(0), maximum(load(cells, at + _H), minimum(lowest, splat(UNREACHED))))
    store(cells, at + _H, height)
    excess = maximum(balance, splat(0))
    left = _push(cells, at, excess, east == height, _E, at + STRIDE, _W)
    left = _push(cells, at, left, west == height, _W, at - STRIDE, _E)
    left = _push(cells, at, left, south == height, _S, at + down, _N)
    left = _push(cells, at, left, north == height, _N, at - down, _S)
    store(cells, at, balance - (excess - left))


@compiled
def _is_active(cells, at):
    """Whether any image has excess in this cell that may still reach a deficit."""
    return any_lane((load(cells, at) > 0) & (load(cells, at + _H) < UNREACHED))


@compiled
def _discharge_all(cells, rows, cols, down, backwards):
    """One sweep over all active cells, from either corner; whether there were any.

    It goes by diagonals, whose cells do not wait for each other: the same flow as row by row, but quicker.
    """
    found = False
    step = down - STRIDE
    for turn in range(rows + cols - 1):
        diagonal = rows + cols - 2 - turn if backwards else turn
        first, last = max(0, diagonal - cols + 1), min(rows - 1, diagonal)
        at = cell_at(first, diagonal - first, cols)
        for _ in range(last - first + 1):
            if _is_active(cells, at):
                _discharge(cells, at, down)
                found = True
            at += step
    return found


@compiled
def cut(cells, rows, cols, dirty):
    """Find the minimum cut; afterwards a cell is to be raised where its height is below UNREACHED."""
    down = (cols + 2) * STRIDE
    active = True
    while active:
        _relabel(cells, rows, cols, down, dirty)
        active = False
        for sweep in range(PUSHES):
            if not _discharge_all(cells, rows, cols, down, sweep % 2 == 1):
                break
            active = True

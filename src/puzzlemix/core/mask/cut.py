"""The minimum cut under both mask solvers: push-relabel on a four-neighbour grid, sixteen images at a time.

Each cell may be raised or left. Its `EXCESS` is the cost of raising it: positive excess is flow that looks for a way to
a cell with a deficit, along arcs to the four neighbours whose residual capacity is left. When no excess can reach a
deficit any more, the cells that can still reach one are the smallest optimal set to raise. That set does not depend on
the flow that was found, hence neither on the other images of the group nor on where a warm start came from.

Layout: one int32 array `cells`, [row, column, field, image], with a border of one cell on each side that no residual
leads to. A cell's base position is `at`; field f of it starts at `at + f * LANES`.
"""

from ..compiled import compiled
from ..simd import LANES, any_lane, load, maximum, minimum, splat, store, where

EXCESS, HEIGHT, EAST, WEST, SOUTH, NORTH = range(6)
STRIDE = 6 * LANES  # from one cell to the next
UNREACHED = 1 << 20  # the height of a cell from which no deficit can be reached
PUSHES = 8  # discharge sweeps between two exact relabellings
_H, _E, _W, _S, _N = HEIGHT * LANES, EAST * LANES, WEST * LANES, SOUTH * LANES, NORTH * LANES


@compiled
def _lowest_neighbour(cells, at, down):
    """One more than the least height that residual capacity leads to."""
    lowest = splat(UNREACHED)
    lowest = where(load(cells, at + _E) > 0, load(cells, at + STRIDE + _H) + 1, lowest)
    lowest = where(load(cells, at + _W) > 0, minimum(lowest, load(cells, at - STRIDE + _H) + 1), lowest)
    lowest = where(load(cells, at + _S) > 0, minimum(lowest, load(cells, at + down + _H) + 1), lowest)
    return where(load(cells, at + _N) > 0, minimum(lowest, load(cells, at - down + _H) + 1), lowest)


@compiled
def _relax(cells, at, down):
    """Lower a cell's height to what its arcs allow; whether it changed in any image."""
    height = load(cells, at + _H)
    lower = minimum(height, _lowest_neighbour(cells, at, down))
    store(cells, at + _H, lower)
    return any_lane(lower != height)


@compiled
def _relax_row(cells, row, cols, down):
    """Relax a row there and back."""
    first = row * down + STRIDE
    changed = False
    for col in range(cols):
        changed |= _relax(cells, first + col * STRIDE, down)
    for col in range(cols - 1, -1, -1):
        changed |= _relax(cells, first + col * STRIDE, down)
    return changed


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
def _push(cells, at, excess, height, near, there, back):
    """Send what fits over the arc with residual `near` to the cell `there` (residual `back`) if it leads one down."""
    capacity = load(cells, at + near)
    downhill = (load(cells, there + _H) + 1) == height
    flow = where(downhill, minimum(excess, capacity), splat(0))
    store(cells, at + near, capacity - flow)
    store(cells, there + back, load(cells, there + back) + flow)
    store(cells, there, load(cells, there) + flow)
    return excess - flow


@compiled
def _discharge(cells, at, down):
    """Lift a cell to where its excess can flow, and let it flow."""
    balance = load(cells, at)
    lifted = maximum(load(cells, at + _H), _lowest_neighbour(cells, at, down))
    height = where(balance < 0, splat(0), lifted)
    store(cells, at + _H, height)
    excess = maximum(balance, splat(0))
    left = _push(cells, at, excess, height, _E, at + STRIDE, _W)
    left = _push(cells, at, left, height, _W, at - STRIDE, _E)
    left = _push(cells, at, left, height, _S, at + down, _N)
    left = _push(cells, at, left, height, _N, at - down, _S)
    store(cells, at, balance - (excess - left))


@compiled
def _is_active(cells, at):
    """Whether any image has excess in this cell that may still reach a deficit."""
    return any_lane((load(cells, at) > 0) & (load(cells, at + _H) < UNREACHED))


@compiled
def _discharge_all(cells, rows, cols, down, backwards):
    """One sweep over all active cells, from either end; whether there were any."""
    found = False
    step = -STRIDE if backwards else STRIDE
    for turn in range(rows):
        row = rows - turn if backwards else turn + 1
        at = row * down + (cols if backwards else 1) * STRIDE
        for _ in range(cols):
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

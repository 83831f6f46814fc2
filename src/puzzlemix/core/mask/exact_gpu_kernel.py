"""The exact mask on the GPU: one program per image, in which all cells of the grid work at once.

The method is the CPU's: steepest ascent from label 0, one warm-started minimum cut per label (see `exact_kernel.py` and
`cut.py`). Only here every cell pushes and is lifted at the same moment, by the heights it saw before. That is safe: of
an arc and its reverse never both lead downhill. The flow is not the CPU's, but the smallest optimal set of cells to
raise is the same for every flow, and so are the labels.

Layout: CELLS is the number of cells, made up to a power of two. An image's arcs are four rows of CELLS, one for each of
east, west, south and north; `flat` tensors have these rows one after the other. All that passes between cells goes by
`tl.gather` of flat tensors, which takes one turn through shared memory, with its barriers: of two dimensions Triton
would make dozens of shuffles. For the same reason the arcs' numbers are computed flat and then reshaped; so each thread
holds all four arcs of its cells, and sums over them are its own affair.
"""

import triton
import triton.language as tl

UNREACHED = tl.constexpr(1 << 20)  # the height of a cell from which no deficit can be reached

# What a relabelling found: no excess can reach a deficit, some can, or heights are still falling.
SETTLED, ACTIVE, FALLING = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)


@triton.jit
def _arcs(rows, cols, CELLS: tl.constexpr):
    """Flat: where an arc starts, where it leads, the arc back, and whether it leads east or west, or south or north.

    Where the grid ends an arc leads nowhere but to its own cell, and is its own reverse.
    """
    arc = tl.arange(0, 4 * CELLS)
    direction = arc // CELLS
    near = arc % CELLS
    level = direction < 2
    aside = 1 - 2 * (direction & 1)
    row = near // cols + tl.where(level, 0, aside)
    col = near % cols + tl.where(level, aside, 0)
    inside = (near < rows * cols) & (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    there = tl.where(inside, row * cols + col, near)
    back = tl.where(inside, (direction ^ 1) * CELLS + there, arc)
    return near, there, back, inside & level, inside & (direction >= 2)


@triton.jit
def _at_ends(values, there, CELLS: tl.constexpr):
    """What the cells at the ends of all arcs hold: (CELLS,) -> (4,CELLS)."""
    return tl.reshape(tl.gather(values, there, 0), [4, CELLS])


@triton.jit
def _of_reverses(values, back, CELLS: tl.constexpr):
    """What the reverses of all arcs hold: (4,CELLS) -> (4,CELLS)."""
    return tl.reshape(tl.gather(tl.reshape(values, [4 * CELLS]), back, 0), [4, CELLS])


@triton.jit
def _lowest_climb(residual, heights):
    """One more than the lowest of the `heights` to which an arc is open."""
    return tl.min(tl.where(residual > 0, heights + 1, UNREACHED), 0)


@triton.jit
def _relabel(excess, residual, there, CELLS: tl.constexpr, RELAXATIONS: tl.constexpr):
    """Every cell's exact distance to the nearest deficit, and what that tells: SETTLED or ACTIVE."""
    height = tl.where(excess < 0, 0, UNREACHED)
    found = FALLING
    while found == FALLING:
        before = height
        for _ in tl.static_range(RELAXATIONS):
            height = tl.minimum(height, _lowest_climb(residual, _at_ends(height, there, CELLS)))
        active = ((excess > 0) & (height < UNREACHED)).to(tl.int32)
        found = tl.max(tl.where(height != before, FALLING, active), 0)
    return height, found


@triton.jit
def _push(excess, height, residual, there, back, CELLS: tl.constexpr):
    """Let every cell's excess flow downhill, then lift all cells to where the next can."""
    heights = _at_ends(height, there, CELLS)
    room = tl.where((residual > 0) & (height[None, :] == heights + 1), residual, 0)
    spent = tl.cumsum(room, 0) - room  # on the arcs before, if there is enough
    flow = tl.minimum(room, tl.maximum(excess[None, :] - spent, 0))
    gain = _of_reverses(flow, back, CELLS) - flow
    residual += gain
    excess += tl.sum(gain, 0)
    height = tl.where(excess < 0, 0, tl.maximum(height, _lowest_climb(residual, heights)))
    return excess, height, residual


@triton.jit
def _raise_labels(steps, label, excess, raised, top, CELLS: tl.constexpr):
    """Raise the labels of the cut's cells, and charge those the next marginal cost."""
    label += raised.to(tl.int32)
    charged = raised & (label < top)
    step = steps + tl.arange(0, CELLS) * top + label
    rise = tl.load(step, mask=charged, other=0) - tl.load(step - 1, mask=charged, other=0)
    return label, excess + top * top * rise


@triton.jit
def _carry_flow_over(residual, raised, there, back, CELLS: tl.constexpr):
    """Between two cells the cut has parted, the arc out of the raised one is used up; its reverse holds both."""
    raised = raised.to(tl.int32)
    from_raised = raised[None, :]
    to_raised = _at_ends(raised, there, CELLS)
    both = residual + _of_reverses(residual, back, CELLS)
    return tl.where(from_raised == to_raised, residual, tl.where(from_raised > 0, 0, both))


@triton.jit(do_not_specialize=["rows", "cols", "top", "limit"])
def solve_image(
    steps,
    down,
    across,
    labels,
    solved,
    rows,
    cols,
    top,
    limit,
    CELLS: tl.constexpr,
    PUSHES: tl.constexpr,
    RELAXATIONS: tl.constexpr,
):
    """Solve one image: `steps` (B,R,K,M), `down` (B,R-1,K), `across` (B,R,K-1) -> `labels` (B,R,K), `solved` (B,).

    `solved` tells whether `limit` rounds, each a relabelling and what follows from it, were enough.
    """
    image = tl.program_id(0).to(tl.int64)
    steps += image * rows * cols * top
    near, there, back, level, upright = _arcs(rows, cols, CELLS)
    first = tl.minimum(near, there)
    weight = tl.load(across + image * rows * (cols - 1) + first - first // cols, mask=level, other=0)
    weight += tl.load(down + image * (rows - 1) * cols + first, mask=upright, other=0)
    residual = tl.reshape(weight, [4, CELLS])
    cell = tl.arange(0, CELLS)
    excess = top * top * tl.load(steps + cell * top, mask=cell < rows * cols, other=0)
    label = tl.zeros([CELLS], tl.int32)
    reached = 0
    rounds = 0
    while (reached < top) & (rounds < limit):
        height, found = _relabel(excess, residual, there, CELLS, RELAXATIONS)
        if found == ACTIVE:
            for _ in range(PUSHES):
                excess, height, residual = _push(excess, height, residual, there, back, CELLS)
        else:
            raised = height < UNREACHED
            label, excess = _raise_labels(steps, label, excess, raised, top, CELLS)
            residual = _carry_flow_over(residual, raised, there, back, CELLS)
            reached += 1
        rounds += 1
    tl.store(labels + image * rows * cols + cell, label, mask=cell < rows * cols)
    tl.store(solved + image, (reached >= top).to(tl.int32))

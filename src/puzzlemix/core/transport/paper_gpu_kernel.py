"""Algorithm 1 on the GPU: one program per image, in which many cells look for their targets at once.

The limit of Algorithm 1 is the greedy matching in the order (cost, cell, target), whoever proposes when. So nobody
waits for anybody. Each lane carries one cell at a time: it looks around in growing squares for the cheapest target that
would take the cell, and proposes there by an atomic minimum. What stood there before tells how it went: a cheaper
holder stays, and the cell looks again; a dearer one was turned out, and the lane carries that cell from now on; at an
empty place the lane takes the next cell of its own.

The result itself is the memory of who holds what: until the end `source` keeps, for each target, the cost of its holder
times `PLACES`, plus the holder.
"""

import triton
import triton.language as tl

PLACES = tl.constexpr(4096)  # how many cells an image may have, so that a cost and a cell fit one integer
NOBODY = tl.constexpr(2**63 - 1)  # who holds an empty place: anybody is cheaper
NO_CELL = tl.constexpr(-1)  # what a lane carries that has just found a place for its cell
LOOKS = tl.constexpr(8)  # how many targets a lane looks at in one turn


@triton.jit
def _start(gain, level, source, distance, cells, LANES: tl.constexpr):
    """Give every cell that can do no better its own place, and leave the other places empty; the highest level."""
    lane = tl.arange(0, LANES)
    highest = tl.zeros([LANES], tl.int64)
    for start in range(0, cells, LANES):
        cell = start + lane
        highest = tl.maximum(highest, tl.load(level + cell, mask=cell < cells, other=0))
    top = tl.max(highest, 0)
    for start in range(0, cells, LANES):
        cell = start + lane
        gains = tl.load(gain + cell, mask=cell < cells, other=0)
        levels = tl.load(level + cell, mask=cell < cells, other=0)
        home = -gains * levels * PLACES + cell
        tl.store(source + cell, tl.where(gains * (top - levels) < distance, home, NOBODY), mask=cell < cells)
    return top


@triton.jit
def _take(gain, level, row, cursor, top, distance, cells, LANES: tl.constexpr):
    """Let lanes that carry no cell take the next one of their own, unless it has its place; new `row`, `cursor`."""
    taking = (row == NO_CELL) & (cursor < cells)
    gains = tl.load(gain + cursor, mask=taking, other=0)
    levels = tl.load(level + cursor, mask=taking, other=0)
    row = tl.where(taking & (gains * (top - levels) >= distance), cursor, row)
    return row, tl.where(taking, cursor + LANES, cursor)


@triton.jit
def _look(level, source, row, gains, shell, seen, found, distance, rows, cols):
    """Look at the next targets of the square `shell` cells away; the best one `found`, whether the square is done.

    Of the square only what lies on the grid is counted: upper line, lower line, then what is left of both sides.
    """
    y = row // cols
    x = row - y * cols
    x_from = tl.maximum(x - shell, 0)
    y_from = tl.maximum(y - shell + 1, 0)
    wide = tl.minimum(x + shell + 1, cols) - x_from
    high = tl.maximum(tl.minimum(y + shell, rows) - y_from, 0)
    upper = tl.where(y >= shell, wide, 0)
    lower = upper + tl.where(y + shell < rows, wide, 0)
    left = lower + tl.where(x >= shell, high, 0)
    right = left + tl.where(x + shell < cols, high, 0)
    for look in tl.static_range(LOOKS):
        turn = seen + look
        flat, steep = turn < lower, turn - tl.where(turn < left, lower, left)
        down = tl.where(flat, tl.where(turn < upper, -shell, shell), y_from + steep - y)
        aside = tl.where(
            flat, x_from + turn - tl.where(turn < upper, 0, upper) - x, tl.where(turn < left, -shell, shell)
        )
        target = row + down * cols + aside
        there = (row >= 0) & (turn < right)
        levels = tl.load(level + target, mask=there, other=0)
        holder = tl.load(source + target, mask=there, other=0, volatile=True)
        cost = (distance * (down * down + aside * aside) - gains * levels) * PLACES
        found = tl.where(there & (cost + row < holder), tl.minimum(found, cost + target), found)
    return found, seen + LOOKS >= right


@triton.jit
def _propose(source, row, found, proposing):
    """Propose to the targets found; what the lanes carry then."""
    target = found & (PLACES - 1)
    proposal = found - target + row
    holder = tl.atomic_min(source + target, proposal, mask=proposing, sem="relaxed", scope="cta")
    turned_out = tl.where(holder == NOBODY, NO_CELL, (holder & (PLACES - 1)).to(tl.int32))
    return tl.where(proposing & (proposal < holder), turned_out, row)


@triton.jit
def _finish(source, cells, LANES: tl.constexpr):
    """Leave the holders alone in `source`; a place that nobody has found counts as its own cell's."""
    for start in range(0, cells, LANES):
        cell = start + tl.arange(0, LANES)
        holder = tl.load(source + cell, mask=cell < cells, other=0, volatile=True)
        tl.store(source + cell, tl.where(holder == NOBODY, cell, holder & (PLACES - 1)), mask=cell < cells)


@triton.jit(do_not_specialize=["distance", "rows", "cols", "limit"])
def match_image(gain, level, source, solved, distance: tl.int64, rows, cols, limit, LANES: tl.constexpr):
    """Match one image: `gain`, `level` (B,N) -> `source` (B,N), `solved` (B,): whether `limit` turns were enough."""
    image = tl.program_id(0).to(tl.int64)
    cells = rows * cols
    gain += image * cells
    level += image * cells
    source += image * cells
    distance = distance.to(tl.int64)
    top = _start(gain, level, source, distance, cells, LANES)
    tl.debug_barrier()
    cursor = tl.arange(0, LANES)
    row = tl.full([LANES], NO_CELL, tl.int32)
    shell = tl.zeros([LANES], tl.int32)
    seen = tl.zeros([LANES], tl.int32)
    found = tl.full([LANES], NOBODY, tl.int64)
    busy = 1
    turns = 0
    while (busy > 0) & (turns < limit):
        row, cursor = _take(gain, level, row, cursor, top, distance, cells, LANES)
        gains = tl.load(gain + row, mask=row >= 0, other=0)
        found, done = _look(level, source, row, gains, shell, seen, found, distance, rows, cols)
        shell = tl.where(done, shell + 1, shell)
        y = row // cols
        x = row - y * cols
        furthest = tl.maximum(tl.maximum(y, rows - 1 - y), tl.maximum(x, cols - 1 - x))
        cheapest = (distance * shell * shell - gains * top) * PLACES
        proposing = (row >= 0) & done & ((shell > furthest) | (cheapest > found))
        anew = proposing | (row < 0)
        row = _propose(source, row, found, proposing)
        shell = tl.where(anew, 0, shell)
        seen = tl.where(anew | done, 0, seen + LOOKS)
        found = tl.where(anew, NOBODY, found)
        busy = tl.max(((row >= 0) | (cursor < cells)).to(tl.int32), 0)
        turns += 1
    tl.debug_barrier()
    _finish(source, cells, LANES)
    tl.store(solved + image, 1 - busy)

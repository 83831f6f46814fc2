"""The cheapest assignment on the GPU: one program per image, shortest augmenting paths over all targets at once.

As on the CPU, cells are assigned one after another, each by the shortest path to a free target over targets that others
hold; the prices of targets keep the steps of a path from being negative. Here a scan looks at all targets side by side:
each lane knows how far its target is, and a minimum over the lanes finds the next one. Nothing needs to be sorted or
bounded, so a scan costs the same whatever the energies are, and an image takes at most one per cell and target.

`source` and `price` in memory say who holds a target and what it costs, for the one target that a scan goes on from.
"""

import triton
import triton.language as tl

FAR = tl.constexpr(2**63 - 1)  # the reach of a target that is not to be looked at
NOBODY = tl.constexpr(-1)  # who holds a free target, and what an unassigned cell holds


@triton.jit
def _squared_distance(y, x, cell, cols):
    """From the targets at (y, x) to a cell."""
    down = y - cell // cols
    aside = x - cell % cols
    return (down * down + aside * aside).to(tl.int64)


@triton.jit
def _at(values, target, here):
    """The number of one target, out of a vector of all."""
    return tl.sum(tl.where(target == here, values, 0), 0)


@triton.jit
def _next_cell(held, levels, target, LANES: tl.constexpr):
    """The first unassigned cell, visible ones before hidden ones; 2 LANES if all are assigned."""
    waiting = tl.where(held == NOBODY, target + tl.where(levels == 0, LANES, 0), 2 * LANES)
    return tl.min(waiting, 0)


@triton.jit
def _hand_over(holder, held, parent, target, free, start):
    """Along the path back from a free target, let every cell leave its target for the next one."""
    place = free
    row = start
    going = 1
    while going > 0:
        row = _at(parent, target, place)
        left = _at(held, target, row)
        holder = tl.where(target == place, row, holder)
        held = tl.where(target == row, place, held)
        place = left
        going = (row != start).to(tl.int32)
    return holder, held


@triton.jit(do_not_specialize=["distance", "rows", "cols", "limit"])
def assign_image(gain, level, source, solved, price, distance: tl.int64, rows, cols, limit, LANES: tl.constexpr):
    """Assign one image: `gain`, `level` (B,N) -> `source` (B,N), `solved` (B,): whether `limit` scans were enough.

    `price` (B,N) is room to work in.
    """
    image = tl.program_id(0).to(tl.int64)
    cells = rows * cols
    gain += image * cells
    level += image * cells
    source += image * cells
    price += image * cells
    distance = distance.to(tl.int64)
    target = tl.arange(0, LANES)
    inside = target < cells
    y = target // cols
    x = target - y * cols
    gains = tl.load(gain + target, mask=inside, other=0)
    levels = tl.load(level + target, mask=inside, other=0)
    top = tl.max(levels, 0)
    stays = (gains * (top - levels) <= distance) | (target >= cells)
    held = tl.where(stays, target, NOBODY)
    holder = held
    prices = tl.zeros([LANES], tl.int64)
    reach = tl.full([LANES], FAR, tl.int64)
    parent = tl.zeros([LANES], tl.int32)
    open_ = inside
    scans = 0
    start = _next_cell(held, levels, target, LANES)
    while (start < 2 * LANES) & (scans < limit):
        tl.store(source + target, holder, mask=inside)
        tl.store(price + target, prices, mask=inside)
        tl.debug_barrier()
        start = tl.where(start < LANES, start, start - LANES)
        row = start
        base = tl.zeros([], tl.int64)
        reach = tl.full([LANES], FAR, tl.int64)
        parent = tl.zeros([LANES], tl.int32) + start
        open_ = inside
        nearest = start
        least = tl.zeros([], tl.int64)
        searching = 1
        while (searching > 0) & (scans < limit):
            length = base + distance * _squared_distance(y, x, row, cols) - tl.load(gain + row) * levels - prices
            nearer = open_ & (length < reach)
            reach = tl.where(nearer, length, reach)
            parent = tl.where(nearer, row, parent)
            taken = (holder != NOBODY).to(tl.int64)
            key, nearest = tl.min(tl.where(open_, 2 * reach + taken, FAR), 0, return_indices=True)
            least = key >> 1
            searching = (key & 1).to(tl.int32)
            open_ = open_ & ((target != nearest) | (searching == 0))
            row = tl.where(searching > 0, tl.load(source + nearest), start).to(tl.int32)
            away = _squared_distance(nearest // cols, nearest % cols, row, cols)
            cost = distance * away - tl.load(gain + row) * tl.load(level + nearest)
            base = least + tl.load(price + nearest) - cost
            scans += 1
        prices = tl.where(inside & (open_ == 0), prices + reach - least, prices)
        holder, held = _hand_over(holder, held, parent, target, nearest, start)
        start = _next_cell(held, levels, target, LANES)
        tl.debug_barrier()
    tl.store(source + target, tl.where(holder == NOBODY, target, holder), mask=inside)
    tl.store(solved + image, (start == 2 * LANES).to(tl.int32))

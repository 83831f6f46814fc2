"""Algorithm 1 on the CPU as deferred acceptance, without a cost matrix.

Cells and targets rank each other by the same costs, so the limit of Algorithm 1 does not depend on who proposes when:
it is the greedy matching in the order (cost, row, column). A cell proposes to the targets of one level ring by ring, so
one pointer per level says how far it has come, and its next proposal is the cheapest of the levels' next ones. Cells
for which no target can be as cheap as their own place start there, in one pass; on real maps that leaves few.

Layout: tried (N*L,) how many walks to targets of each level each cell has tried. held (L*P,) for each level, at what
cost each position on the board is held; a position of another level is held for good, so that a cell which walks past
it needs one comparison only. That comparison seldom holds, which processors foresee. Who holds a target stands in the
plan itself. All of it is passed array by array, and the walks are one long function: numba counts the uses of an array
in a tuple, and a call with ten arrays takes longer than the walks.
"""

import numpy as np

from ..compiled import compiled
from .board import SQUARE, STEP

NOBODY = np.iinfo(np.int64).max  # the holder, and its cost, of a target that nobody has proposed to
FOR_GOOD = -NOBODY  # the cost at which no position of another level, or outside the grid, can be had


@compiled
def _load_image(gain, level, source, top, distance, places, size, held, seekers):
    """Leave each cell at its own place where no other can be as cheap, and list the others; how many they are."""
    count = 0
    for cell in range(places.size):
        for other in range(top + 1):
            held[other * size + places[cell]] = FOR_GOOD
    for cell in range(places.size):
        stays = gain[cell] * (top - level[cell]) < distance
        held[level[cell] * size + places[cell]] = -gain[cell] * level[cell] if stays else NOBODY
        source[cell] = cell if stays else NOBODY
        seekers[count] = cell
        count += not stays
    return count


@compiled
def _cheapest_level(tried, first, gain, top, distance, steps, squares):
    """The level whose next walk is cheapest, of equal ones that with the lowest target; and the runner-up's cost.

    A target of the highest level is the first choice of its own cell. So it is held at a cost of at most 0, and no
    walk to it that costs more is worth trying.
    """
    chosen, least, limit, lowest = 0, NOBODY, NOBODY, 0
    for level in range(top + 1):
        turn = tried[first + level]
        if turn < steps.size:
            cost = distance * squares[turn] - gain * level
            if cost > 0 and level == top:
                continue
            if cost < least or (cost == least and steps[turn] < lowest):
                chosen, least, limit, lowest = level, cost, least, steps[turn]
            else:
                limit = min(limit, cost)
    return chosen, min(limit, 1) if chosen == top else limit


@compiled
def _settle(seekers, gain, source, top, distance, places, cells, steps, squares, tried, held):
    """Let cells propose, and those that they displace, until all have a target.

    A target accepts unless a cheaper or, at the same cost, a lower cell holds it.
    """
    tried[:] = 0
    for row in seekers:
        while row != NOBODY:
            first = row * (top + 1)
            level, limit = _cheapest_level(tried, first, gain[row], top, distance, steps, squares)
            place, shift, bonus, turn = places[row], level * cells.size, gain[row] * level, tried[first + level]
            cost = distance * squares[turn] - bonus
            while True:  # the first of these walks ties with the runner-up at worst, the next ones must be cheaper
                at = place + steps[turn]
                turn += 1
                if cost <= held[shift + at]:
                    target = cells[at]
                    loser = source[target]
                    if cost < held[shift + at] or row < loser:
                        source[target], held[shift + at] = row, cost
                        row = loser
                        break
                if turn == steps.size:
                    break
                cost = distance * squares[turn] - bonus
                if cost >= limit:
                    break
            tried[first + level] = turn


@compiled
def match_images(start, stop, gain, level, source, distance, rows, cols, places, cells, walks):
    """Match images: `gain`, `level` (B,N) -> `source` (B,N), the cell that lands on each cell."""
    steps, squares = walks[STEP], walks[SQUARE]
    levels = level[start:stop].max() + 1
    tried = np.empty(places.size * levels, np.int32)
    held = np.full(levels * cells.size, FOR_GOOD)
    seekers = np.empty_like(places)
    for image in range(start, stop):
        own, plan, top = gain[image], source[image], level[image].max()
        count = _load_image(own, level[image], plan, top, distance, places, cells.size, held, seekers)
        if count > 0:
            _settle(seekers[:count], own, plan, top, distance, places, cells, steps, squares, tried, held)

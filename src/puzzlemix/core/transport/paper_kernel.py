"""Algorithm 1 on the CPU as deferred acceptance, without a cost matrix.

Cells and targets rank each other by the same costs, so the limit of Algorithm 1 does not depend on who proposes when:
it is the greedy matching in the order (cost, row, column). A cell proposes to the targets of one level ring by ring, so
one pointer per level says how far it has come, and its next proposal is the cheapest of the levels' next ones.

Layout: one int64 array `state`, [position on the board, field]. A position is that of a cell and of a target at once.
"""

import numpy as np

from ..compiled import compiled
from .board import SQUARE, STEP

LEVEL, GAIN, COST, HOLDER, CELL, TRIED = range(6)  # from TRIED on, per level: how many walks the cell has tried
OUTSIDE = -1  # the level outside the grid, which no cell looks for
NOBODY = np.iinfo(np.int64).max  # the holder, and its cost, of a target that nobody has proposed to


@compiled
def _empty_state(rows, cols, places, levels):
    state = np.full(((3 * rows - 1) * (2 * cols - 1), TRIED + levels), OUTSIDE)
    for cell in range(places.size):
        state[places[cell], CELL] = cell
    return state


@compiled
def _start(state, at, distance):
    """Let a cell propose to its own place if no move can be as cheap; whether it does."""
    level, gain = state[at, LEVEL], state[at, GAIN]
    levels = state.shape[1] - TRIED
    stays = gain * (levels - 1 - level) < distance
    for other in range(levels):
        state[at, TRIED + other] = 0
    state[at, TRIED + level] = stays
    state[at, COST] = -gain * level if stays else NOBODY
    state[at, HOLDER] = at if stays else NOBODY
    return stays


@compiled
def _load_image(state, places, gain, level, distance, seekers):
    """Put an image on the board; how many cells look further than their own place."""
    count = 0
    for cell in range(places.size):
        at = places[cell]
        state[at, GAIN], state[at, LEVEL] = gain[cell], level[cell]
        if not _start(state, at, distance):
            seekers[count] = at
            count += 1
    return count


@compiled
def _cheapest_level(state, walks, row, distance):
    """The level whose next walk is cheapest, of equal ones that with the lowest target; and the runner-up's cost.

    A target of the highest level is the first choice of its own cell. So it is held at a cost of at most 0, and no
    walk to it that costs more is worth trying.
    """
    chosen, least, limit, lowest = 0, NOBODY, NOBODY, 0
    top = state.shape[1] - TRIED - 1
    for level in range(top + 1):
        turn = state[row, TRIED + level]
        if turn < len(walks):
            cost = distance * walks[turn, SQUARE] - state[row, GAIN] * level
            if cost > 0 and level == top:
                continue
            if cost < least or (cost == least and walks[turn, STEP] < lowest):
                chosen, least, limit, lowest = level, cost, least, walks[turn, STEP]
            else:
                limit = min(limit, cost)
    return chosen, limit


@compiled
def _take(state, target, row, cost):
    """Let a cell have a target unless a cheaper or, at the same cost, a lower cell holds it; whether it has."""
    held = state[target, COST]
    wins = cost < held or (cost == held and row < state[target, HOLDER])
    if wins:
        state[target, COST], state[target, HOLDER] = cost, row
    return wins


@compiled
def _propose(state, walks, row, distance):
    """Propose until a target accepts; the cell that it lets go for this one, or NOBODY."""
    while True:
        level, limit = _cheapest_level(state, walks, row, distance)
        bonus = state[row, GAIN] * level
        turn = state[row, TRIED + level]
        cost = distance * walks[turn, SQUARE] - bonus
        while True:  # the first of these walks ties with the runner-up at worst, the following ones must be cheaper
            target = row + walks[turn, STEP]
            loser = state[target, HOLDER]
            turn += 1
            state[row, TRIED + level] = turn
            if state[target, LEVEL] == level and _take(state, target, row, cost):
                return loser
            if turn == len(walks):
                break
            cost = distance * walks[turn, SQUARE] - bonus
            if cost >= limit:
                break


@compiled
def match_images(start, stop, gain, level, source, distance, rows, cols, places, walks):
    """Match images: `gain`, `level` (B,N) -> `source` (B,N), the cell that lands on each cell."""
    state = _empty_state(rows, cols, places, level[start:stop].max() + 1)
    seekers = np.empty_like(places)
    for image in range(start, stop):
        for seeker in range(_load_image(state, places, gain[image], level[image], distance, seekers)):
            row = seekers[seeker]
            while row != NOBODY:
                row = _propose(state, walks, row, distance)
        for cell in range(places.size):
            source[image, cell] = state[state[places[cell], HOLDER], CELL]

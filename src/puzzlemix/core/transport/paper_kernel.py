"""Algorithm 1 on the CPU as deferred acceptance, without a cost matrix.

Cells and targets rank each other by the same costs, so the limit of Algorithm 1 does not depend on who proposes when:
it is the greedy matching in the order (cost, row, column). A cell proposes to targets of one level ring by ring, so one
pointer per level and cell says how far it has come, and its next proposal is the cheapest of the levels' next ones.
"""

from typing import NamedTuple

import numpy as np

from ..compiled import compiled

OUTSIDE = -1  # the level outside the grid, which no cell looks for
NOBODY = np.iinfo(np.int64).max  # the cost and the holder of a target that nobody has proposed to


class State(NamedTuple):
    """One image by position on the board."""

    level: np.ndarray
    gain: np.ndarray
    tried: np.ndarray  # [position, level]: how many steps have been tried for targets of that level
    cost: np.ndarray
    holder: np.ndarray


@compiled
def _empty_state(size, levels):
    gain, cost, holder = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    return State(np.full(size, OUTSIDE, np.int64), gain, np.zeros((size, levels), np.int64), cost, holder)


@compiled
def _start(state, at, distance):
    """Let a cell propose to its own place if no move can be as cheap; whether it does."""
    level, gain = state.level[at], state.gain[at]
    top = state.tried.shape[1] - 1
    stays = gain * (top - level) < distance
    for other in range(top + 1):
        state.tried[at, other] = 0
    state.tried[at, level] = stays
    state.cost[at] = -gain * level if stays else NOBODY
    state.holder[at] = at if stays else NOBODY
    return stays


@compiled
def _load_image(state, board, gain, level, distance, seekers):
    """Put an image on the board; how many cells look for a better place than their own."""
    count = 0
    for cell in range(board.place.size):
        at = board.place[cell]
        state.gain[at], state.level[at] = gain[cell], level[cell]
        if not _start(state, at, distance):
            seekers[count] = at
            count += 1
    return count


@compiled
def _next_proposal(state, board, row, distance):
    """The level whose next step is cheapest, and its cost; of equal ones that with the lowest target."""
    chosen, least, first = 0, NOBODY, 0
    for level in range(state.tried.shape[1]):
        turn = state.tried[row, level]
        if turn < board.step.size:
            cost = distance * board.square[turn] - state.gain[row] * level
            if cost < least or (cost == least and board.step[turn] < first):
                chosen, least, first = level, cost, board.step[turn]
    return chosen, least


@compiled
def _propose(state, board, row, distance):
    """Propose until a target accepts; the cell that it lets go for this one, or NOBODY."""
    while True:
        level, cost = _next_proposal(state, board, row, distance)
        target = row + board.step[state.tried[row, level]]
        state.tried[row, level] += 1
        if state.level[target] == level:
            held, loser = state.cost[target], state.holder[target]
            if cost < held or (cost == held and row < loser):
                state.cost[target], state.holder[target] = cost, row
                return loser


@compiled
def match_images(start, stop, gain, level, source, distance, board):
    """Match images: `gain`, `level` (B,N) -> `source` (B,N), the cell that lands on each cell."""
    state = _empty_state(board.cell.size, level[start:stop].max() + 1)
    seekers = np.empty(board.place.size, np.int64)
    for image in range(start, stop):
        for seeker in range(_load_image(state, board, gain[image], level[image], distance, seekers)):
            row = seekers[seeker]
            while row != NOBODY:
                row = _propose(state, board, row, distance)
        for cell in range(board.place.size):
            source[image, cell] = board.cell[state.holder[board.place[cell]]]

"""The cheapest assignment on the CPU: Jonker and Volgenant's shortest augmenting paths, without a cost matrix.

Cells are assigned one after another. A cell takes the target at the end of the shortest path over targets that others
hold and would leave for another one; the path ends at a target that is free. Targets carry a price, at most 0, and 0
while they are free, which keeps every step of a path from being negative. So walks away from a cell, nearest first, are
scanned only until the distance alone is dearer than the best path found so far.

Layout: one int64 array `state`, [position on the board, field]. A position is that of a cell and of a target at once.
"""

import numpy as np

from ..compiled import compiled
from .board import SQUARE, STEP

LEVEL, GAIN, PRICE, HOLDER, HELD, REACH, PARENT, CELL, DOWN, RIGHT = range(10)
FAR = np.iinfo(np.int64).max  # the reach of a target that no path has come to
OUTSIDE = -FAR  # the reach of a position outside the grid: no path improves on it
NOBODY = -1  # the holder of a free target
SCANS = 8  # scans per cell after which a dense solver is quicker
GIVEN_UP = -1  # the plan of an image that takes more of them


@compiled
def _empty_state(rows, cols, places):
    state = np.zeros(((3 * rows - 1) * (2 * cols - 1), RIGHT + 1), np.int64)
    state[:, REACH] = OUTSIDE
    for cell in range(places.size):
        at = places[cell]
        state[at, CELL], state[at, DOWN], state[at, RIGHT] = cell, cell // cols, cell % cols
    return state


@compiled
def _load_image(state, places, gain, level):
    """Put an image on the board, all targets free; its highest level."""
    for cell in range(places.size):
        at = places[cell]
        state[at, GAIN], state[at, LEVEL] = gain[cell], level[cell]
        state[at, PRICE], state[at, HOLDER], state[at, REACH] = 0, NOBODY, FAR
    return level.max()


@compiled
def _cost(state, row, target, distance):
    down, right = state[row, DOWN] - state[target, DOWN], state[row, RIGHT] - state[target, RIGHT]
    return distance * (down * down + right * right) - state[row, GAIN] * state[target, LEVEL]


@compiled
def _scan(state, steps, squares, row, base, top, distance, touched, count, found, best):
    """Lengthen a path of length `base` to a cell by one move; the new `count`, `found` and `best`."""
    gain = state[row, GAIN]
    for turn in range(steps.size):
        length = base + distance * squares[turn]
        if length - gain * top >= best:
            break
        target = row + steps[turn]
        reach = length - gain * state[target, LEVEL] - state[target, PRICE]
        known = state[target, REACH]
        if reach < known and reach < best:
            if known == FAR:
                touched[count] = target
                count += 1
            state[target, REACH], state[target, PARENT] = reach, row
            if state[target, HOLDER] == NOBODY:
                found, best = target, reach
    return count, found, best


@compiled
def _take_nearest(state, touched, done, count, best):
    """Swap the nearest open target, if any is nearer than `best`, to the end of the `done` ones; whether there is."""
    nearest = -1
    for k in range(done, count):
        if state[touched[k], REACH] < best:
            nearest, best = k, state[touched[k], REACH]
    if nearest >= 0:
        touched[done], touched[nearest] = touched[nearest], touched[done]
    return nearest >= 0


@compiled
def _search(state, steps, squares, row, top, distance, touched):
    """Find the free target that the shortest path leads to, and lower prices for it; the target, the number of scans.

    `touched` lists the targets that a path has come to: first those `done`, whose holders have been scanned.
    """
    count, done, found, best, base = 0, 0, NOBODY, FAR, 0
    while True:
        count, found, best = _scan(state, steps, squares, row, base, top, distance, touched, count, found, best)
        if not _take_nearest(state, touched, done, count, best):
            break
        target = touched[done]
        done += 1
        row = state[target, HOLDER]
        base = state[target, REACH] + state[target, PRICE] - _cost(state, row, target, distance)
    for k in range(count):
        if k < done:
            state[touched[k], PRICE] += state[touched[k], REACH] - best
        state[touched[k], REACH] = FAR
    return found, done + 1


@compiled
def _hand_over(state, target, start):
    """Along the path back from a free target, let every cell leave its target for the next one."""
    row = NOBODY
    while row != start:
        row = state[target, PARENT]
        left = state[row, HELD]
        state[target, HOLDER], state[row, HELD] = row, target
        target = left


@compiled
def _stays(state, row, top, distance):
    """Leave a cell where it is if its own place is free and no other can be cheaper; whether it is."""
    stays = state[row, HOLDER] == NOBODY and state[row, GAIN] * (top - state[row, LEVEL]) <= distance
    if stays:
        state[row, HOLDER] = state[row, HELD] = row
    return stays


@compiled
def _assign_all(state, steps, squares, places, top, distance, touched):
    """Assign the cells whose own place is visible, then the others; whether it took few enough scans."""
    left = SCANS * places.size
    for hidden in (False, True):
        for cell in range(places.size):
            row = places[cell]
            if (state[row, LEVEL] == 0) == hidden and not _stays(state, row, top, distance):
                target, scans = _search(state, steps, squares, row, top, distance, touched)
                _hand_over(state, target, row)
                left -= scans
                if left < 0:
                    return False
    return True


@compiled
def assign_images(start, stop, gain, level, source, distance, rows, cols, places, cells, walks):
    """Solve images: `gain`, `level` (B,N) -> `source` (B,N), the cell that lands on each cell, or GIVEN_UP."""
    state = _empty_state(rows, cols, places)
    touched = np.empty_like(places)
    steps, squares = walks[STEP], walks[SQUARE]
    for image in range(start, stop):
        top = _load_image(state, places, gain[image], level[image])
        solved = _assign_all(state, steps, squares, places, top, distance, touched)
        for cell in range(places.size):
            source[image, cell] = state[state[places[cell], HOLDER], CELL] if solved else GIVEN_UP

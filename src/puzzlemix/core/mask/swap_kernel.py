"""Alpha-beta swap on the CPU: all pairs of labels in turn, one minimum cut each, until no pair lowers the cost."""

import numpy as np

from ..compiled import compiled
from ..simd import LANES
from .cut import EAST, EXCESS, NORTH, SOUTH, STRIDE, WEST, cell_at, clear, cut, empty_cells, is_raised


@compiled
def _cost(steps, down, across, labels):
    """What one image's labels cost."""
    rows, cols, top = steps.shape
    raised, apart = 0, 0
    for row in range(rows):
        for col in range(cols):
            label = labels[row, col]
            for lower in range(label):
                raised += steps[row, col, lower]
            if row + 1 < rows:
                apart += down[row, col] * (labels[row + 1, col] - label) ** 2
            if col + 1 < cols:
                apart += across[row, col] * (labels[row, col + 1] - label) ** 2
    return top * top * raised + apart


@compiled
def _load_edge(cells, near, there, arcs, weight, labels, pair):
    """Write one edge: two arcs where both cells hold a label of the pair, part of the cost where one of them does."""
    (low, high), (label, next_label), (forth, back) = pair, labels, arcs
    if label in pair and next_label in pair:
        cells[near + forth * LANES] = cells[there + back * LANES] = weight * (high - low) ** 2
    elif label in pair:
        cells[near] += weight * ((high - next_label) ** 2 - (low - next_label) ** 2)
    elif next_label in pair:
        cells[there] += weight * ((high - label) ** 2 - (low - label) ** 2)


@compiled
def _load(cells, lane, steps, down, across, labels, pair):
    """Write into one image's lane what it costs its cells of either label to take the higher one."""
    rows, cols, top = steps.shape
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols) + lane
            label = labels[row, col]
            if label in pair:
                for lower in range(pair[0], pair[1]):
                    cells[at + EXCESS * LANES] += top * top * steps[row, col, lower]
            if row + 1 < rows:
                below = at + (cols + 2) * STRIDE
                _load_edge(cells, at, below, (SOUTH, NORTH), down[row, col], (label, labels[row + 1, col]), pair)
            if col + 1 < cols:
                right = at + STRIDE
                _load_edge(cells, at, right, (EAST, WEST), across[row, col], (label, labels[row, col + 1]), pair)


@compiled
def _swapped(cells, lane, labels, pair):
    """One image's labels after the cut: of the pair, raised cells take the higher one and all others the lower one."""
    rows, cols = labels.shape
    low, high = pair
    result = labels.copy()
    for row in range(rows):
        for col in range(cols):
            if labels[row, col] in pair:
                result[row, col] = high if is_raised(cells, cell_at(row, col, cols) + lane) else low
    return result


@compiled
def _swap(cells, dirty, steps, down, across, labels, costs, moving, pair):
    """Swap one pair of labels in the images still moving, where it pays; which images it improved."""
    images, rows, cols, _ = steps.shape
    improved = np.zeros(images, np.bool_)
    clear(cells)
    for image in range(images):
        if moving[image]:
            _load(cells, image, steps[image], down[image], across[image], labels[image], pair)
    cut(cells, rows, cols, dirty)
    for image in range(images):
        if moving[image]:
            result = _swapped(cells, image, labels[image], pair)
            cost = _cost(steps[image], down[image], across[image], result)
            if cost < costs[image]:  # never on a tie, or labels could go round in circles
                labels[image], costs[image], improved[image] = result, cost, True
    return improved


@compiled
def _solve_group(steps, down, across, labels):
    """Solve up to LANES images side by side."""
    images, rows, cols, top = steps.shape
    cells, dirty = empty_cells(rows, cols), np.zeros(rows + 2, np.bool_)
    labels[:] = 0
    costs = np.zeros(images, np.int64)
    moving = np.ones(images, np.bool_)  # which images the last sweep over all pairs improved
    while moving.any():
        improved = np.zeros(images, np.bool_)
        for low in range(top):
            for high in range(low + 1, top + 1):
                improved |= _swap(cells, dirty, steps, down, across, labels, costs, moving, (low, high))
        moving = improved


@compiled
def solve_groups(start, stop, steps, down, across, labels):
    """Solve groups of LANES images: `steps` (B,R,K,M), `down` (B,R-1,K), `across` (B,R,K-1) -> `labels` (B,R,K)."""
    for group in range(start, stop):
        own = slice(group * LANES, (group + 1) * LANES)
        _solve_group(steps[own], down[own], across[own], labels[own])

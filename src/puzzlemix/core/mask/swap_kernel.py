"""Alpha-beta swap on the CPU: all pairs of labels in turn, one minimum cut each, until no pair lowers the cost."""

import numpy as np

from ..compiled import compiled
from ..simd import LANES
from .cut import EAST, EXCESS, NORTH, SOUTH, STRIDE, WEST, cell_at, clear, cut, is_raised, new_cells


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
def _load_edge(cells, near, there, forth, back, weight, labels, pair):
    """Write one edge: two arcs where both cells hold a label of the pair, part of the cost where one of them does."""
    (low, high), (label, next_label) = pair, labels
    if label in pair and next_label in pair:
        cells[forth] = cells[back] = weight * (high - low) ** 2
    elif label in pair:
        cells[near + EXCESS] += weight * ((high - next_label) ** 2 - (low - next_label) ** 2)
    elif next_label in pair:
        cells[there + EXCESS] += weight * ((high - label) ** 2 - (low - label) ** 2)


@compiled
def _load(cells, lane, steps, down, across, labels, pair):
    """Write into one image's lane what it costs its cells of either label to take the higher one."""
    rows, cols, top = steps.shape
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols) + lane
            right, below = at + STRIDE, at + (cols + 2) * STRIDE
            label = labels[row, col]
            if label in pair:
                for lower in range(pair[0], pair[1]):
                    cells[at + EXCESS] += top * top * steps[row, col, lower]
            if row + 1 < rows:
                both = label, labels[row + 1, col]
                _load_edge(cells, at, below, at + SOUTH, below + NORTH, down[row, col], both, pair)
            if col + 1 < cols:
                both = label, labels[row, col + 1]
                _load_edge(cells, at, right, at + EAST, right + WEST, across[row, col], both, pair)


@compiled
def _propose(cells, lane, labels, pair, proposed):
    """One image's labels after the cut: of the pair, raised cells take the higher one and all others the lower one."""
    rows, cols = labels.shape
    low, high = pair
    for row in range(rows):
        for col in range(cols):
            label = labels[row, col]
            if label in pair:
                label = high if is_raised(cells, cell_at(row, col, cols) + lane) else low
            proposed[row, col] = label


@compiled
def _accept(labels, proposed):
    """Take over an image's proposed labels."""
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            labels[row, col] = proposed[row, col]


@compiled
def _swap(cells, dirty, problem, labels, pair, proposed, costs, idle, done):
    """Swap one pair of labels in every image that is not done, wherever that pays; whether any image is left."""
    steps, down, across = problem
    images, rows, cols, _ = steps.shape
    clear(cells)
    for image in range(images):
        if idle[image] < done:
            _load(cells, image, steps[image], down[image], across[image], labels[image], pair)
    cut(cells, rows, cols, dirty)
    left = False
    for image in range(images):
        if idle[image] < done:
            _propose(cells, image, labels[image], pair, proposed)
            cost = _cost(steps[image], down[image], across[image], proposed)
            idle[image] += 1
            if cost < costs[image]:  # never on a tie, or labels could go round in circles
                _accept(labels[image], proposed)
                costs[image], idle[image] = cost, 0
            left |= idle[image] < done
    return left


@compiled
def _solve_group(cells, dirty, problem, labels):
    """Solve up to LANES images side by side: each until all pairs in turn have changed nothing."""
    rows, cols, top = problem[0].shape[1:]
    proposed = np.empty((rows, cols), np.int32)
    costs = np.zeros(LANES, np.int64)
    idle = np.zeros(LANES, np.int64)  # how many pairs in turn have changed nothing
    left = True
    while left:
        for low in range(top):
            for high in range(top, low, -1):  # labels far apart first: it ends nearer the optimum
                left = _swap(cells, dirty, problem, labels, (low, high), proposed, costs, idle, top * (top + 1) // 2)


@compiled
def solve_groups(start, stop, steps, down, across, labels):
    """Solve groups of LANES images: `steps` (B,R,K,M), `down` (B,R-1,K), `across` (B,R,K-1) -> `labels` (B,R,K), 0."""
    _, rows, cols, _ = steps.shape
    cells, dirty = new_cells(rows, cols), np.empty(rows + 2, np.bool_)
    for group in range(start, stop):
        own = slice(group * LANES, (group + 1) * LANES)
        _solve_group(cells, dirty, (steps[own], down[own], across[own]), labels[own])

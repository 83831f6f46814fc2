"""The exact mask on the CPU: steepest ascent from label 0, one warm-started minimum cut per label."""

import numpy as np

from ..compiled import compiled
from ..simd import LANES, load, splat, store, where
from .cut import (
    EAST,
    EXCESS,
    HEIGHT,
    NORTH,
    SOUTH,
    STRIDE,
    UNREACHED,
    WEST,
    cell_at,
    clear,
    cut,
    is_raised,
    new_cells,
)


@compiled
def _load_row(cells, first, values, factor):
    """Write `values` (images, cells) times `factor` into one field of a row, from position `first` on."""
    for lane in range(values.shape[0]):
        for col in range(values.shape[1]):
            cells[first + col * STRIDE + lane] = values[lane, col] * factor


@compiled
def _load(cells, steps, down, across):
    """Write the images' first marginal costs and edge weights into their lanes."""
    _, rows, cols, top = steps.shape
    clear(cells)
    for row in range(rows):
        first = cell_at(row, 0, cols)
        _load_row(cells, first + EXCESS, steps[:, row, :, 0], top * top)
        _load_row(cells, first + EAST, across[:, row], 1)
        if row + 1 < rows:
            _load_row(cells, first + SOUTH, down[:, row], 1)
        for at in range(first, first + cols * STRIDE, STRIDE):
            store(cells, at + STRIDE + WEST, load(cells, at + EAST))
            store(cells, at + (cols + 2) * STRIDE + NORTH, load(cells, at + SOUTH))


@compiled
def _raise_row(cells, first, steps, labels):
    """Raise the labels of the row's cells that the cut chose, and charge them the next marginal cost."""
    images, cols, top = steps.shape
    found = False
    for lane in range(images):
        for col in range(cols):
            at = first + col * STRIDE + lane
            if is_raised(cells, at):
                found = True
                label = labels[lane, col] + 1
                labels[lane, col] = label
                if label < top:
                    cells[at + EXCESS] += top * top * (steps[lane, col, label] - steps[lane, col, label - 1])
    return found


@compiled
def _raise_labels(cells, steps, labels):
    """Raise the labels of the cut's cells in all images; whether there were any."""
    _, rows, cols, _ = steps.shape
    found = False
    for row in range(rows):
        found |= _raise_row(cells, cell_at(row, 0, cols), steps[:, row], labels[:, row])
    return found


@compiled
def _part_arcs(cells, near, there, forth, back):
    """After a cut between two cells the arc out of the raised one is used up, and its reverse holds both residuals."""
    near_raised = load(cells, near + HEIGHT) < UNREACHED
    there_raised = load(cells, there + HEIGHT) < UNREACHED
    out = load(cells, forth)
    both = out + load(cells, back)
    out = where(near_raised, where(there_raised, out, splat(0)), where(there_raised, both, out))
    store(cells, forth, out)
    store(cells, back, both - out)


@compiled
def _carry_flow_over(cells, rows, cols):
    """Ready all arcs for the next label's cut, which starts from this one's flow."""
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols)
            right, below = at + STRIDE, at + (cols + 2) * STRIDE
            if col + 1 < cols:
                _part_arcs(cells, at, right, at + EAST, right + WEST)
            if row + 1 < rows:
                _part_arcs(cells, at, below, at + SOUTH, below + NORTH)


@compiled
def solve_groups(start, stop, steps, down, across, labels):
    """Solve groups of LANES images: `steps` (B,R,K,M), `down` (B,R-1,K), `across` (B,R,K-1) -> `labels` (B,R,K), 0."""
    _, rows, cols, top = steps.shape
    cells, dirty = new_cells(rows, cols), np.empty(rows + 2, np.bool_)
    for group in range(start, stop):
        own = slice(group * LANES, (group + 1) * LANES)
        _load(cells, steps[own], down[own], across[own])
        for _ in range(top):
            cut(cells, rows, cols, dirty)
            if not _raise_labels(cells, steps[own], labels[own]):
                break
            _carry_flow_over(cells, rows, cols)

"""The exact mask on the CPU: steepest ascent from label 0, one warm-started minimum cut per label."""

import numpy as np

from ..compiled import compiled
from ..simd import LANES
from .cut import EAST, EXCESS, HEIGHT, NORTH, SOUTH, STRIDE, UNREACHED, WEST, cut

FULL = 1 << 28  # the excess of a cell that has no label left to rise to


@compiled
def cell_at(row, col, cols):
    """The base position of a cell behind the border."""
    return ((row + 1) * (cols + 2) + col + 1) * STRIDE


@compiled
def empty_cells(rows, cols):
    """Cells without excess or arcs, out of reach."""
    cells = np.zeros((rows + 2) * (cols + 2) * STRIDE, np.int32)
    for at in range(HEIGHT * LANES, cells.size, STRIDE):
        cells[at : at + LANES] = UNREACHED
    return cells


@compiled
def _load_image(cells, lane, steps, down, across):
    """Write one image's first marginal costs and edge weights into its lane."""
    rows, cols, top = steps.shape
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols) + lane
            cells[at + EXCESS * LANES] = top * top * steps[row, col, 0]
            if col + 1 < cols:
                cells[at + EAST * LANES] = across[row, col]
                cells[at + STRIDE + WEST * LANES] = across[row, col]
            if row + 1 < rows:
                cells[at + SOUTH * LANES] = down[row, col]
                cells[at + (cols + 2) * STRIDE + NORTH * LANES] = down[row, col]


@compiled
def _raise_labels(cells, lane, steps, labels):
    """Raise the labels of the cut's cells and charge them the next marginal cost; whether there were any."""
    rows, cols, top = steps.shape
    raised = False
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols) + lane
            if cells[at + HEIGHT * LANES] < UNREACHED:
                raised = True
                label = labels[row, col] + 1
                labels[row, col] = label
                if label < top:
                    cells[at] += top * top * (steps[row, col, label] - steps[row, col, label - 1])
                else:
                    cells[at] = FULL
    return raised


@compiled
def _part_arc(cells, near, there, forth, back):
    """After a cut between two cells the arc out of the raised one is used up, and its reverse holds both residuals."""
    near_raised = cells[near + HEIGHT * LANES] < UNREACHED
    there_raised = cells[there + HEIGHT * LANES] < UNREACHED
    if near_raised != there_raised:
        both = cells[near + forth * LANES] + cells[there + back * LANES]
        cells[near + forth * LANES] = 0 if near_raised else both
        cells[there + back * LANES] = both if near_raised else 0


@compiled
def _part_arcs(cells, lane, rows, cols):
    """Carry the flow over to the next label."""
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols) + lane
            if col + 1 < cols:
                _part_arc(cells, at, at + STRIDE, EAST, WEST)
            if row + 1 < rows:
                _part_arc(cells, at, at + (cols + 2) * STRIDE, SOUTH, NORTH)


@compiled
def solve_groups(start, stop, steps, down, across, labels):
    """Solve groups of LANES images: `steps` (B,R,C,m), `down` (B,R-1,C), `across` (B,R,C-1) -> `labels` (B,R,C)."""
    batch, rows, cols, top = steps.shape
    dirty = np.zeros(rows + 2, np.bool_)
    for group in range(start, stop):
        first, last = group * LANES, min(batch, (group + 1) * LANES)
        cells = empty_cells(rows, cols)
        labels[first:last] = 0
        for image in range(first, last):
            _load_image(cells, image - first, steps[image], down[image], across[image])
        for level in range(top):
            cut(cells, rows, cols, dirty)
            raised = False
            for image in range(first, last):
                raised |= _raise_labels(cells, image - first, steps[image], labels[image])
            if not raised or level + 1 == top:
                break
            for image in range(first, last):
                _part_arcs(cells, image - first, rows, cols)

"""The exact mask on the CPU: steepest ascent from label 0, one warm-started minimum cut per label."""

import numpy as np

from ..compiled import compiled
from ..simd import LANES, load, splat, store, where
from .cut import EAST, EXCESS, HEIGHT, NORTH, SOUTH, STRIDE, UNREACHED, WEST, cell_at, cut, empty_cells, is_raised


@compiled
def _load_row(cells, first, values, field, factor):
    """Write `values` (images, cells) times `factor` into a field of the cells from base position `first` on."""
    for lane in range(len(values)):
        for col in range(values.shape[1]):
            cells[first + col * STRIDE + field * LANES + lane] = values[lane, col] * factor


@compiled
def _mirror(cells, near, there, forth, back):
    """Give the arc back the capacity of the arc forth."""
    store(cells, there + back * LANES, load(cells, near + forth * LANES))


@compiled
def _load(cells, steps, down, across):
    """Write the images' first marginal costs and edge weights into their lanes."""
    _, rows, cols, top = steps.shape
    for row in range(rows):
        first = cell_at(row, 0, cols)
        _load_row(cells, first, steps[:, row, :, 0], EXCESS, top * top)
        _load_row(cells, first, across[:, row], EAST, 1)
        if row + 1 < rows:
            _load_row(cells, first, down[:, row], SOUTH, 1)
        for col in range(cols):
            at = cell_at(row, col, cols)
            _mirror(cells, at, at + STRIDE, EAST, WEST)
            _mirror(cells, at, at + (cols + 2) * STRIDE, SOUTH, NORTH)


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
                    cells[at] += top * top * (steps[lane, col, label] - steps[lane, col, label - 1])
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
def _raised(cells, at):
    """Whether the cut raises a cell, as a mask of images."""
    return load(cells, at + HEIGHT * LANES) < UNREACHED


@compiled
def _part_arcs(cells, near, there, forth, back):
    """After a cut between two cells the arc out of the raised one is used up, and its reverse holds both residuals."""
    near_raised, there_raised = _raised(cells, near), _raised(cells, there)
    out, home = load(cells, near + forth * LANES), load(cells, there + back * LANES)
    both, none = out + home, splat(0)
    out = where(near_raised, where(there_raised, out, none), where(there_raised, both, out))
    store(cells, near + forth * LANES, out)
    store(cells, there + back * LANES, both - out)


@compiled
def _carry_flow_over(cells, rows, cols):
    """Ready all arcs for the next label's cut, which starts from this one's flow."""
    for row in range(rows):
        for col in range(cols):
            at = cell_at(row, col, cols)
            if col + 1 < cols:
                _part_arcs(cells, at, at + STRIDE, EAST, WEST)
            if row + 1 < rows:
                _part_arcs(cells, at, at + (cols + 2) * STRIDE, SOUTH, NORTH)


@compiled
def _solve_group(steps, down, across, labels):
    """Solve up to LANES images side by side."""
    _, rows, cols, top = steps.shape
    cells = empty_cells(rows, cols)
    dirty = np.zeros(rows + 2, np.bool_)
    _load(cells, steps, down, across)
    labels[:] = 0
    for level in range(top):
        cut(cells, rows, cols, dirty)
        if not _raise_labels(cells, steps, labels) or level + 1 == top:
            break
        _carry_flow_over(cells, rows, cols)


@compiled
def solve_groups(start, stop, steps, down, across, labels):
    """Solve groups of LANES images: `steps` (B,R,K,M), `down` (B,R-1,K), `across` (B,R,K-1) -> `labels` (B,R,K)."""
    for group in range(start, stop):
        own = slice(group * LANES, (group + 1) * LANES)
        _solve_group(steps[own], down[own], across[own], labels[own])

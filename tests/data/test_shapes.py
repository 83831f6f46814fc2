import numpy as np
import pytest

from puzzlemix.data.shapes import SHAPES, distances


def grid(side=200, reach=1.4):
    centres = ((np.arange(side) * 2 + 1 - side) / side * reach).astype(np.float32)
    return np.broadcast_to(centres, (1, side, side)), np.broadcast_to(centres[:, None], (1, side, side))


@pytest.mark.parametrize("name", SHAPES)
def test_a_shape_fills_about_its_unit_and_no_more(name):
    x, y = grid()
    inside = SHAPES[name](x, y) < 0
    area = inside.mean() * 2.8**2
    assert 0.6 < area < 3.2
    assert not inside[np.sqrt(x * x + y * y) > 1.3].any()
    assert (np.sqrt(x * x + y * y)[inside].max()) > 0.8


@pytest.mark.parametrize("name", SHAPES)
def test_distances_rise_no_faster_than_one_per_unit(name):
    """So that an edge is smoothed over about one pixel, never less."""
    x, y = grid()
    step = x[0, 0, 1] - x[0, 0, 0]
    values = SHAPES[name](x, y)[0]
    for axis in (0, 1):
        assert np.abs(np.diff(values, axis=axis)).max() <= 1.05 * step


def test_no_two_shapes_are_alike():
    x, y = grid(60)
    masks = [shape(x, y) < 0 for shape in SHAPES.values()]
    for first in range(len(masks)):
        for second in range(first):
            union = (masks[first] | masks[second]).sum()
            assert (masks[first] & masks[second]).sum() / union < 0.9


def test_each_item_gets_its_own_shape():
    x, y = grid(20)
    kinds = np.array([3, 0, 9, 3])
    x, y = (np.repeat(values, 4, axis=0) for values in (x, y))
    together = distances(kinds, x, y)
    for row, kind in enumerate(kinds):
        assert np.array_equal(together[row], list(SHAPES.values())[kind](x[row : row + 1], y[row : row + 1])[0])

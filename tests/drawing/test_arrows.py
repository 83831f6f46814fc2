import numpy as np
import pytest

from puzzlemix.core.blocks import layout_for
from puzzlemix.drawing.arrows import arrow_outlines, ribbon_outlines, tile_boxes, tile_centres

START = np.array([[0.0, 0.0], [10.0, 2.0], [3.0, 3.0]])
END = np.array([[10.0, 0.0], [1.0, 9.0], [3.0, 4.0]])


def test_the_tip_is_the_end_and_the_tail_the_start():
    outlines = arrow_outlines(START, END, 0.3)
    points = outlines.shape[1] // 2
    np.testing.assert_allclose(outlines[:, points], END)
    np.testing.assert_allclose((outlines[:, 0] + outlines[:, -1]) / 2, START)


def test_arrows_grow_towards_the_head():
    outlines = arrow_outlines(START, END, 0.3)
    across = np.linalg.norm(outlines - outlines[:, ::-1], axis=-1)[:, : outlines.shape[1] // 2]
    assert np.all(np.diff(across, axis=1) > 0)


def test_arrows_that_swap_places_do_not_lie_on_each_other():
    there = arrow_outlines(START[:1], END[:1], 0.2)[0, 1:-1, 1]
    back = arrow_outlines(END[:1], START[:1], 0.2)[0, 1:-1, 1]
    middle = len(there) // 4
    assert there[middle] > 0.2 > -0.2 > back[middle]


def test_no_arrows_and_arrows_of_no_length_are_fine():
    assert arrow_outlines(np.zeros((0, 2)), np.zeros((0, 2)), 1.0).shape[0] == 0
    assert np.isfinite(arrow_outlines(START, START, 1.0)).all()


def test_tiles_end_where_the_image_ends():
    layout = layout_for(10, 14, 4, 4)  # cells of 3 x 4: two rows and columns of pixels are padding
    np.testing.assert_array_equal(
        tile_boxes(np.array([0, 6, 15]), layout), [[0, 0, 4, 3], [8, 3, 12, 6], [12, 9, 14, 10]]
    )
    np.testing.assert_array_equal(tile_centres(np.array([0, 15]), layout), [[2, 1.5], [13, 9.5]])


@pytest.mark.parametrize("end", [(4.0, 6.0), (0.0, 2.0)])
def test_ribbons_start_above_and_end_below(end):
    outline = ribbon_outlines(np.array([[0.0, 2.0]]), np.array([end]))[0]
    assert sorted(outline[outline[:, 1] == 1, 0]) == [0, 2]
    assert sorted(outline[outline[:, 1] == 0, 0]) == list(end)

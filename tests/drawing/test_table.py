import pytest
import torch

from puzzlemix.drawing import figure_bytes
from puzzlemix.drawing.table import draw_table


@pytest.fixture
def images(generator):
    return torch.rand(5, 3, 3, 8, 8, generator=generator)


def boxes(figure):
    return [axes.get_position() for axes in figure.axes]


def test_rows_lie_below_each_other_and_blocks_side_by_side(images):
    figure = draw_table(images, list("abcde"), blocks=2, breaks=(1,))
    assert [text.get_text() for text in figure.texts] == list("abcde")
    places = boxes(figure)
    assert len(places) == 15
    tops = [places[3 * row].y1 for row in range(5)]
    assert tops[0] == pytest.approx(tops[3])
    assert tops[1] == pytest.approx(tops[4], abs=0.05)
    assert tops[0] - tops[1] > tops[1] - tops[2] > 0  # a little space before row 1
    assert places[9].x0 > places[2].x1
    assert all(0 < box.x0 < box.x1 < 1 and 0 < box.y0 < box.y1 < 1 for box in places)
    assert not any(one.overlaps(other) for k, one in enumerate(places) for other in places[:k])


def test_the_same_images_give_the_same_picture(images):
    names = list("abcde")
    assert figure_bytes(draw_table(images, names)) == figure_bytes(draw_table(images, names))


def test_names_that_do_not_fit_are_refused(images):
    with pytest.raises(ValueError, match="4 names for 5 rows"):
        draw_table(images, list("abcd"))

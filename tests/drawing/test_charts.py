import numpy as np
import pytest

pytest.importorskip("matplotlib")

from puzzlemix.drawing.charts import COLOURS, Chart, Series, draw_charts


def lines(figure):
    return [[line.get_color() for line in axes.lines] for axes in figure.axes]


def test_a_name_has_one_colour_in_all_charts():
    one, other = Series("one", [0, 1], [1, 2]), Series("other", [0, 1], [2, 1])
    figure = draw_charts([Chart("a", "x", [one, other]), Chart("b", "x", [other])])
    assert lines(figure) == [[COLOURS[0], COLOURS[1]], [COLOURS[1]]]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "other"]


def test_charts_stand_in_rows_and_do_not_overlap():
    chart = Chart("a", "x", [Series("one", [1, 2, 4], [0.1, 1, 10])], log_x=True, log_y=True)
    figure = draw_charts([chart] * 5, columns=3)
    boxes = np.array([axes.get_position().extents for axes in figure.axes])
    assert boxes.min() >= 0
    assert boxes.max() <= 1
    assert len({round(bottom, 3) for bottom in boxes[:, 1]}) == 2
    assert (boxes[1:3, 0] > boxes[:2, 2]).all()
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"


def test_many_names_are_told_apart_and_fit():
    names = [f"a rather long name {number}" for number in range(14)]
    figure = draw_charts([Chart("a", "x", [Series(name, [0, 1], [1, 2]) for name in names])], columns=2)
    styles = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(styles)) == 14
    figure.draw_without_rendering()
    legend, axes = figure.legends[0].get_window_extent(), figure.axes[0].get_tightbbox()
    assert figure.bbox.x0 <= legend.x0
    assert legend.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= legend.y0
    assert legend.y1 <= axes.y0


def test_whole_numbers_run_across_where_all_are_whole():
    whole, parts = Series("one", [0, 20], [1, 2]), Series("one", [0, 0.5, 20], [1, 2, 3])
    figure = draw_charts([Chart("a", "x", [whole]), Chart("b", "x", [parts])])
    ticks = [[float(tick) for tick in axes.get_xticks()] for axes in figure.axes]
    assert [all(tick.is_integer() for tick in places) for places in ticks] == [True, False]


def test_nothing_to_draw_is_named():
    with pytest.raises(ValueError, match="some without lines"):
        draw_charts([Chart("a", "x", [])])

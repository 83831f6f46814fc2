import math

import numpy as np
import pytest

from puzzlemix.drawing import figure_bytes
from puzzlemix.drawing.curve import Curve, draw_curve


def history(epochs, ema=False, **changes):
    """Made-up metrics."""
    names = [f"{kind}_{what}" for kind in ("train", "test", *["ema"] * ema) for what in ("error", "loss")]
    return [{name: 1 / (epoch + place + 1) for place, name in enumerate(names)} | changes for epoch in range(epochs)]


def lines(figure, panel=0):
    return {tuple(line.get_ydata()) for line in figure.axes[panel].get_lines()}


def names(figure, panel=0):
    return [text.get_text() for text in figure.axes[panel].texts]


def test_errors_are_drawn_in_per_cent_and_losses_as_they_are():
    metrics = history(3)
    figure = draw_curve([Curve("puzzle", metrics)])
    assert lines(figure) == {
        tuple(100 * epoch["train_error"] for epoch in metrics),
        tuple(100 * epoch["test_error"] for epoch in metrics),
    }
    assert tuple(epoch["test_loss"] for epoch in metrics) in lines(figure, panel=1)
    assert sorted(names(figure)) == ["test", "training"]


def test_others_and_the_average_stand_beside_by_name():
    curves = [Curve("puzzle", history(3, ema=True)), Curve("vanilla", history(5)), Curve("cutmix", history(2))]
    figure = draw_curve(curves)
    assert sorted(names(figure)) == ["averaged", "cutmix", "puzzle", "training", "vanilla"]
    assert figure.axes[0].get_xlim() == (1, 5)


def test_names_stay_apart():
    figure = draw_curve(
        [Curve("a", history(4, test_error=0.5, train_error=0.5)), Curve("b", history(4, test_error=0.5))]
    )
    heights = sorted(text.xyann[1] if text.xycoords == "offset points" else text.xy[1] for text in figure.axes[0].texts)
    box = figure.axes[0].get_position().height * figure.get_figheight()
    points = 72 * np.diff(heights) * box / figure.axes[0].get_ylim()[1]
    assert (points > 7).all()


def test_what_diverged_is_left_out():
    metrics = history(3)
    metrics[2] |= {"train_loss": None, "test_loss": math.nan}
    figure = draw_curve([Curve("puzzle", metrics)])
    assert math.isfinite(figure.axes[1].get_ylim()[1])
    assert figure_bytes(figure)


def test_one_epoch_is_a_point():
    figure = draw_curve([Curve("puzzle", history(1))])
    assert figure.axes[0].get_lines()[0].get_marker() == "o"
    assert figure_bytes(figure)


@pytest.mark.parametrize("curves", [[], [Curve("puzzle", [])]])
def test_nothing_cannot_be_drawn(curves):
    with pytest.raises(ValueError, match="pass at least one"):
        draw_curve(curves)

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

from puzzlemix.cli.evaluate import draw_attacks
from puzzlemix.drawing import figure_bytes
from puzzlemix.drawing.attack_curves import AttackCurves, draw_attack_curves

ROOT = Path(__file__).parents[2]

CURVES = [
    AttackCurves("puzzle (adv)", {8.0: 0.6, 0.0: 0.2, 4.0: 0.4}, (0.3, 0.5, 0.6)),
    AttackCurves("vanilla $x$", {0.0: 0.25, 8.0: 0.9}, (0.3, 0.8, 1.0)),
]


def test_every_point_is_drawn_in_order():
    left, right = draw_attack_curves(CURVES, pgd_title="PGD, 4/255").axes
    first, second = left.get_lines()
    assert first.get_xdata().tolist() == [0, 4, 8]
    assert first.get_ydata().tolist() == [20, 40, 60]
    assert second.get_ydata().tolist() == [25, 90]
    assert right.get_lines()[1].get_ydata().tolist() == [30, 80, 100]
    assert list(right.get_lines()[1].get_xdata()) == [0, 1, 2]
    assert right.get_title(loc="left") == "PGD, 4/255"
    assert [text.get_text() for text in left.get_legend().get_texts()] == ["puzzle (adv)", "vanilla $x$"]


def test_the_same_curves_give_the_same_picture():
    assert figure_bytes(draw_attack_curves(CURVES)) == figure_bytes(draw_attack_curves(CURVES))


@pytest.mark.parametrize("curves", [[], [AttackCurves("a", {}, (0.1,))]])
def test_nothing_to_draw_is_an_error(curves):
    with pytest.raises(ValueError, match="pass at least one"):
        draw_attack_curves(curves)


def test_the_picture_in_the_docs_is_what_the_record_says(tmp_path):
    answers = json.loads((ROOT / "records" / "attacks.json").read_text())["evaluations"]
    draw_attacks(answers, tmp_path / "drawn.png")
    drawn, kept = imread(tmp_path / "drawn.png"), imread(ROOT / "docs" / "images" / "attacks.png")
    assert drawn.shape == kept.shape
    # fonts may differ by a hair between versions
    assert np.abs(drawn - kept).mean() < 0.003, "docs/images/attacks.png is old: draw it anew"

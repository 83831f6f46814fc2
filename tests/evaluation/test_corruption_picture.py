import runpy
from pathlib import Path

import numpy as np
from matplotlib.image import imread

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "corruptions.png"


def test_the_picture_in_the_docs_is_what_the_example_draws(tmp_path):
    runpy.run_path(str(ROOT / "examples" / "draw_corruptions.py"))["main"](tmp_path / "drawn.png")
    drawn, kept = imread(tmp_path / "drawn.png"), imread(PICTURE)
    assert drawn.shape == kept.shape
    # fonts may differ by a hair between versions; another corruption would differ in whole rows
    assert np.abs(drawn - kept).mean() < 0.003, "docs/images/corruptions.png is old: run the example"
    assert PICTURE.stat().st_size < 700_000

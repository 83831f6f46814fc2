import runpy
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "images" / "mix.png"


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(ROOT / "examples" / "draw_mix.py"))


def test_the_picture_in_the_readme_is_what_the_example_draws(example, tmp_path):
    first, second = tmp_path / "first.png", tmp_path / "second.png"
    example["main"](first)
    example["main"](second)
    assert first.read_bytes() == second.read_bytes()
    drawn, kept = imread(first), imread(PICTURE)
    assert drawn.shape == kept.shape
    # fonts may differ by a hair between versions; another mix would differ in whole panels
    assert np.abs(drawn - kept).mean() < 0.003, "docs/images/mix.png is old: run python examples/draw_mix.py"


def test_the_picture_in_the_readme_is_small_and_tells_of_moves(example):
    assert PICTURE.stat().st_size < 400_000
    for pair in example["PAIRS"]:
        mixed = example["mix_pair"](*pair)
        assert len(mixed.first.moves) > 0
        assert len(mixed.second.moves) > 0

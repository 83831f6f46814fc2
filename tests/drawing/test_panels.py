import io

import numpy as np
import pytest
from matplotlib.image import imread

from puzzlemix.drawing import CATALOGUE, draw_panel, figure_bytes, palette
from puzzlemix.drawing.arrows import tile_boxes, tile_centres
from puzzlemix.drawing.figures import DPI


def axes_of(example, panel, **options):
    (axes,) = draw_panel(example, panel, **options).axes
    return axes


def collection(axes, name):
    (found,) = (c for c in axes.collections if c.get_gid() == name)
    return found


def rendered(figure):
    return imread(io.BytesIO(figure_bytes(figure)))[..., :3]


@pytest.mark.parametrize("case", [{}, {"grid": 1}, {"size": (32, 32), "grid": 32}, {"size": (13, 22), "grid": (4, 8)}])
def test_the_mask_is_drawn_as_it_is(batch_of, case):
    batch = batch_of(**case)
    axes = axes_of(batch.example(), "mask")
    layout = batch.mixed.layout
    np.testing.assert_array_equal(axes.images[0].get_array(), batch.mixed.mask[0].numpy())
    assert axes.images[0].get_clim() == (0, 1)
    assert (axes.get_xlim(), axes.get_ylim()) == ((0, layout.width), (layout.height, 0))
    lines = collection(axes, "grid").get_segments()
    assert len(lines) == -(-layout.height // layout.block[0]) - 1 + -(-layout.width // layout.block[1]) - 1


def test_the_mask_is_blue_where_the_first_is_and_orange_where_the_second_is(batch_of):
    example = batch_of(labels=2).example()
    picture = rendered(draw_panel(example, "mask", width=120 / DPI))
    for weight, colour in ((1, palette.FIRST), (0, palette.SECOND)):
        expected = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        for row, col in np.argwhere(example.first.weight == weight):
            np.testing.assert_allclose(picture[30 * row + 15, 30 * col + 15], expected, atol=1.5 / 255)


@pytest.mark.parametrize("case", [{}, {"channels": 1}, {"size": (12, 30), "grid": (2, 5)}, {"transport": None}])
def test_each_pixel_of_the_mix_is_shown(batch_of, case):
    example = batch_of(**case).example()
    height, width = example.mixed.shape[:2]
    picture = rendered(draw_panel(example, "mixed", width=3 * width / DPI))
    expected = example.mixed.repeat(3, 0).repeat(3, 1)
    assert picture.shape == (3 * height, 3 * width, 3)
    np.testing.assert_allclose(picture, expected, atol=1.01 / 255)


@pytest.mark.parametrize("name", ["first", "second"])
@pytest.mark.parametrize(
    "case", [{"grid": 8}, {"size": (32, 32), "grid": 32, "transport": "exact"}, {"transport": None}, {"grid": 1},
             {"size": (13, 22), "grid": (4, 8)}, {"transport_block": 2, "labels": 5}],
)  # fmt: skip
def test_one_arrow_for_each_move(batch_of, case, name):
    example = batch_of(**case).example()
    side = getattr(example, name)
    outlines = np.array(
        [path.vertices[:-1] for path in collection(axes_of(example, f"{name}_moves"), "moves").get_paths()]
    )
    assert len(outlines) == len(side.moves)
    tips = outlines[:, outlines.shape[1] // 2] if len(outlines) else np.zeros((0, 2))
    assert sorted(map(tuple, tips)) == sorted(map(tuple, tile_centres(side.moves[:, 1], example.layout)))


def test_the_moves_panel_shows_the_moved_image_where_it_is_visible_and_a_ghost_elsewhere(batch_of):
    example = batch_of(labels=2).example()
    shown = axes_of(example, "first_moves").images[0].get_array()
    seen = example.first.weight.repeat(6, 0).repeat(6, 1) == 1
    assert seen.any()
    assert not seen.all()
    np.testing.assert_array_equal(shown[seen], example.first.moved[seen])
    assert shown[~seen].min() > 0.75


def test_the_overlay_is_strongest_where_saliency_is(batch_of):
    batch = batch_of(size=(60, 60))
    batch.saliency[0] = 0.001
    batch.saliency[0, 30:40, 12:22] = 1
    example = batch.example()
    change = np.abs(axes_of(example, "first").images[0].get_array() - example.first.image).mean(-1)
    assert change[32:38, 14:20].mean() > 10 * change[:20, 40:].mean()


def test_pooled_saliency_is_drawn_as_it_is(batch_of):
    example = batch_of(size=(13, 22), grid=(4, 8)).example()
    np.testing.assert_array_equal(axes_of(example, "second_saliency").images[0].get_array(), example.second.shares)


@pytest.mark.parametrize("panel", CATALOGUE)
@pytest.mark.parametrize(
    "case", [{}, {"size": (1, 40), "grid": (1, 8)}, {"size": (60, 2), "grid": (5, 1)}, {"index": (0, 1, 2)},
             {"size": (50,), "grid": 6}, {"size": (50,), "grid": 1}, {"size": (50,), "grid": 6, "transport": None},
             {"size": (32,), "grid": 32, "channels": 12}],
)  # fmt: skip
def test_every_panel_can_be_drawn(batch_of, case, panel):
    picture = rendered(draw_panel(batch_of(**case).example(), panel, width=0.6))
    assert picture.shape[1] == 120


def test_a_signal_s_lines_are_the_signal(batch_of):
    batch = batch_of(size=(50,), grid=6, channels=2)
    axes = axes_of(batch.example(1), "mixed")
    np.testing.assert_allclose([line.get_ydata() for line in axes.lines], batch.mixed.images[1].numpy(), atol=1e-6)
    np.testing.assert_array_equal(axes.images[0].get_array(), batch.mixed.mask[1].numpy())


def test_a_signal_s_bands_lead_from_tile_to_tile(batch_of):
    example = batch_of(size=(64,), grid=16, channels=1, xi=0).example()
    bands = [path.vertices for path in collection(axes_of(example, "second_moves"), "moves").get_paths()]
    assert len(bands) == len(example.second.moves) > 0
    for band, (origin, landed) in zip(bands, example.second.moves, strict=True):
        for level, tile in ((1, origin), (0, landed)):
            edges = band[band[:, 1] == level, 0]
            left, _, right, _ = tile_boxes(np.array(tile), example.layout)
            assert (edges.min(), edges.max()) == (left, right)


def test_a_constant_and_a_broken_signal_are_drawn(batch_of):
    batch = batch_of(size=(50,), grid=5)
    batch.images[0] = 2
    batch.images[1] = float("nan")
    for panel in ("first", "second"):
        assert rendered(draw_panel(batch.example(), panel)).std() > 0

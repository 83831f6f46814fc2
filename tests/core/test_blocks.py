import pytest
import torch

from puzzlemix.core import blocks
from puzzlemix.core.blocks import layout_for


@pytest.mark.parametrize(
    ("height", "width", "rows", "cols", "block", "padding"),
    [(32, 32, 4, 4, (8, 8), (0, 0)), (33, 20, 32, 3, (2, 7), (31, 1)), (1, 100, 1, 8, (1, 13), (0, 4))],
)
def test_the_grid_is_padded_to_whole_blocks(height, width, rows, cols, block, padding):
    layout = layout_for(height, width, rows, cols)
    assert layout.block == layout.tile == block
    assert layout.padding == padding


def test_tiles_divide_the_block_and_pass_no_limit():
    layout = layout_for(224, 96, 16, 16, transport_block=4)
    assert layout.block == (14, 6)
    assert layout.tile == (2, 3)
    assert layout.tile_grid == (112, 32)


def test_tiles_are_no_larger_than_a_cell():
    assert layout_for(32, 32, 16, 16, transport_block=4).tile == (2, 2)


@pytest.mark.parametrize(("number", "limit", "divisor"), [(14, 4, 2), (8, 4, 4), (7, 4, 1), (2, 4, 2), (13, 13, 13)])
def test_largest_divisor(number, limit, divisor):
    assert blocks.largest_divisor(number, limit) == divisor


def test_padding_repeats_the_last_row_and_column():
    layout = layout_for(5, 7, 2, 2)
    images = torch.rand(2, 3, 5, 7)
    padded = blocks.pad(images, layout)
    assert padded.shape == (2, 3, 6, 8)
    assert torch.equal(padded[:, :, 5, :7], images[:, :, 4])
    assert torch.equal(padded[:, :, :5, 7], images[..., 6])


def test_cells_are_sums_of_tiles_and_tiles_repeat_cells():
    layout = layout_for(16, 24, 2, 2, transport_block=4)
    tiles = torch.rand(3, *layout.tile_grid)
    cells = blocks.pool_to_cells(tiles, layout)
    assert torch.allclose(cells[:, 1, 0], tiles[:, 2:, :3].sum((1, 2)))
    repeated = blocks.repeat_to_tiles(cells, layout)
    assert torch.equal(repeated[:, 3, 2], cells[:, 1, 0])
    assert repeated.shape == tiles.shape


def test_visible_pixels_count_the_image_without_its_padding():
    layout = layout_for(5, 7, 2, 2)
    pixels = blocks.visible_pixels(layout, layout.block, torch.device("cpu"))
    assert pixels.tolist() == [[12, 9], [8, 6]]
    hidden = blocks.visible_pixels(layout_for(33, 32, 32, 32), (2, 1), torch.device("cpu"))
    assert (hidden[17:] == 0).all()

"""How an image is cut: cells of the mask, the tiles that move, and the padding that makes both fit.

Shape suffixes: B batch, C channels, H height, W width, R rows and K columns of a grid, N = R * K.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


class Layout(NamedTuple):
    """An image of `height` x `width`, padded to `rows` x `cols` cells of `block` pixels, moved in tiles of `tile`."""

    height: int
    width: int
    rows: int
    cols: int
    block: tuple[int, int]
    tile: tuple[int, int]

    @property
    def cells(self) -> int:
        """How many cells the mask has."""
        return self.rows * self.cols

    @property
    def padding(self) -> tuple[int, int]:
        """Rows and columns of pixels added below and to the right."""
        return self.rows * self.block[0] - self.height, self.cols * self.block[1] - self.width

    @property
    def tiles_per_cell(self) -> tuple[int, int]:
        """How many tiles a cell is high and wide."""
        return self.block[0] // self.tile[0], self.block[1] // self.tile[1]

    @property
    def tile_grid(self) -> tuple[int, int]:
        """How many tiles the padded image is high and wide."""
        down, across = self.tiles_per_cell
        return self.rows * down, self.cols * across

    @property
    def numbers(self) -> list[int]:
        """All of it in one row, as operators take it; `layout_of` reads it."""
        return [*self[:4], *self.block, *self.tile]


def layout_of(numbers: list[int]) -> Layout:
    """The layout that a row of numbers describes."""
    height, width, rows, cols, *sides = numbers
    return Layout(height, width, rows, cols, (sides[0], sides[1]), (sides[2], sides[3]))


def layout_for(height: int, width: int, rows: int, cols: int, transport_block: int | None = None) -> Layout:
    """Cut an image into `rows` x `cols` cells, and those into tiles of at most `transport_block` pixels, if given."""
    block = -(-height // rows), -(-width // cols)
    limit = transport_block or max(block)
    tile = largest_divisor(block[0], limit), largest_divisor(block[1], limit)
    return Layout(height, width, rows, cols, block, tile)


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor of `number` that is at most `limit`."""
    return next(divisor for divisor in range(min(number, limit), 0, -1) if number % divisor == 0)


def pad(images_BCHW: Tensor, layout: Layout) -> Tensor:
    """Continue the last row and column until the grid fits."""
    below, right = layout.padding
    if below == right == 0:
        return images_BCHW
    return F.pad(images_BCHW, (0, right, 0, below), mode="replicate")


def pool(images_BCHW: Tensor, size: tuple[int, int]) -> Tensor:
    """Average over blocks of `size` pixels: (B,C,H,W) -> (B,C,H/h,W/w)."""
    return images_BCHW if size == (1, 1) else F.avg_pool2d(images_BCHW, size)


def pool_to_cells(tiles_BRK: Tensor, layout: Layout) -> Tensor:
    """Sum a map over the tiles of each cell."""
    down, across = layout.tiles_per_cell
    return pool(tiles_BRK[:, None], (down, across))[:, 0] * (down * across)


def repeat_to_tiles(cells_BRK: Tensor, layout: Layout) -> Tensor:
    """Give every tile the value of its cell."""
    for dim, times in enumerate(layout.tiles_per_cell, start=1):
        if times > 1:
            cells_BRK = cells_BRK.repeat_interleave(times, dim)
    return cells_BRK


def visible_pixels(layout: Layout, size: tuple[int, int], device: torch.device) -> Tensor:
    """How many pixels of the unpadded image each block of `size` holds: (R,K) int64."""
    rows, cols = (
        (extent - torch.arange(0, extent + padding, side, device=device)).clamp(0, side)
        for side, extent, padding in zip(size, (layout.height, layout.width), layout.padding, strict=True)
    )
    return rows[:, None] * cols

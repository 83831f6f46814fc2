"""From labels to what they show: mask, ratio and the integers of both images' transport problems; one program each."""

import triton
import triton.language as tl


@triton.jit
def _shown_pixels(number, side, extent):
    """How many of a block's `side` lines lie within an image of `extent` lines."""
    return tl.minimum(tl.maximum(extent - number * side, 0), side)


@triton.jit
def _weigh(labels, mask, rows, cols, cut, top, LANES: tl.constexpr):
    """Write the mask; the second image's share of the visible pixels, times top."""
    height, width, high, wide = cut
    hidden = tl.zeros([LANES], tl.int64)
    for start in range(0, rows * cols, LANES):
        cell = start + tl.arange(0, LANES)
        there = cell < rows * cols
        label = tl.load(labels + cell, mask=there, other=0)
        pixels = _shown_pixels(cell // cols, high, height) * _shown_pixels(cell % cols, wide, width)
        hidden += label.to(tl.int64) * pixels
        share = tl.div_rn(label.to(tl.float32), tl.zeros([LANES], tl.float32) + top)
        tl.store(mask + cell, 1 - share, mask=there)
    return tl.sum(hidden, 0)


_INTEGERS = ["count", "height", "width", "rows", "cols", "high", "wide", "down_tiles", "aside_tiles", "top"]


@triton.jit(do_not_specialize=_INTEGERS)
def show_image(
    labels, shares, index, mask, ratio, gain, level,
    count, height, width, rows, cols, high, wide, down_tiles, aside_tiles, top, unit,
    GRADED: tl.constexpr, LANES: tl.constexpr,
):  # fmt: skip
    """Read `labels` (B,R,K) and `shares` (B,N) -> `mask` (B,R,K), `ratio` (B,), `gain` and `level` (2B,N).

    A tile's level is the weight that the mask gives to its image there, or unless GRADED whether that is above 0.
    """
    image = tl.program_id(0).to(tl.int64)
    cells = rows * cols
    labels += image * cells
    hidden = _weigh(labels, mask + image * cells, rows, cols, (height, width, high, wide), top, LANES)
    pixels = tl.zeros([1], tl.float32) + top * height * width
    tl.store(ratio + image + tl.arange(0, 1), 1 - tl.div_rn(tl.zeros([1], tl.float32) + hidden.to(tl.float32), pixels))

    tiles = cells * down_tiles * aside_tiles
    width_in_tiles = cols * aside_tiles
    partner = tl.load(index + image)
    for start in range(0, tiles, LANES):
        tile = start + tl.arange(0, LANES)
        there = tile < tiles
        row = tile // width_in_tiles
        col = tile % width_in_tiles
        second = tl.load(labels + (row // down_tiles) * cols + col // aside_tiles, mask=there, other=0)
        shown = (row * (high // down_tiles) < height) & (col * (wide // aside_tiles) < width)
        for which in tl.static_range(2):
            weight = tl.where(shown, second if which == 1 else top - second, 0)
            visible = weight if GRADED else (weight > 0).to(tl.int32)
            share = tl.load(shares + (partner if which == 1 else image) * tiles + tile, mask=there, other=0)
            place = (which * count + image) * tiles + tile
            tl.store(gain + place, (share * unit).to(tl.int64), mask=there)
            tl.store(level + place, visible.to(tl.int64), mask=there)

"""Saliency shares on the GPU: one program per image pools its map over the tiles and divides by the sum.

TILES tiles are looked at side by side, PIXELS pixels of each; where there are more, in turns.
"""

import triton
import triton.language as tl

INFINITE = tl.constexpr(float("inf"))


@triton.jit
def _tile_means(saliency, tile, tiles, cut, TILES: tl.constexpr, PIXELS: tl.constexpr):
    """The average of every tile, 0 beyond the last one, and its smallest value; beyond the image its edge goes on."""
    height, width, cols, high, wide = cut
    top = (tile // cols)[:, None] * high
    left = (tile % cols)[:, None] * wide
    total = tl.zeros([TILES, PIXELS], tl.float32)
    least = tl.zeros([TILES, PIXELS], tl.float32)
    for start in range(0, high * wide, PIXELS):
        pixel = start + tl.arange(0, PIXELS)[None, :]
        row = tl.minimum(top + pixel // wide, height - 1)
        col = tl.minimum(left + pixel % wide, width - 1)
        inside = (tile < tiles)[:, None] & (pixel < high * wide)
        value = tl.load(saliency + row * width + col, mask=inside, other=0)
        total += value
        least = tl.minimum(least, value)
    return tl.sum(total, 1) / (high * wide), tl.min(least, 1)


@triton.jit
def _shown(tile, tiles, cut):
    """Which tiles hold more than padding."""
    height, width, cols, high, wide = cut
    return (tile < tiles) & ((tile // cols) * high < height) & ((tile % cols) * wide < width)


@triton.jit(do_not_specialize=["height", "width", "rows", "cols", "high", "wide"])
def share_image(saliency, shares, height, width, rows, cols, high, wide, TILES: tl.constexpr, PIXELS: tl.constexpr):
    """Share out one image's saliency: maps (B,height,width) -> `shares` (B,rows,cols), tiles of high x wide pixels."""
    image = tl.program_id(0).to(tl.int64)
    tiles = rows * cols
    saliency += image * height * width
    shares += image * tiles
    cut = (height, width, cols, high, wide)
    total = tl.zeros([TILES], tl.float32)
    least = tl.zeros([TILES], tl.float32)
    seen = tl.zeros([TILES], tl.float32)
    count = tl.zeros([TILES], tl.int32)
    for start in range(0, tiles, TILES):
        tile = start + tl.arange(0, TILES)
        mean, low = _tile_means(saliency, tile, tiles, cut, TILES, PIXELS)
        shown = _shown(tile, tiles, cut)
        total += mean
        least = tl.minimum(least, low)
        seen += tl.where(shown, mean, 0)
        count += shown.to(tl.int32)
        tl.store(shares + tile, mean, mask=tile < tiles)
    whole = tl.sum(total, 0)
    usable = (tl.min(least, 0) >= 0) & (whole > 0) & (whole < INFINITE)
    divisor = tl.where(usable, tl.sum(seen, 0), tl.sum(count, 0).to(tl.float32))
    tl.debug_barrier()
    for start in range(0, tiles, TILES):
        tile = start + tl.arange(0, TILES)
        mean = tl.load(shares + tile, mask=tile < tiles, other=0)
        share = tl.where(usable, mean, 1.0) / divisor
        tl.store(shares + tile, tl.where(_shown(tile, tiles, cut), share, 0), mask=tile < tiles)

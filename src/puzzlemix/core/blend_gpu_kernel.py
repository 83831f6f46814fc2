"""The blend on the GPU: every output pixel is written once, and of both images only what shows is read.

One program writes a patch of one image, in all its planes. The places it reads from are found once and serve every
plane.
"""

import triton
import triton.language as tl


@triton.jit
def _from(source, tile, shown, y, x, size, tiles):
    """Where in a plane the pixels come from: the same place in the tile that moved here, inside the image."""
    height, width, channels = size
    cols, high, wide = tiles
    moved = tl.load(source + tile, mask=shown, other=0).to(tl.int32)
    row = (moved // cols) * high + y % high
    col = (moved % cols) * wide + x % wide
    row = tl.minimum(row, height - 1)  # below and to the right the last row and column go on
    col = tl.where(col < width, col, width - channels + x % channels)
    return row * width + col


@triton.jit
def _to_float(pixels, EXACT: tl.constexpr):
    return pixels.to(tl.float64) if EXACT else pixels.to(tl.float32)


_INTEGERS = ["planes", "height", "width", "channels", "rows", "cols", "high", "wide"]


@triton.jit(do_not_specialize=_INTEGERS)
def blend_patch(
    first, second, mixed, index, weight, first_source, second_source,
    planes, height, width, channels, rows, cols, high, wide,
    DOWN: tl.constexpr, ACROSS: tl.constexpr, EXACT: tl.constexpr,
):  # fmt: skip
    """Mix a patch: images (B,planes,height,width), weight and sources (B,rows*cols), tiles of high x wide numbers.

    channels: how many neighbouring numbers make a pixel, 1 unless they lie innermost.
    """
    patches_across = tl.cdiv(width, ACROSS)
    patches = patches_across * tl.cdiv(height, DOWN)
    image = tl.program_id(0) // patches
    patch = tl.program_id(0) % patches
    y = (patch // patches_across) * DOWN + tl.arange(0, DOWN)[:, None]
    x = (patch % patches_across) * ACROSS + tl.arange(0, ACROSS)[None, :]
    inside = (y < height) & (x < width)
    tile = (y // high) * cols + x // wide
    image = image.to(tl.int64)
    tiles = image * rows * cols
    share = tl.load(weight + tiles + tile, mask=inside, other=0)
    shows_first = inside & (share > 0)  # a hidden image is not looked at, so it cannot leak a NaN
    shows_second = inside & (share < 1)
    size, cut = (height, width, channels), (cols, high, wide)
    plane = height * width
    own = image * planes * plane
    partner = tl.load(index + image) * planes * plane
    from_first = _from(first_source + tiles, tile, shows_first, y, x, size, cut)
    from_second = _from(second_source + tiles, tile, shows_second, y, x, size, cut)
    share = _to_float(share, EXACT)
    for _ in range(planes):
        one = tl.load(first + own + from_first, mask=shows_first, other=0)
        other = tl.load(second + partner + from_second, mask=shows_second, other=0)
        shown = share * _to_float(one, EXACT) + (1 - share) * _to_float(other, EXACT)
        tl.store(mixed + own + y * width + x, shown.to(mixed.dtype.element_ty), mask=inside)
        own += plane
        partner += plane

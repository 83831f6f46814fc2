"""From images and saliency shares to the integers of the mask problem: one program per pair of images.

The terms, and the order in which they are added up, are those of `energy.py`. CELLS is the number of cells, made up to
a power of two: each has a lane of its own, and for what is averaged over pixels SAMPLES lanes.
"""

import triton
import triton.language as tl

INFINITE = tl.constexpr(float("inf"))
TINY = tl.constexpr(1e-30)  # what the steepest energy is taken to be at least


@triton.jit
def _cell_sums(shares, row, col, there, cols, down, aside, CELLS: tl.constexpr, SAMPLES: tl.constexpr):
    """The shares of every cell's down x aside tiles, added up."""
    total = tl.zeros([CELLS, SAMPLES], tl.float32)
    for start in range(0, down * aside, SAMPLES):
        tile = start + tl.arange(0, SAMPLES)[None, :]
        y = row[:, None] * down + tile // aside
        x = col[:, None] * aside + tile % aside
        total += tl.load(shares + y * (cols * aside) + x, mask=there[:, None] & (tile < down * aside), other=0)
    return tl.sum(total, 1)


@triton.jit
def _pooled(first, second, plane, y, x, inside, size, CELLS: tl.constexpr, SAMPLES: tl.constexpr):
    """Both images' averages of the blocks of pixels that begin at (y, x); beyond the image its edge goes on."""
    height, width, step_down, step_aside, high, wide = size
    first_total = tl.zeros([CELLS, SAMPLES], tl.float32)
    second_total = tl.zeros([CELLS, SAMPLES], tl.float32)
    for down in range(high):
        for aside in range(wide):
            row = tl.minimum(y + down, height - 1)
            col = tl.minimum(x + aside, width - 1)
            pixel = plane + row * step_down + col * step_aside
            first_total += tl.load(first + pixel, mask=inside, other=0).to(tl.float32)
            second_total += tl.load(second + pixel, mask=inside, other=0).to(tl.float32)
    count = high * wide
    kind = first.dtype.element_ty  # as precise as the images are
    return (first_total / count).to(kind).to(tl.float32), (second_total / count).to(kind).to(tl.float32)


@triton.jit
def _mean(apart, count):
    """The average of all samples; a broken pixel must not spread to the whole mask."""
    mean = tl.sum(apart, 1) / count
    return tl.where(mean < INFINITE, mean, 0)


@triton.jit
def _seam(
    first, second, std, row, col, border, channels, step, block, size,
    DOWN: tl.constexpr, SCALED: tl.constexpr, CELLS: tl.constexpr, SAMPLES: tl.constexpr,
):  # fmt: skip
    """phi(0,0), phi(0,1), phi(1,0), phi(1,1) of every cell and the one below it (DOWN) or to its right; 0 without."""
    high, wide = size[4], size[5]
    places = block[1] // wide if DOWN else block[0] // high
    both_first = tl.zeros([CELLS, SAMPLES], tl.float32)
    first_second = tl.zeros([CELLS, SAMPLES], tl.float32)
    second_first = tl.zeros([CELLS, SAMPLES], tl.float32)
    both_second = tl.zeros([CELLS, SAMPLES], tl.float32)
    for start in range(0, channels * places, SAMPLES):
        sample = start + tl.arange(0, SAMPLES)[None, :]
        inside = border[:, None] & (sample < channels * places)
        channel = tl.minimum(sample // places, channels - 1)
        along = sample % places
        y = row[:, None] * block[0] + (block[0] if DOWN else along * high)
        x = col[:, None] * block[1] + (along * wide if DOWN else block[1])
        near_y, near_x = y - (high if DOWN else 0), x - (0 if DOWN else wide)
        near_first, near_second = _pooled(first, second, channel * step, near_y, near_x, inside, size, CELLS, SAMPLES)
        far_first, far_second = _pooled(first, second, channel * step, y, x, inside, size, CELLS, SAMPLES)
        weight = tl.load(std + channel) if SCALED else 1.0
        both_first += tl.abs(near_first - far_first) * weight
        first_second += tl.abs(near_first - far_second) * weight
        second_first += tl.abs(near_second - far_first) * weight
        both_second += tl.abs(near_second - far_second) * weight
    count = channels * places
    return _mean(both_first, count), _mean(first_second, count), _mean(second_first, count), _mean(both_second, count)


@triton.jit
def _rise(label, lam, top, eta):
    """The mixing prior's step from a label to the next; infinite towards the only label that is allowed, if one is."""
    more = tl.log(1.0 * (top - label) / (label + 1)) + tl.log(1 - lam) - tl.log(lam)
    return tl.where(lam >= 1, INFINITE, tl.where(lam <= 0, -INFINITE, -eta * more))


@triton.jit
def _rounded(values):
    """To the nearest integer, and from halfway to the even one, as torch does."""
    low = tl.floor(values)
    whole = low.to(tl.int32)
    up = (values - low > 0.5) | ((values - low == 0.5) & ((whole & 1) == 1))
    return whole + up.to(tl.int32)


@triton.jit
def _add_seam(keep_first, keep_second, seam, before, behind, pull):
    """Charge the near and the far cell of every border for showing only one image; its curvature.

    before: the cell on whose far side this one lies, if it lies `behind` one.
    """
    both_first, first_second, second_first, both_second = seam
    keep_first += pull * ((both_first + first_second) / 2)
    keep_second += pull * ((second_first + both_second) / 2)
    far_first = tl.gather((both_first + second_first) / 2, before, 0)
    far_second = tl.gather((first_second + both_second) / 2, before, 0)
    keep_first += tl.where(behind, pull * far_first, 0)
    keep_second += tl.where(behind, pull * far_second, 0)
    return keep_first, keep_second, (first_second + second_first - both_first - both_second) / 2


_INTEGERS = [
    "count", "channels", "height", "width", "rows", "cols", "block_high", "block_wide", "down_tiles", "aside_tiles",
    "high", "wide", "step_image", "step_plane", "step_down", "step_aside", "step_lam", "top", "limit", "most",
]  # fmt: skip


@triton.jit(do_not_specialize=_INTEGERS)
def pose_pair(
    first, second, first_shares, second_shares, index, lam, std, steps, down, across, fine,
    count, channels, height, width, rows, cols, block_high, block_wide, down_tiles, aside_tiles, high, wide,
    step_image: tl.int64, step_plane, step_down, step_aside, step_lam, top, limit, most,
    beta_down, beta_across, gamma, eta,
    CURVED: tl.constexpr, SCALED: tl.constexpr, MOVED: tl.constexpr, CELLS: tl.constexpr, SAMPLES: tl.constexpr,
):  # fmt: skip
    """Pose one image's problem: `steps` (B,R,K,top), `down` (B,R-1,K), `across` (B,R,K-1).

    The second images and shares are those of `index`, if MOVED those of the same number. `fine` (B,) says whether index
    and lam were in range. SCALED: seams are multiplied by `std` (C,). CURVED: edges bear the seams' curvature.
    """
    image = tl.program_id(0).to(tl.int64)
    partner = tl.load(index + image)
    share_of_first = tl.load(lam + image * step_lam)
    known = (partner >= 0) & (partner < count)
    tl.store(fine + image, (known & (share_of_first >= 0) & (share_of_first <= 1)).to(tl.int32))
    partner = tl.where(known, partner, image)
    share_of_first = tl.where(partner == image, 1.0, share_of_first)  # paired with itself it stays as it is
    other = image if MOVED else partner

    cell = tl.arange(0, CELLS)
    row = cell // cols
    col = cell % cols
    there = cell < rows * cols
    tiles = rows * cols * down_tiles * aside_tiles
    keep_second = _cell_sums(
        first_shares + image * tiles, row, col, there, cols, down_tiles, aside_tiles, CELLS, SAMPLES
    )
    keep_first = _cell_sums(
        second_shares + other * tiles, row, col, there, cols, down_tiles, aside_tiles, CELLS, SAMPLES
    )
    one = first + image * step_image
    two = second + other * step_image
    block = (block_high, block_wide)
    size = (height, width, step_down, step_aside, high, wide)
    has_below = there & (row < rows - 1)
    has_right = there & (col < cols - 1)
    seam = _seam(
        one, two, std, row, col, has_below, channels, step_plane, block, size, True, SCALED, CELLS, SAMPLES
    )  # fmt: skip
    above = tl.maximum(cell - cols, 0)
    keep_first, keep_second, bend_down = _add_seam(
        keep_first, keep_second, seam, above, there & (row > 0), beta_down * gamma
    )
    seam = _seam(
        one, two, std, row, col, has_right, channels, step_plane, block, size, False, SCALED, CELLS, SAMPLES
    )  # fmt: skip
    left = tl.maximum(cell - 1, 0)
    keep_first, keep_second, bend_across = _add_seam(
        keep_first, keep_second, seam, left, there & (col > 0), beta_across * gamma
    )
    weight_down = beta_down * (tl.maximum(1 + gamma * bend_down, 0) if CURVED else 1 + 0 * bend_down)
    weight_across = beta_across * (tl.maximum(1 + gamma * bend_across, 0) if CURVED else 1 + 0 * bend_across)
    weight_down = tl.where(has_below, weight_down, 0)
    weight_across = tl.where(has_right, weight_across, 0)

    slope = tl.where(there, (keep_second - keep_first) / top, 0)
    steepest_rise = tl.zeros([], tl.float32)
    for label in range(top):
        rise = tl.abs(_rise(label, share_of_first, top, eta))
        steepest_rise = tl.maximum(steepest_rise, tl.where(rise < INFINITE, rise, 0))
    steepest = tl.max(tl.abs(slope), 0) + steepest_rise
    heaviest = tl.max(tl.maximum(weight_down, weight_across), 0)
    scale = limit / tl.maximum(top * top * steepest + 8 * heaviest, TINY)
    for label in range(top):
        step = (slope + _rise(label, share_of_first, top, eta)) * scale
        step = tl.minimum(tl.maximum(step, -1.0 * most), 1.0 * most)
        tl.store(steps + (image * rows * cols + cell) * top + label, _rounded(step), mask=there)
    tl.store(down + image * (rows - 1) * cols + cell, _rounded(weight_down * scale), mask=has_below)
    behind = cell - row  # in rows of one border less
    tl.store(across + image * rows * (cols - 1) + behind, _rounded(weight_across * scale), mask=has_right)

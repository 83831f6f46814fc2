"""The blend on the CPU: every output pixel is written once, from the tiles that are visible there."""

import numpy as np

from .compiled import compiled


@compiled
def _corner(tile, cols, high, wide, width):
    """Where a tile starts in its plane."""
    return (tile // cols) * high * width + (tile % cols) * wide


@compiled
def blend_images(start, stop, shape, first, second, mixed, index, weight, first_source, second_source):
    """Mix images start..stop: flat images of `shape` (planes, height, width), weight (B,R,K), sources (B,R*K).

    The innermost loops stand here, in the open, because a call for every line of a tile costs more than the line.
    Positions are unsigned: signed ones would be tested, pixel by pixel, for counting from the end.
    """
    planes, height, width = shape
    rows, cols = weight.shape[1:]
    high, wide = height // rows, width // cols
    none, whole = mixed.dtype.type(0), mixed.dtype.type(1)
    for image in range(start, stop):
        for plane in range(planes):
            here = (image * planes + plane) * height * width
            there = (index[image] * planes + plane) * height * width
            for tile in range(rows * cols):
                share = mixed.dtype.type(weight[image, tile // cols, tile % cols])
                rest = whole - share
                tile_at = here + _corner(tile, cols, high, wide, width)
                first_at = here + _corner(first_source[image, tile], cols, high, wide, width)
                second_at = there + _corner(second_source[image, tile], cols, high, wide, width)
                for line in range(0, high * width, width):
                    at, one, other = np.uint64(tile_at + line), np.uint64(first_at + line), np.uint64(second_at + line)
                    if share == whole:  # a hidden image is not looked at, so it cannot leak a NaN
                        for x in range(wide):
                            mixed[at + np.uint64(x)] = first[one + np.uint64(x)]
                    elif share == none:
                        for x in range(wide):
                            mixed[at + np.uint64(x)] = second[other + np.uint64(x)]
                    else:
                        for x in range(wide):
                            shown = share * first[one + np.uint64(x)]
                            mixed[at + np.uint64(x)] = shown + rest * second[other + np.uint64(x)]

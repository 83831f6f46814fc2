"""The blend on the CPU: every output pixel is written once, in order, from wherever its two sources lie.

Tiles are often only a few pixels wide, so a loop per tile would mostly start and stop. Instead the sources of a whole
row of tiles are written down once, and serve all its rows of pixels in all planes.
"""

import numpy as np

from .compiled import compiled


@compiled
def _write_sources(sources, source, row, high, wide):
    """Where the pixels of the first line of a row of tiles come from, as positions in the plane."""
    width = sources.size
    cols = width // wide
    for col in range(cols):
        tile = source[row * cols + col]
        start = (tile // cols) * high * width + (tile % cols) * wide
        for x in range(wide):
            sources[col * wide + x] = start + x


@compiled
def _mix_line(mixed, at, first, first_at, first_sources, second, second_at, second_sources, weights):
    """Blend one line of pixels; a hidden image is never added, so it cannot leak a NaN."""
    none, whole = mixed.dtype.type(0), mixed.dtype.type(1)
    for x in range(weights.size):
        weight = weights[x]
        one = first[first_at + first_sources[x]]
        other = second[second_at + second_sources[x]]
        both = weight * one + (whole - weight) * other
        mixed[at + x] = one if weight == whole else (other if weight == none else both)


@compiled
def blend_images(start, stop, shape, first, second, mixed, index, weight, first_source, second_source):
    """Mix images start..stop: flat images of `shape` (planes, height, width), weight (B,R,K), sources (B,R*K)."""
    planes, height, width = shape
    rows, cols = weight.shape[1:]
    high, wide = height // rows, width // cols
    first_sources, second_sources = np.empty(width, np.uint32), np.empty(width, np.uint32)
    weights = np.empty(width, mixed.dtype)
    for image in range(start, stop):
        for row in range(rows):
            _write_sources(first_sources, first_source[image], row, high, wide)
            _write_sources(second_sources, second_source[image], row, high, wide)
            for x in range(width):
                weights[x] = weight[image, row, x // wide]
            for plane in range(planes):
                here = (image * planes + plane) * height * width
                there = (index[image] * planes + plane) * height * width
                for y in range(high):
                    at = np.uint64(here + (row * high + y) * width)  # unsigned: no check for counting from the end
                    first_at, second_at = np.uint64(here + y * width), np.uint64(there + y * width)
                    _mix_line(mixed, at, first, first_at, first_sources, second, second_at, second_sources, weights)

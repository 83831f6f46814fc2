"""Shapes that lead from one place to another, as polygons: one collection draws a thousand of them at once.

Shape suffixes: N arrows, P points along a curve.
"""

import numpy as np
from numpy.typing import NDArray

from ..core.blocks import Layout

Points = NDArray[np.float64]
_BEND = 0.14  # of its length: two arrows that swap places do not cover each other
_STEPS = 12


def tile_boxes(tiles: NDArray[np.int64], layout: Layout) -> Points:
    """(N,4) left, top, right and bottom edge of the part of each tile that lies inside of the image, in pixels."""
    down, across = np.divmod(tiles, layout.tile_grid[1])
    height, width = layout.tile
    edges = np.stack([across * width, down * height, (across + 1) * width, (down + 1) * height], axis=-1)
    return np.minimum(edges, [layout.width, layout.height] * 2).astype(np.float64)


def tile_centres(tiles: NDArray[np.int64], layout: Layout) -> Points:
    """(N,2) x and y of the middle of each tile, in pixels."""
    boxes = tile_boxes(tiles, layout)
    return (boxes[..., :2] + boxes[..., 2:]) / 2


def arrow_outlines(start_N2: Points, end_N2: Points, width: float) -> Points:
    """Slightly bent arrows that swell towards their heads: (N,2P+3,2) outlines; `width` is that of the shaft."""
    length_N1 = np.linalg.norm(end_N2 - start_N2, axis=1, keepdims=True)
    head_N1 = np.minimum(3.4 * width, 0.6 * length_N1)
    share_NP = np.linspace(0, 1, _STEPS) * (1 - head_N1 / np.maximum(length_N1, 1e-9))
    points_NP2, normal_NP2 = _bent(start_N2, end_N2, share_NP)
    half_P1 = width * np.linspace(0.3, 0.6, _STEPS)[:, None]
    left, right = points_NP2 + normal_NP2 * half_P1, points_NP2 - normal_NP2 * half_P1
    barb_N12 = normal_NP2[:, -1:] * (0.5 * head_N1)[..., None]
    neck_N12 = points_NP2[:, -1:]
    head = np.concatenate([neck_N12 + barb_N12, end_N2[:, None], neck_N12 - barb_N12], axis=1)
    return np.concatenate([left, head, right[:, ::-1]], axis=1)


def _bent(start_N2: Points, end_N2: Points, share_NP: Points) -> tuple[Points, Points]:
    """Points (N,P,2) on a parabola from start to end, and the unit normals there."""
    way_N12 = (end_N2 - start_N2)[:, None]
    across_N12 = np.stack([-way_N12[..., 1], way_N12[..., 0]], axis=-1) * _BEND
    share = share_NP[..., None]
    points = start_N2[:, None] + way_N12 * share + across_N12 * (4 * share * (1 - share)) / 2
    slope = way_N12 + across_N12 * (4 - 8 * share) / 2
    normal = np.stack([-slope[..., 1], slope[..., 0]], axis=-1)
    return points, normal / np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), 1e-9)


def ribbon_outlines(start_N2: Points, end_N2: Points) -> Points:
    """Bands that flow from intervals of x at y = 1 down to intervals at y = 0: (N,2P,2) outlines."""
    fall_P = np.linspace(0, 1, 2 * _STEPS)
    share_P = fall_P * fall_P * (3 - 2 * fall_P)
    sides = [start_N2[:, side, None] + (end_N2 - start_N2)[:, side, None] * share_P for side in (0, 1)]
    height = np.broadcast_to(1 - fall_P, sides[0].shape)
    left, right = (np.stack([x, height], axis=-1) for x in sides)
    return np.concatenate([left, right[:, ::-1]], axis=1)

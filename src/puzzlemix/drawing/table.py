"""Rows of small images that carry a name each, in one block or several beside each other.

Shape suffixes: R rows, K columns, C channels, H height, W width.
"""

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from . import palette
from .example import drawable
from .figures import new_figure
from .panels import image_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN, _GAP, _NAME, _BETWEEN, _BREAK = 0.07, 0.03, 1.05, 0.2, 0.06  # inches


def draw_table(
    images_RKCHW: Tensor,
    names: Sequence[str],
    *,
    blocks: int = 1,
    breaks: Collection[int] = (),
    width: float = 9.0,
) -> "Figure":
    """Draw images in [0, 1] in rows, the row's name before each; breaks: rows before which there is a little space."""
    rows, columns = images_RKCHW.shape[:2]
    if len(names) != rows or blocks < 1:
        raise ValueError(f"{len(names)} names for {rows} rows in {blocks} blocks: pass a name for each, and a block")
    each = math.ceil(rows / blocks)
    block = (width - 2 * _MARGIN - _BETWEEN * (blocks - 1)) / blocks
    breadth = (block - _NAME) / columns - _GAP
    height = breadth * images_RKCHW.shape[3] / images_RKCHW.shape[4]
    spaces = [_BREAK * sum(first <= row and row % each > row - first for first in breaks) for row in range(rows)]
    figure = new_figure(width, each * (height + _GAP) + max(spaces, default=0) + 2 * _MARGIN)
    scale = np.tile(figure.get_size_inches(), 2)
    pictures = drawable(images_RKCHW.flatten(0, 1)).reshape(rows, columns, *images_RKCHW.shape[3:], 3)
    for row, name in enumerate(names):
        left = _MARGIN + row // each * (block + _BETWEEN)
        bottom = scale[1] - _MARGIN - (row % each + 1) * (height + _GAP) - spaces[row]
        place = (left + _NAME - 0.06) / scale[0], (bottom + height / 2) / scale[1]
        figure.text(*place, name, ha="right", va="center", **palette.text_style(palette.CAPTION_SIZE, palette.INK))
        for column in range(columns):
            box = np.array([left + _NAME + column * (breadth + _GAP), bottom, breadth, height]) / scale
            image_panel(figure.add_axes(tuple(box)), pictures[row, column])
    return figure

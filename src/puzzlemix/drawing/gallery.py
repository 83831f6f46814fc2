"""Many small images in rows, each with the shares of the classes in it.

Shape suffixes: R rows, K columns, C channels, H height, W width.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from torch import Tensor

from . import palette
from .catalogue import percent
from .example import drawable
from .figures import new_figure
from .lettering import Word, write_caption
from .panels import image_panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARGIN, _GAP, _CAPTION = 0.07, 0.09, 0.25
_COLOURS = (palette.FIRST, palette.SECOND)


class Share(NamedTuple):
    """A class that is in an image, and how much of it is the class's, 0 to 1."""

    name: str
    share: float


def draw_gallery(images_RKCHW: Tensor, shares: Sequence[Sequence[Sequence[Share]]], *, width: float = 9.0) -> "Figure":
    """Draw images in [0, 1] in rows and columns; below each stand its shares, the largest first."""
    rows, columns = images_RKCHW.shape[:2]
    if [len(row) for row in shares] != [columns] * rows:
        raise ValueError(f"shares for {[len(row) for row in shares]} images: pass {columns} in each of {rows} rows")
    breadth = (width - 2 * _MARGIN - _GAP * (columns - 1)) / columns
    height = breadth * images_RKCHW.shape[3] / images_RKCHW.shape[4]
    figure = new_figure(width, rows * (height + _CAPTION) + 2 * _MARGIN)
    scale = np.tile(figure.get_size_inches(), 2)
    pictures = drawable(images_RKCHW.flatten(0, 1)).reshape(rows, columns, *images_RKCHW.shape[3:], 3)
    for row in range(rows):
        for column in range(columns):
            left = _MARGIN + column * (breadth + _GAP)
            bottom = _MARGIN + (rows - row) * _CAPTION + (rows - row - 1) * height
            axes = figure.add_axes(tuple(np.array([left, bottom, breadth, height]) / scale))
            image_panel(axes, pictures[row, column])
            write_caption(axes, _words(shares[row][column]), breadth)
    return figure


def _words(shares: Sequence[Share]) -> list[Word]:
    if len(shares) == 1:
        return [Word(shares[0].name)]
    return [Word(f"{percent(one.share)} {one.name}", colour) for one, colour in zip(shares, _COLOURS, strict=False)]

"""The panels of a mixed image, each drawn on axes of its own in pixel coordinates."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.ndimage import gaussian_filter

from ..core.blocks import Layout
from . import palette
from .arrows import arrow_outlines, tile_boxes, tile_centres
from .example import Array, Example, Side

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OVERLAY = 0.5  # how much of the image the most salient place hides
_GHOST = 0.22  # how much of the original is left where the mask hides it
_BLUR = 0.016  # of the image's longer side
_STRONG = 0.985  # quantile of saliency that gets the full colour: a few extreme pixels would darken all the others


def image_panel(axes: "Axes", image: Array) -> None:
    """Draw an image (H,W,3) in [0, 1]."""
    height, width = image.shape[:2]
    style: dict[str, Any] = {"origin": "upper", "interpolation": _interpolation(axes, width), "aspect": "equal"}
    axes.imshow(np.clip(image, 0, 1), extent=(0, width, height, 0), **style)
    _frame(axes, width, height)


def _interpolation(axes: "Axes", width: int) -> str:
    """Sharp pixels where each becomes a whole number of the picture's, or several: smooth ones elsewhere."""
    scale = axes.bbox.width / width
    whole = scale > 0.5 and abs(scale - round(scale)) < 1e-6 * scale
    return "nearest" if whole or scale > 3 else "antialiased"


def saliency_panel(axes: "Axes", image: Array, saliency: Array) -> None:
    """Draw an image (H,W,3) with its saliency (H,W) laid over it."""
    share = displayed_saliency(saliency)
    cover = (_OVERLAY * share**0.6)[..., None]
    image_panel(axes, image * (1 - cover) + palette.heat_colours()(share)[..., :3] * cover)


def displayed_saliency(saliency: Array) -> Array:
    """A map (H,W) or (T,) for the eye: a little blurred, as gradients are speckled, and stretched to [0, 1]."""
    smooth = gaussian_filter(saliency, _BLUR * max(saliency.shape), mode="nearest")
    return np.clip(smooth / max(float(np.quantile(smooth, _STRONG)), 1e-12), 0, 1)


def pooled_panel(axes: "Axes", side: Side, layout: Layout) -> None:
    """Draw the saliency of each tile, as the mix sees it."""
    _cells(axes, side.shares, layout.tile, palette.heat_colours(), 0, float(side.shares.max()))
    _frame(axes, layout.width, layout.height)
    _grid(axes, layout, layout.tile, palette.PAPER, 0.4)


def mask_panel(axes: "Axes", example: Example) -> None:
    """Draw the weight of the first image in each cell."""
    _cells(axes, example.first.weight, example.layout.block, palette.mask_colours(), 0, 1)
    _frame(axes, example.layout.width, example.layout.height)
    _grid(axes, example.layout, example.layout.block, palette.PAPER, 0.9)


def moves_panel(axes: "Axes", side: Side, layout: Layout, colour: str) -> None:
    """Draw what a mix shows of one image, the rest as a ghost, and an arrow for each visible tile that moved."""
    image_panel(axes, _visible_part(side, layout))
    _grid(axes, layout, layout.block, palette.PAPER, 0.5)
    _outline_tiles(axes, side, layout, colour)
    _arrows(axes, side, layout, colour)


def _visible_part(side: Side, layout: Layout) -> Array:
    """The moved image where the mask shows it, over a ghost of the image as it was."""
    down, across = layout.block
    weight = side.weight.repeat(down, 0).repeat(across, 1)[: layout.height, : layout.width, None]
    ghost = 1 - _GHOST * (1 - side.image)
    return side.moved * weight + ghost * (1 - weight)


def _outline_tiles(axes: "Axes", side: Side, layout: Layout, colour: str) -> None:
    """Frame the tiles that moved, where they landed."""
    from matplotlib.collections import PolyCollection

    left, top, right, bottom = tile_boxes(side.moves[:, 1], layout).T
    corners = np.stack([left, top, right, top, right, bottom, left, bottom], axis=1).reshape(-1, 4, 2)
    frames = PolyCollection(list(corners), facecolors="none", edgecolors=colour, linewidths=_thin(layout, 1.1))
    axes.add_collection(frames, autolim=False)


def _arrows(axes: "Axes", side: Side, layout: Layout, colour: str) -> None:
    """Lead from where each moved tile was to where it is; long arrows lie below short ones."""
    from matplotlib.collections import PolyCollection
    from matplotlib.patheffects import withStroke

    places = tile_centres(side.moves, layout)
    start, end = places[:, 0], places[:, 1]
    order = np.argsort(-np.linalg.norm(end - start, axis=1), kind="stable")
    width = np.clip(0.1 * min(layout.tile), 0.006 * layout.width, 0.022 * layout.width)
    outlines = list(arrow_outlines(start[order], end[order], float(width)))
    arrows = PolyCollection(outlines, facecolors=colour, edgecolors="none", gid="moves", zorder=3)
    arrows.set_path_effects([withStroke(linewidth=_thin(layout, 1.3), foreground=palette.PAPER)])
    axes.add_collection(arrows, autolim=False)


def _thin(layout: Layout, width: float) -> float:
    """A line width for this grid: the finer, the thinner."""
    return width * float(np.clip(8 / max(layout.tile_grid), 0.3, 1))


def _cells(axes: "Axes", values, size: tuple[int, int], colours, low: float, high: float) -> None:
    """Draw one value per block of `size` pixels; blocks may reach beyond the image, into the padding."""
    rows, cols = values.shape
    extent = (0, cols * size[1], rows * size[0], 0)
    style: dict[str, Any] = {"cmap": colours, "vmin": low, "vmax": high, "origin": "upper", "interpolation": "nearest"}
    axes.imshow(values, extent=extent, aspect="equal", **style)


def _grid(axes: "Axes", layout: Layout, size: tuple[int, int], colour: str, width: float) -> None:
    """Draw the lines between blocks of `size` pixels."""
    from matplotlib.collections import LineCollection

    height, breadth = layout.height, layout.width
    across = [[(0, y), (breadth, y)] for y in range(size[0], height, size[0])]
    down = [[(x, 0), (x, height)] for x in range(size[1], breadth, size[1])]
    width *= float(np.clip(8 / max(layout.rows, layout.cols), 0.3, 1))
    axes.add_collection(LineCollection(across + down, colors=colour, linewidths=width, gid="grid"), autolim=False)


def _frame(axes: "Axes", width: float, height: float) -> None:
    """Show exactly the image, with no ticks and no frame."""
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()

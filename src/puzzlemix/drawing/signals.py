"""The panels of a mixed signal, each drawn on axes of its own; x counts the samples.

Shape suffixes: C channels, T samples, K cells or tiles along the signal.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..core.blocks import Layout
from . import palette
from .arrows import ribbon_outlines, tile_boxes
from .example import Array, Example, Side
from .panels import displayed_saliency

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CHANNELS = 8  # more lines than this over each other tell nothing


def lines_panel(axes: "Axes", signal_CT: Array, colour: str = palette.INK) -> None:
    """Draw the first channels of a signal as lines over each other."""
    channels = np.nan_to_num(signal_CT[:MOST_CHANNELS])
    places = np.arange(channels.shape[1]) + 0.5
    for number, line in enumerate(channels):
        axes.plot(
            places, line, color=colour, alpha=max(1 - 0.25 * number, 0.35), linewidth=0.9, linestyle="-", marker="None"
        )
    low, high = float(channels.min()), float(channels.max())
    room = 0.08 * (high - low) or 1.0
    _frame(axes, channels.shape[1], low - room, high + room)


def saliency_panel(axes: "Axes", side: Side, colour: str) -> None:
    """Draw a signal before a ground that glows where it is salient."""
    lines_panel(axes, side.image, colour)
    _ground(axes, displayed_saliency(side.saliency)[None], side.image.shape[-1], palette.glow_colours())


def pooled_panel(axes: "Axes", side: Side, layout: Layout, colour: str) -> None:
    """Draw the saliency of each tile, as the mix sees it, as steps."""
    edges = np.minimum(np.arange(side.shares.size + 1) * layout.tile[1], layout.width)
    axes.stairs(side.shares.ravel(), edges, fill=True, color=colour, alpha=0.75, linewidth=0)
    _frame(axes, layout.width, 0, 1.05 * float(side.shares.max()))
    _borders(axes, layout)


def mask_panel(axes: "Axes", example: Example) -> None:
    """Draw the weight of the first signal in each cell."""
    layout = example.layout
    _ground(axes, example.first.weight, _padded(layout), palette.mask_colours(), alpha=1)
    _frame(axes, layout.width, 0, 1)
    _borders(axes, layout, palette.PAPER, 0.9)


def moves_panel(axes: "Axes", side: Side, layout: Layout, colour: str) -> None:
    """Draw a band for each visible tile that moved, from where it was (above) to where it is (below)."""
    from matplotlib.collections import PolyCollection

    intervals = tile_boxes(side.moves, layout)[..., ::2]
    bands = list(ribbon_outlines(intervals[:, 0], intervals[:, 1]))
    style = {"facecolors": colour, "edgecolors": colour, "linewidths": 0.5, "alpha": 0.45}
    axes.add_collection(PolyCollection(bands, gid="moves", **style), autolim=False)
    ends = intervals[:, 1].mean(1)
    axes.scatter(ends, np.full(len(ends), 0.05), s=16, marker="v", color=colour, linewidths=0, zorder=3)
    _frame(axes, layout.width, 0, 1)
    _ground(axes, 0.28 * side.weight, _padded(layout), palette.tint(colour))
    _borders(axes, layout)
    axes.hlines((0, 1), 0, layout.width, colors=palette.MUTED, linewidths=0.8, clip_on=False)


def mixed_panel(axes: "Axes", example: Example) -> None:
    """Draw the mixed signal before a ground in the colours of the mask."""
    layout = example.layout
    lines_panel(axes, example.mixed)
    _ground(axes, example.first.weight, _padded(layout), palette.mask_colours(), alpha=0.3)
    _borders(axes, layout, palette.PAPER, 0.9)


def _padded(layout: Layout) -> int:
    """The length that the cells cover: the last may reach beyond the signal."""
    return layout.cols * layout.block[1]


def _ground(axes: "Axes", values_1K: Array, length: float, colours, alpha: float = 1.0) -> None:
    """Colour the panel from bottom to top by values in [0, 1] that share `length` samples evenly."""
    low, high = axes.get_ylim()
    limits = axes.get_xlim()
    extent = (0, length, low, high)
    axes.imshow(
        values_1K, extent=extent, cmap=colours, vmin=0, vmax=1, alpha=alpha, interpolation="nearest", aspect="auto",
        origin="lower", zorder=0,
    )  # fmt: skip
    axes.set_xlim(limits)
    axes.set_ylim(low, high)


def _borders(axes: "Axes", layout: Layout, colour: str = palette.LINE, width: float = 0.6) -> None:
    """Draw the borders between the cells of the mask."""
    width *= float(np.clip(16 / layout.cols, 0.5, 1))
    places = np.arange(layout.block[1], layout.width, layout.block[1])
    axes.vlines(places, *axes.get_ylim(), colors=colour, linewidths=width, zorder=0.5, gid="grid")


def _frame(axes: "Axes", length: float, low: float, high: float) -> None:
    """Show exactly the signal, with no ticks and no frame."""
    axes.set_xlim(0, length)
    axes.set_ylim(low, high)
    axes.set_axis_off()

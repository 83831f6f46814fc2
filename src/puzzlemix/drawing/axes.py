"""How the axes of every line chart look: few and quiet marks, whatever the user's style sheet says."""

from typing import TYPE_CHECKING

from . import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def dress(
    axes: "Axes", title: str, below: str, *, title_size: float = palette.TITLE_SIZE, size: float = palette.CAPTION_SIZE
) -> None:
    """Write the title and what runs across, and leave of all marks the numbers and pale horizontal lines."""
    axes.set_facecolor(palette.PAPER)
    axes.set_title(title, loc="left", **palette.text_style(title_size))
    axes.set_xlabel(below, **palette.text_style(palette.CAPTION_SIZE, palette.MUTED))
    axes.grid(visible=False, which="both", axis="both")
    axes.grid(visible=True, axis="y", color=palette.LINE, linewidth=0.5, linestyle="-")
    axes.set_axisbelow(True)
    axes.tick_params(which="both", length=0, labelsize=size, labelcolor=palette.MUTED, labelfontfamily="DejaVu Sans")
    for side, spine in axes.spines.items():
        spine.set(visible=side == "bottom", color=palette.LINE, linewidth=0.8)


def whole_numbers(axes: "Axes", most: int) -> None:
    """Across stand whole numbers, at most so many."""
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=most))

"""Titles and captions: words of several colours beside a panel, short enough to stay clear of the next one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.offsetbox import OffsetBox

_EM = 0.56  # width of a letter over its size, on the average
_SHORTEST = 4


class Word(NamedTuple):
    """A piece of a caption: its text, its colour, and the colour of a small square before it, if any."""

    text: str
    colour: str = palette.MUTED
    square: str | None = None


def fitted(words: Sequence[Word], breadth: float) -> list[Word]:
    """Shorten words that together are wider than `breadth` inches to equal shares of it."""
    room = int(breadth * 72 / (_EM * palette.CAPTION_SIZE))
    if sum(len(word.text) for word in words) + len(words) <= room + 2:
        return list(words)
    share = max(room // len(words) - 1, _SHORTEST)
    return [w if len(w.text) <= share else w._replace(text=w.text[: share - 1].rstrip() + "…") for w in words]


def write_title(axes: "Axes", title: str, colour: str, *, left: bool = False) -> None:
    """Write above the axes, in the middle or from the left."""
    axes.annotate(
        title, (0 if left else 0.5, 1), (0, 5), xycoords="axes fraction", textcoords="offset points",
        ha="left" if left else "center", va="baseline", annotation_clip=False,
        **palette.text_style(palette.TITLE_SIZE, colour),
    )  # fmt: skip


def write_caption(axes: "Axes", words: Sequence[Word], *, above: bool = False) -> None:
    """Write words side by side below the middle of the axes, or above their right end."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker

    if not words:
        return
    line = HPacker(children=[_pieces(word) for word in words], pad=0, sep=7, align="baseline")
    place, offset, corner = ((1, 1), (0, 4), (1, 0)) if above else ((0.5, 0), (0, -5), (0.5, 1))
    caption = AnnotationBbox(
        line, place, offset, xycoords="axes fraction", boxcoords="offset points", box_alignment=corner, frameon=False,
        pad=0, annotation_clip=False,
    )  # fmt: skip
    axes.add_artist(caption)


def _pieces(word: Word) -> "OffsetBox":
    from matplotlib.offsetbox import DrawingArea, HPacker, TextArea
    from matplotlib.patches import Rectangle

    pieces: list[OffsetBox] = [TextArea(word.text, textprops=palette.text_style(palette.CAPTION_SIZE, word.colour))]
    if word.square is not None:
        area = DrawingArea(6.5, 6.5)
        area.add_artist(Rectangle((0, 0), 6.5, 6.5, facecolor=word.square, edgecolor=palette.LINE, linewidth=0.4))
        pieces.insert(0, area)
    return HPacker(children=pieces, pad=0, sep=3, align="baseline")

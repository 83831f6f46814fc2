"""Titles and captions: words of several colours beside a panel, short enough to stay clear of the next one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import palette

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.offsetbox import OffsetBox

_EM = 0.55  # width of a letter over its size, on the average
_SMALLEST = 6.4
_SHORTEST = 4


class Word(NamedTuple):
    """A piece of a caption: its text, its colour, and the colour of a small square before it, if any."""

    text: str
    colour: str = palette.MUTED
    square: str | None = None


def fitted(words: Sequence[Word], breadth: float) -> tuple[list[Word], float]:
    """Words that are side by side at most `breadth` inches wide, and their size: set smaller, then cut short."""
    letters = sum(len(word.text) for word in words) + 1.5 * len(words)
    size = min(palette.CAPTION_SIZE, breadth * 72 / (_EM * max(letters, 1)))
    if size >= _SMALLEST:
        return list(words), size
    share = max(int(breadth * 72 / (_EM * _SMALLEST) / len(words) - 1.5), _SHORTEST)
    return [_cut(word, share) for word in words], _SMALLEST


def _cut(word: Word, length: int) -> Word:
    return word if len(word.text) <= length else word._replace(text=word.text[: length - 1].rstrip() + "…")


def write_title(axes: "Axes", title: str, colour: str, *, left: bool = False) -> None:
    """Write above the axes, in the middle or from the left."""
    axes.annotate(
        title, (0 if left else 0.5, 1), (0, 5), xycoords="axes fraction", textcoords="offset points",
        ha="left" if left else "center", va="baseline", annotation_clip=False,
        **palette.text_style(palette.TITLE_SIZE, colour),
    )  # fmt: skip


def write_caption(axes: "Axes", words: Sequence[Word], breadth: float, *, above: bool = False) -> None:
    """Write words side by side below the middle of axes `breadth` inches wide, or above their right end."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker

    if not words:
        return
    words, size = fitted(words, breadth)
    line = HPacker(children=[_pieces(word, size) for word in words], pad=0, sep=7, align="baseline")
    place, offset, corner = ((1, 1), (0, 4), (1, 0)) if above else ((0.5, 0), (0, -5), (0.5, 1))
    caption = AnnotationBbox(
        line, place, offset, xycoords="axes fraction", boxcoords="offset points", box_alignment=corner, frameon=False,
        pad=0, annotation_clip=False,
    )  # fmt: skip
    axes.add_artist(caption)


def _pieces(word: Word, size: float) -> "OffsetBox":
    from matplotlib.offsetbox import DrawingArea, HPacker, TextArea
    from matplotlib.patches import Rectangle

    pieces: list[Artist] = [TextArea(word.text, textprops=palette.text_style(size, word.colour))]
    if word.square is not None:
        area = DrawingArea(6.5, 6.5)
        area.add_artist(Rectangle((0, 0), 6.5, 6.5, facecolor=word.square, edgecolor=palette.LINE, linewidth=0.4))
        pieces.insert(0, area)
    return HPacker(children=pieces, pad=0, sep=3, align="baseline")

"""Titles and captions: words of several colours beside a panel, short enough to stay clear of the next one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import palette

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.offsetbox import OffsetBox

# in units of the size of the letters
_LETTER = 0.61  # the average letter's width, a digit's and a per cent sign's more
_SQUARE = 0.8
_AFTER_SQUARE = 0.4
_BETWEEN = 0.85
_SMALLEST = 5.5
_SHORTEST = 4


class Word(NamedTuple):
    """A piece of a caption: its text, its colour, and the colour of a small square before it, if any."""

    text: str
    colour: str = palette.MUTED
    square: str | None = None


def fitted(words: Sequence[Word], breadth: float) -> tuple[list[Word], float]:
    """Words that are side by side about `breadth` inches wide at most, and their size: set smaller, then cut short."""
    room = _room(breadth)
    beside = _BETWEEN * (len(words) - 1) + (_SQUARE + _AFTER_SQUARE) * sum(word.square is not None for word in words)
    size = room / (_LETTER * sum(len(word.text) for word in words) + beside)
    if size >= _SMALLEST:
        return list(words), min(size, palette.CAPTION_SIZE)
    share = int((room / _SMALLEST - beside) / _LETTER / len(words))
    return [_cut(word, max(share, _SHORTEST)) for word in words], _SMALLEST


def title_size(titles: Sequence[str], breadth: float) -> float:
    """The size at which each of these titles stays above its panel, `breadth` inches wide."""
    longest = max((len(title) for title in titles), default=0)
    return min(palette.TITLE_SIZE, _room(breadth) / (_LETTER * max(longest, 1)))


def _room(breadth: float) -> float:
    """How many points a text may be wide, which is a little into the gap between panels."""
    return 72 * breadth + 4


def _cut(word: Word, length: int) -> Word:
    return word if len(word.text) <= length else word._replace(text=word.text[: length - 1].rstrip() + "…")


def write_title(axes: "Axes", title: str, colour: str, size: float, *, left: bool = False) -> None:
    """Write above the axes, in the middle or from the left."""
    axes.annotate(
        title, (0 if left else 0.5, 1), (0, 5), xycoords="axes fraction", textcoords="offset points",
        ha="left" if left else "center", va="baseline", annotation_clip=False,
        **palette.text_style(size, colour),
    )  # fmt: skip


def write_caption(axes: "Axes", words: Sequence[Word], breadth: float, *, above: bool = False) -> None:
    """Write words side by side below the middle of axes `breadth` inches wide, or above their right end."""
    from matplotlib.offsetbox import AnnotationBbox, HPacker

    if not words:
        return
    words, size = fitted(words, breadth)
    line = HPacker(children=[_pieces(word, size) for word in words], pad=0, sep=_BETWEEN * size, align="baseline")
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
        side = _SQUARE * size
        area = DrawingArea(side, side)
        area.add_artist(Rectangle((0, 0), side, side, facecolor=word.square, edgecolor=palette.LINE, linewidth=0.4))
        pieces.insert(0, area)
    return HPacker(children=pieces, pad=0, sep=_AFTER_SQUARE * size, align="baseline")

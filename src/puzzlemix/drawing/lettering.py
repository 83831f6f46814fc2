"""Titles and captions: words of several colours beside a panel, short enough to stay clear of the next one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from . import palette

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.offsetbox import OffsetBox

# in units of the size of the letters
_LETTER, _THIN, _WIDE = 0.62, 0.38, 0.97
_THIN_LETTERS, _WIDE_LETTERS = frozenset(" fijlrtI.,:;'|()[]!"), frozenset("mwMW%@&…")
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
    size = room / (sum(_length(word.text) for word in words) + beside)
    if size >= _SMALLEST:
        return list(words), min(size, palette.CAPTION_SIZE)
    share = (room / _SMALLEST - beside) / len(words)
    return [word._replace(text=_cut(word.text, share)) for word in words], _SMALLEST


def title_size(titles: Sequence[str], breadth: float) -> float:
    """The size at which each of these titles stays above its panel, `breadth` inches wide."""
    return min([palette.TITLE_SIZE, *(_room(breadth) / _length(title) for title in titles if title)])


def _room(breadth: float) -> float:
    """How many points a text may be wide, which is a little into the gap between panels."""
    return 72 * breadth + 4


def _length(text: str) -> float:
    """About how wide a text is; scripts other than Latin may be wider."""
    return sum(_THIN if letter in _THIN_LETTERS else _WIDE if letter in _WIDE_LETTERS else _LETTER for letter in text)


def _cut(text: str, length: float) -> str:
    """Leave letters at the end out until the text is short enough, but not the first few."""
    kept = len(text)
    while kept > _SHORTEST and _length(text[:kept]) + (_WIDE if kept < len(text) else 0) > length:
        kept -= 1
    return text if kept == len(text) else text[:kept].rstrip() + "…"


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

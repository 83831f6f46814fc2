"""The panels by name: what each is called, how it is drawn for an image and for a signal, and what is written below."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import palette, panels, signals
from .example import Example, Side
from .lettering import Word

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Draw = Callable[["Axes", Example], None]


class Panel(NamedTuple):
    """One panel: its title and colour, how to draw it, its caption, and its height in inches for a signal."""

    title: str
    image: Draw
    signal: Draw
    caption: Callable[[Example], list[Word]]
    colour: str = palette.INK
    height: float = 0.75

    def draw(self, axes: "Axes", example: Example) -> None:
        """Draw the panel on axes of its own."""
        (self.signal if example.is_signal else self.image)(axes, example)


def percent(share: float) -> str:
    """A share in whole per cent, where only all is 100 and only nothing is 0."""
    whole = round(100 * share)
    return f"{min(max(whole, 1), 99) if 0 < share < 1 else whole} %"


def _name(side: Side, colour: str) -> list[Word]:
    return [Word(side.name, colour)] if side.name else []


def _mask_words(example: Example) -> list[Word]:
    """The squares' colours explained, for those that occur."""
    weight = example.first.weight
    kinds = (
        (weight > 0.5, "first", palette.FIRST),
        ((weight > 0) & (weight < 1), "both", palette.BLEND),
        (weight < 0.5, "second", palette.SECOND),
    )
    return [Word(text, palette.MUTED, colour) for cells, text, colour in kinds if np.any(cells)]


def _moves_words(example: Example, side: Side) -> list[Word]:
    if not example.transported:
        return [Word("no transport")]
    return [Word(f"{len(side.moves)} of {side.seen} moved")]


def _ratio_words(example: Example) -> list[Word]:
    first, second = example.first.name or "first", example.second.name or "second"
    parts = ((first, example.ratio, palette.FIRST), (second, 1 - example.ratio, palette.SECOND))
    return [Word(f"{percent(share)} {name}", colour) for name, share, colour in parts]


def _no_words(example: Example) -> list[Word]:
    return []


CATALOGUE: Mapping[str, Panel] = {
    "first": Panel(
        "First {kind}",
        lambda axes, e: panels.saliency_panel(axes, e.first.image, e.first.saliency),
        lambda axes, e: signals.saliency_panel(axes, e.first, palette.FIRST),
        lambda e: _name(e.first, palette.FIRST),
        palette.FIRST,
    ),
    "second": Panel(
        "Second {kind}",
        lambda axes, e: panels.saliency_panel(axes, e.second.image, e.second.saliency),
        lambda axes, e: signals.saliency_panel(axes, e.second, palette.SECOND),
        lambda e: _name(e.second, palette.SECOND),
        palette.SECOND,
    ),
    "first_saliency": Panel(
        "First saliency",
        lambda axes, e: panels.pooled_panel(axes, e.first, e.layout),
        lambda axes, e: signals.pooled_panel(axes, e.first, e.layout, palette.FIRST),
        _no_words,
        palette.FIRST,
        0.4,
    ),
    "second_saliency": Panel(
        "Second saliency",
        lambda axes, e: panels.pooled_panel(axes, e.second, e.layout),
        lambda axes, e: signals.pooled_panel(axes, e.second, e.layout, palette.SECOND),
        _no_words,
        palette.SECOND,
        0.4,
    ),
    "mask": Panel("Mask", panels.mask_panel, signals.mask_panel, _mask_words, height=0.22),
    "first_moves": Panel(
        "First, moved",
        lambda axes, e: panels.moves_panel(axes, e.first, e.layout, palette.FIRST),
        lambda axes, e: signals.moves_panel(axes, e.first, e.layout, palette.FIRST),
        lambda e: _moves_words(e, e.first),
        palette.FIRST,
        0.5,
    ),
    "second_moves": Panel(
        "Second, moved",
        lambda axes, e: panels.moves_panel(axes, e.second, e.layout, palette.SECOND),
        lambda axes, e: signals.moves_panel(axes, e.second, e.layout, palette.SECOND),
        lambda e: _moves_words(e, e.second),
        palette.SECOND,
        0.5,
    ),
    "mixed": Panel("Mixed", lambda axes, e: panels.image_panel(axes, e.mixed), signals.mixed_panel, _ratio_words),
}

DEFAULT = ("first", "second", "mask", "first_moves", "second_moves", "mixed")


def panel_named(name: str) -> Panel:
    """Find a panel, or say which there are."""
    if name not in CATALOGUE:
        raise ValueError(f"panel {name!r} is not known: choose among {', '.join(map(repr, CATALOGUE))}")
    return CATALOGUE[name]

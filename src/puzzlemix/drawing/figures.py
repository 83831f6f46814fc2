"""Panels put together to figures. Sizes are inches; nothing touches pyplot or any other global state."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from torch import Tensor

from ..core.mix import Mixed
from . import palette
from .catalogue import DEFAULT, Panel, panel_named
from .example import Example, read_example
from .lettering import Word, title_size, write_caption, write_title

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 200  # sharp on screens that show two pixels for one
_MARGIN = 0.07
_GAP = 0.09
_TITLE = 0.25
_CAPTION = 0.25
_NARROWEST, _WIDEST = 0.2, 3.0
_SQUAREST = (0.4, 2.5)  # height over width of an image's panel


class Cell(NamedTuple):
    """One place in a figure: which panel of which example, and what is written above; an empty title leaves it out."""

    example: Example
    panel: str
    title: str = ""


def draw_mix(
    mixed: Mixed,
    images: Tensor,
    saliency: Tensor,
    *,
    sample: int | Sequence[int] = 0,
    mean: Sequence[float] | Tensor | None = None,
    std: Sequence[float] | Tensor | None = None,
    names: Sequence[str] | None = None,
    panels: Sequence[str] = DEFAULT,
    titles: Mapping[str, str] | None = None,
    width: float = 9.0,
) -> "Figure":
    """Show how images became a mix, one row per sample: inputs with saliency, mask, moves, result.

    images (B,C,H,W) or (B,C,T) and saliency (B,H,W) or (B,T): what `puzzle_mix` was given, with `mean` and `std`.
    sample: one number in the batch, or several. names: what each image of the batch is called. panels: which to show,
    keys of `CATALOGUE`. titles: other titles for some. width: of the figure in inches. Signals get a column each.
    """
    samples = [sample] if isinstance(sample, int) else [int(number) for number in sample]
    examples = [read_example(mixed, images, saliency, s, mean=mean, std=std, names=names) for s in samples]
    return draw_examples(examples, panels=panels, titles=titles, width=width)


def draw_examples(
    examples: Sequence[Example],
    *,
    panels: Sequence[str] = DEFAULT,
    titles: Mapping[str, str] | None = None,
    width: float = 9.0,
) -> "Figure":
    """Draw a row of panels per image, or a column of panels per signal; the first one carries the titles."""
    if not examples or not panels:
        raise ValueError(f"{len(examples)} samples and {len(panels)} panels: pass at least one of each")
    kind = "signal" if examples[0].is_signal else "image"
    titles = titles or {}
    written = {name: panel_named(name).title.format(kind=kind) for name in (*panels, *titles)} | dict(titles)
    rows = [[Cell(e, name, "" if i else written[name]) for name in panels] for i, e in enumerate(examples)]
    if examples[0].is_signal:
        rows = [list(column) for column in zip(*rows, strict=True)]
    return draw_grid(rows, width=width)


def draw_grid(rows: Sequence[Sequence[Cell]], *, width: float = 9.0, captions: bool = True) -> "Figure":
    """Draw any panels of any examples in rows, each row's panels equally wide."""
    if not rows or not all(rows):
        raise ValueError(f"rows have {[len(row) for row in rows]} cells: pass at least one row, with a cell in each")
    if len({cell.example.is_signal for row in rows for cell in row}) > 1:
        raise ValueError("the examples are images and signals: draw a figure of each")
    columns = max(map(len, rows))
    breadth = _breadth(width, columns, rows[0][0].example.is_signal)
    bands = [_Band.of(row, breadth, captions) for row in rows]
    height = sum(band.height for band in bands) + _GAP * (len(bands) - 1) + 2 * _MARGIN
    figure = new_figure(columns * breadth + _GAP * (columns - 1) + 2 * _MARGIN, height)
    top = height - _MARGIN
    for band in bands:
        band.draw(figure, top, breadth)
        top -= band.height + _GAP
    return figure


def draw_panel(example: Example, panel: str, *, width: float = 3.0) -> "Figure":
    """Draw one panel alone, from edge to edge of a figure `width` inches wide."""
    found = panel_named(panel)
    figure = new_figure(width, _panel_height(found, example, width))
    found.draw(figure.add_axes((0, 0, 1, 1)), example)
    return figure


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure with a canvas of its own."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(f'drawing needs matplotlib ({error}): pip install "puzzlemix[draw]"') from error
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor=palette.PAPER, edgecolor=palette.PAPER)
    FigureCanvasAgg(figure)
    return figure


def _breadth(width: float, columns: int, signal: bool) -> float:
    """How wide each of so many panels is: whole pixels, as everything here, so that edges are sharp."""
    breadth = (width - 2 * _MARGIN - _GAP * (columns - 1)) / columns
    if breadth < _NARROWEST:
        raise ValueError(f"{columns} panels do not fit into {width} inches: pass a larger width or fewer panels")
    return _whole(breadth if signal else min(breadth, _WIDEST))


def _whole(inches: float) -> float:
    return int(inches * DPI + 1e-6) / DPI


def _panel_height(panel: Panel, example: Example, breadth: float) -> float:
    if example.is_signal:
        return panel.height
    return _whole(breadth * float(np.clip(example.layout.height / example.layout.width, *_SQUAREST)))


class _Band(NamedTuple):
    """One row of a figure: its cells with their panels and captions, and the heights of what is stacked in it."""

    cells: Sequence[Cell]
    panels: list[Panel]
    captions: list[list[Word]]
    signal: bool
    head: float
    body: float
    foot: float

    @classmethod
    def of(cls, cells: Sequence[Cell], breadth: float, captions: bool) -> "_Band":
        """Measure a row; a signal's captions stand beside its title, an image's below it."""
        signal = cells[0].example.is_signal
        panels = [panel_named(cell.panel) for cell in cells]
        words = [panel.caption(cell.example) if captions else [] for panel, cell in zip(panels, cells, strict=True)]
        body = max(_panel_height(panel, cell.example, breadth) for panel, cell in zip(panels, cells, strict=True))
        head = any(cell.title for cell in cells) or (signal and any(words))
        foot = not signal and any(words)
        return cls(cells, panels, words, signal, _TITLE * head, body, _CAPTION * foot)

    @property
    def height(self) -> float:
        return self.head + self.body + self.foot

    def draw(self, figure: "Figure", top: float, breadth: float) -> None:
        """Draw the row, whose upper edge is `top` inches above the figure's lower one."""
        scale = np.tile(figure.get_size_inches(), 2)
        size = title_size([cell.title for cell in self.cells], breadth)
        for i, (cell, panel, words) in enumerate(zip(self.cells, self.panels, self.captions, strict=True)):
            left, bottom = _MARGIN + i * (breadth + _GAP), top - self.head - self.body
            axes = figure.add_axes(tuple(np.array([left, bottom, breadth, self.body]) / scale))
            panel.draw(axes, cell.example)
            write_title(axes, cell.title, panel.colour, size, left=self.signal)
            write_caption(axes, words, breadth, above=self.signal)

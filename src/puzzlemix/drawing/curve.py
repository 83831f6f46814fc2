"""How runs went, epoch by epoch: errors and losses as lines that carry their names."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import palette
from .axes import dress, whole_numbers
from .figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 3.1
_LEFT, _BOTTOM, _TOP, _NAMES, _BETWEEN = 0.55, 0.45, 0.35, 0.95, 0.6  # inches around and between the two panels
_APART = 0.13  # inches from one name to the next
_OTHERS = ("#8E6C8A", "#5B8C5A", "#A0522D", "#4F6D7A", "#B08D57")


class Curve(NamedTuple):
    """A run's name, and for each epoch train_error, test_error, train_loss, test_loss, and ema_... if there is any."""

    name: str
    history: Sequence[Mapping[str, float]]


class _Line(NamedTuple):
    """Values over the epochs, and how they are drawn."""

    name: str
    values: np.ndarray
    colour: str
    style: str = "-"


def draw_curve(curves: Sequence[Curve], *, width: float = 9.0) -> "Figure":
    """Draw the first run's errors and losses in training and on the test images, and the others' beside them."""
    if not curves or not all(curve.history for curve in curves):
        raise ValueError(f"{len(curves)} curves, some empty: pass at least one, with at least one epoch in each")
    figure = new_figure(width, _HEIGHT)
    breadth = (width - _LEFT - 2 * _NAMES - _BETWEEN) / 2
    for column, (kind, title, scale) in enumerate((("error", "Error in %", 100), ("loss", "Loss", 1))):
        left = _LEFT + column * (breadth + _NAMES + _BETWEEN)
        place = (left / width, _BOTTOM / _HEIGHT, breadth / width, (_HEIGHT - _BOTTOM - _TOP) / _HEIGHT)
        _draw_panel(figure.add_axes(place), _lines(curves, kind, scale), title)
    return figure


def _lines(curves: Sequence[Curve], kind: str, scale: float) -> list[_Line]:
    run, *others = curves
    lines = [
        _Line("training", _values(run, f"train_{kind}", scale), palette.MUTED, "--"),
        _Line("test" if not others else run.name, _values(run, f"test_{kind}", scale), palette.FIRST),
    ]
    if f"ema_{kind}" in run.history[0]:
        lines.append(_Line("averaged", _values(run, f"ema_{kind}", scale), palette.SECOND))
    for place, other in enumerate(others):
        lines.append(_Line(other.name, _values(other, f"test_{kind}", scale), _OTHERS[place % len(_OTHERS)]))
    return lines


def _values(curve: Curve, name: str, scale: float) -> np.ndarray:
    """The values of all epochs; those of a run that diverged are missing."""
    values = (epoch.get(name) for epoch in curve.history)
    return np.array([math.nan if value is None else scale * value for value in values])


def _draw_panel(axes: "Axes", lines: Sequence[_Line], title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    epochs = max(len(line.values) for line in lines)
    highest = np.nanmax([1e-3, *(value for line in lines for value in line.values if math.isfinite(value))])
    for line in lines:
        marker = "o" if len(line.values) == 1 else ""
        axes.plot(
            range(1, len(line.values) + 1), line.values, line.style, color=line.colour, linewidth=1.6, marker=marker
        )
    axes.set_xlim(min(1, epochs - 1), epochs)
    axes.set_ylim(0, 1.05 * highest)
    whole_numbers(axes, 8)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
    dress(axes, title, "epoch")
    _write_names(axes, lines, epochs)


def _write_names(axes: "Axes", lines: Sequence[_Line], epochs: int) -> None:
    """Write each line's name where it ends, moved apart where they would overlap."""
    unit = axes.get_ylim()[1] / (_HEIGHT - _BOTTOM - _TOP)
    ended = [line for line in lines if math.isfinite(line.values[-1])]
    ended.sort(key=lambda line: line.values[-1])
    style: dict[str, Any] = {"va": "center", "annotation_clip": False}
    height = -math.inf
    for line in ended:
        height = max(line.values[-1], height + _APART * unit)
        axes.annotate(
            line.name, (epochs, height), (5, 0), textcoords="offset points",
            **palette.text_style(palette.CAPTION_SIZE, line.colour), **style,
        )  # fmt: skip

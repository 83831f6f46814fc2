"""Small line charts side by side, with one legend for all of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import palette
from .axes import dress, whole_numbers
from .figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ASPECT, _LEGEND, _MARGIN, _BELOW, _ABOVE, _LEFT = 0.85, 0.3, 0.08, 0.45, 0.3, 0.5  # all but the first in inches
_IN_A_ROW, _NEXT_ROW = 5, 0.18  # names of the legend beside each other, and the height of further rows of it
COLOURS = (palette.FIRST, palette.SECOND, "#5B8C5A", "#8E6C8A", "#4F6D7A", "#B08D57", "#A0522D", "#2F4858")
_DASHES = ("-", "--", ":")  # where there are more names than colours


class Series(NamedTuple):
    """Points of one name; the same name has the same colour and dashes in every chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


class Chart(NamedTuple):
    """One chart: what stands above and below it, its lines, and whether its axes are logarithmic."""

    title: str
    below: str
    series: Sequence[Series]
    log_x: bool = False
    log_y: bool = False


def draw_charts(charts: Sequence[Chart], *, width: float = 9.0, columns: int | None = None) -> "Figure":
    """Draw charts in rows of `columns`, by default all in one row."""
    if not charts or not all(chart.series for chart in charts):
        raise ValueError(f"{len(charts)} charts, some without lines: pass at least one, with a line in each")
    columns = columns or len(charts)
    rows = -(-len(charts) // columns)
    breadth = (width - columns * _LEFT - _MARGIN * (columns + 1)) / columns
    height = breadth * _ASPECT
    styles = _styles(charts)
    legend = _LEGEND + (len(styles) - 1) // _IN_A_ROW * _NEXT_ROW
    total = rows * (height + _ABOVE + _BELOW) + legend
    figure = new_figure(width, total)
    for place, chart in enumerate(charts):
        row, column = divmod(place, columns)
        left = column * (breadth + _LEFT + _MARGIN) + _LEFT
        bottom = total - (row + 1) * (height + _ABOVE + _BELOW) + _BELOW
        _draw_chart(figure.add_axes((left / width, bottom / total, breadth / width, height / total)), chart, styles)
    _write_legend(figure, styles)
    return figure


def _styles(charts: Sequence[Chart]) -> dict[str, dict[str, str]]:
    """Colour and dashes of every name."""
    names = list(dict.fromkeys(series.name for chart in charts for series in chart.series))
    count = len(COLOURS)
    return {
        name: {"color": COLOURS[place % count], "linestyle": _DASHES[place // count % len(_DASHES)]}
        for place, name in enumerate(names)
    }


def _draw_chart(axes: "Axes", chart: Chart, styles: Mapping[str, dict[str, Any]]) -> None:
    for series in chart.series:
        marker = "o" if len(series.x) < 8 else ""
        axes.plot(series.x, series.y, linewidth=1.4, marker=marker, markersize=3, **styles[series.name])
    if chart.log_x:
        axes.set_xscale("log", base=2)
    elif all(float(x).is_integer() for series in chart.series for x in series.x):
        whole_numbers(axes, 10)
    if chart.log_y:
        axes.set_yscale("log")
    dress(axes, chart.title, chart.below, title_size=palette.CAPTION_SIZE + 0.6, size=palette.CAPTION_SIZE - 0.8)


def _write_legend(figure: "Figure", styles: Mapping[str, dict[str, Any]]) -> None:
    from matplotlib.lines import Line2D

    lines = [Line2D([], [], linewidth=1.6, **style) for style in styles.values()]
    beside = min(len(styles), _IN_A_ROW)
    legend = figure.legend(lines, list(styles), loc="lower center", ncols=beside, frameon=False, fontsize=7.6)
    for text in legend.get_texts():
        text.set_color(palette.INK)

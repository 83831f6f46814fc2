"""How classifiers' errors grow with the strength of attacks, side by side."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import palette
from .axes import dress, whole_numbers
from .figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HEIGHT = 3.1
_COLOURS = (palette.FIRST, palette.SECOND, "#8E6C8A", "#5B8C5A", "#A0522D", "#4F6D7A")
_MARKS = "os^Dv*"  # so that lines are told apart in grey too


class AttackCurves(NamedTuple):
    """A classifier's name, its errors under FGSM by reach in 1/255, and under PGD after 0, 1, ... steps: 0 to 1."""

    name: str
    fgsm: Mapping[float, float]
    pgd: Sequence[float]


def draw_attack_curves(curves: Sequence[AttackCurves], *, pgd_title: str = "PGD", width: float = 9.0) -> "Figure":
    """Draw a panel for FGSM and one for PGD, with a line for each classifier."""
    if not curves or not all(curve.fgsm and curve.pgd for curve in curves):
        raise ValueError(f"{len(curves)} curves, some empty: pass at least one, with at least one point in each")
    figure = new_figure(width, _HEIGHT)
    left, right = (figure.add_axes((place, 0.16, 0.42, 0.73)) for place in (0.065, 0.555))
    _panel(left, "FGSM", "reach in 1/255", [(sorted(curve.fgsm), _by_reach(curve)) for curve in curves])
    _panel(right, pgd_title, "steps", [(range(len(curve.pgd)), curve.pgd) for curve in curves])
    left.set_ylabel("error in %", **palette.text_style(palette.CAPTION_SIZE, palette.MUTED))
    _name_lines(left, [curve.name for curve in curves])
    return figure


def _by_reach(curve: AttackCurves) -> list[float]:
    return [error for _, error in sorted(curve.fgsm.items())]


def _panel(axes: "Axes", title: str, across: str, lines: Sequence[tuple[Sequence[float], Sequence[float]]]) -> None:
    for place, (reaches, errors) in enumerate(lines):
        style: dict[str, Any] = {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKS[place % len(_MARKS)]}
        axes.plot(
            reaches,
            [100 * error for error in errors],
            "-",
            linewidth=1.6,
            markersize=3.5,
            clip_on=False,
            zorder=3,
            **style,
        )
    axes.set_xlim(0, max(max(reaches) for reaches, _ in lines) or 1)
    axes.set_ylim(0, 102)
    whole_numbers(axes, 10)
    dress(axes, title, across)


def _name_lines(axes: "Axes", names: Sequence[str]) -> None:
    style = palette.text_style(palette.CAPTION_SIZE)
    legend = axes.legend(
        axes.get_lines(),
        names,
        loc="lower right",
        frameon=False,
        prop={"family": style["family"], "size": style["size"]},
    )
    for text in legend.get_texts():
        text.set(color=palette.INK, parse_math=False, usetex=False)

"""The few colours and sizes that every picture shares; blue and orange stay apart for colour-blind readers."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.colors import Colormap

FIRST = "#2B6CB0"
SECOND = "#DD7A1F"
BLEND = "#EFEAE2"
INK = "#1F2933"
MUTED = "#66727F"
LINE = "#C9CFD6"
PAPER = "#FFFFFF"

HEAT = ("#33106B", "#8C2981", "#DE4968", "#FE8F5B", "#FFD84D")  # from dark to light evenly, hence good in grey too
TITLE_SIZE = 9.5
CAPTION_SIZE = 7.6


def text_style(size: float, colour: str = INK) -> dict[str, Any]:
    """Every property of a text that a style sheet of the user could change, or that a "$" in it would set off."""
    font = {"family": "DejaVu Sans", "style": "normal", "weight": "normal", "stretch": "normal", "size": size}
    return {**font, "color": colour, "parse_math": False, "usetex": False}


def tint(colour: str) -> "Colormap":
    """Shades of one colour: 0 is paper."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("puzzlemix_tint", (PAPER, colour))


def mask_colours() -> "Colormap":
    """Colours of the first image's weight: 0 is the second image's colour, 1 the first's, and a blend is pale."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("puzzlemix_mask", (SECOND, BLEND, FIRST))


def heat_colours() -> "Colormap":
    """Colours of saliency, from none to most."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("puzzlemix_heat", HEAT)


def glow_colours() -> "Colormap":
    """Colours of saliency behind a line: from paper to a warm tone that leaves the line legible."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("puzzlemix_glow", (PAPER, "#FBD9C5", "#F3A27E"))

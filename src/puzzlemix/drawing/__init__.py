"""Pictures of a mix: inputs with saliency, mask, moves and result (needs `pip install "puzzlemix[draw]"`)."""

from .catalogue import CATALOGUE
from .example import Example, read_example
from .figures import Cell, draw_examples, draw_grid, draw_mix, draw_panel
from .files import figure_bytes, save_figure

__all__ = [
    "CATALOGUE",
    "Cell",
    "Example",
    "draw_examples",
    "draw_grid",
    "draw_mix",
    "draw_panel",
    "figure_bytes",
    "read_example",
    "save_figure",
]

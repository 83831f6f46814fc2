"""The settings as text to take along: a config for training, and Python that gives the same mix."""

import json
import re

from ..methods.puzzle_mix import PuzzleSettings
from ..training.codec import encode
from .pictures import Picture
from .settings import Settings
from .sources import SourceRequest

_PYTHON = """\
import torch

from puzzlemix import PuzzleMixConfig
{imports}

first = {first}
second = {second}
pictures = Pictures(torch.cat([first.images, second.images]), first.names + second.names)
saliency = {source}.maps(pictures.images)
config = PuzzleMixConfig({config})
mix = mix_pictures(pictures, saliency, Mixing(lam={lam}, grid={grid}, mix=config))

mixed = mix.mixed.images[0]  # (3,{size},{size}) in [0, 1]
ratio = mix.mixed.ratio[0]  # the first picture's share
save_figure(draw_examples([mix.example(0)]), "mix.png")
"""


def config_text(settings: Settings) -> str:
    """The settings as a config file for `puzzlemix train`, which draws lam for every batch."""
    puzzle = PuzzleSettings(grids=(settings.grid,), mix=settings.mixing.mix)
    chosen = {name: value for name, value in encode(puzzle).items() if name in ("grids", "mix")}
    return json.dumps({"method": "puzzle", "settings": chosen, "seed": settings.seed}, indent=2) + "\n"


def python_text(first: Picture, second: Picture, source: SourceRequest, settings: Settings) -> str:
    """A program that mixes these pictures by these settings, and draws the result."""
    config = settings.mixing.mix
    names = ("labels", "beta", "gamma", "eta", "xi", "transport")
    return _PYTHON.format(
        imports=_imports(first.code, second.code, source.code),
        first=first.code,
        second=second.code,
        source=source.code,
        config=", ".join(f"{name}={getattr(config, name)!r}" for name in names),
        lam=settings.lam,
        grid=settings.grid,
        size=first.image_CSS.shape[-1],
    )


def _imports(*expressions: str) -> str:
    """Import lines for the functions that are called, and for those that the program always calls."""
    called = {name for text in expressions for name in re.findall(r"\b([a-z_]+)\(", text)}
    showing = sorted({"Mixing", "Pictures", "mix_pictures"} | {name for name in called if name != "load_data"})
    lines = ["from puzzlemix.drawing import draw_examples, save_figure"]
    if "load_data" in called:
        lines.insert(0, "from puzzlemix.data import load_data")
    return "\n".join([*lines, f"from puzzlemix.showing import {', '.join(showing)}"])

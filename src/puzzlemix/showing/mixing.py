"""A mix of pictures, with all that a picture of it needs.

Shape suffixes: B pictures, H height, W width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..core.inputs import Grid
from ..core.mix import Mixed, puzzle_mix
from ..core.params import PuzzleMixConfig
from ..drawing.example import Example, read_example
from .pictures import Pictures


@dataclass(frozen=True)
class Mixing:
    """How pictures are mixed.

    lam: the first picture's share. grid: cells per side, or rows x columns. mix: the objective and how it is solved.
    """

    lam: float = 0.5
    grid: Grid = 8
    mix: PuzzleMixConfig = field(default_factory=PuzzleMixConfig)

    def __post_init__(self):
        if not 0 <= self.lam <= 1:
            raise ValueError(f"lam={self.lam!r}: pass the first picture's share, from 0 to 1")


@dataclass(frozen=True)
class PictureMix:
    """The mix, and what went into it: pictures, their saliency (B,H,W)."""

    mixed: Mixed
    pictures: Pictures
    saliency: Tensor

    def example(self, sample: int = 0) -> Example:
        """What a figure of one of the mixes needs."""
        return read_example(self.mixed, self.pictures.images, self.saliency, sample, names=self.pictures.names)

    def examples(self, samples: Sequence[int]) -> list[Example]:
        """What a figure of several needs."""
        return [self.example(sample) for sample in samples]


def mix_pictures(pictures: Pictures, saliency: Tensor, mixing: Mixing, index: Tensor | None = None) -> PictureMix:
    """Mix every picture with `pictures[index]`, by default with the next one, the last with the first."""
    if index is None:
        index = torch.arange(len(pictures.images)).roll(-1)
    mixed = puzzle_mix(pictures.images, saliency, index=index, lam=mixing.lam, grid=mixing.grid, config=mixing.mix)
    return PictureMix(mixed, pictures, saliency)

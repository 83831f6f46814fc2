"""Mixes of smooth random images, each with a salient spot of its own."""

import pytest
import torch

from puzzlemix import PuzzleMixConfig, puzzle_mix
from puzzlemix.drawing import read_example


class Batch:
    """A mixed batch with what it was made of."""

    def __init__(self, size=(24, 24), grid=4, channels=3, dtype=torch.float32, lam=0.5, index=(1, 2, 0), **config):
        generator = torch.Generator().manual_seed(sum(size) + channels)
        self.images = torch.rand(3, channels, *size, generator=generator).to(dtype)
        self.saliency = torch.rand(3, *size, generator=generator) ** 6
        self.mixed = puzzle_mix(
            self.images,
            self.saliency,
            index=torch.tensor(index),
            lam=lam,
            grid=grid,
            config=PuzzleMixConfig(**{"xi": 0.05, **config}),
        )

    def example(self, sample=0, **options):
        return read_example(self.mixed, self.images, self.saliency, sample, **options)


@pytest.fixture(scope="session")
def batch_of():
    return Batch

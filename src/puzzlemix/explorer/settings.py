"""What the page's controls say, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from ..core.params import PuzzleMixConfig, draw
from ..showing import Mixing
from ..training.codec import decode

LEAST_GRID, MOST_GRID = 2, 20  # finer ones, solved exactly where moving is free, would take long
_MOST_COEFFICIENT = 1000.0
_MOST_SEED = 2**31


@dataclass(frozen=True)
class Settings:
    """The controls: lam is the share of the first picture, seed places CutMix's rectangle; the rest is the mix's.

    xi begins lower than in the paper (0.8): of two pictures by a small network hardly a block would move.
    """

    lam: float = 0.5
    grid: int = 8
    labels: int = 3
    beta: float = 1.2
    gamma: float = 0.5
    eta: float = 0.2
    xi: float = 0.1
    transport: Literal["none", "paper", "exact"] = "paper"
    seed: int = 0

    def __post_init__(self):
        if not LEAST_GRID <= self.grid <= MOST_GRID:
            raise ValueError(f"grid={self.grid!r}: pass a whole number from {LEAST_GRID} to {MOST_GRID}")
        if not 0 <= self.seed < _MOST_SEED:
            raise ValueError(f"seed={self.seed!r}: pass a whole number from 0 to {_MOST_SEED - 1}")
        for name in ("beta", "gamma", "eta", "xi"):
            value = getattr(self, name)
            if not 0 <= value <= _MOST_COEFFICIENT:
                raise ValueError(f"{name}={value!r}: pass a number from 0 to {_MOST_COEFFICIENT:g}")
        _ = self.mixing  # what the mix itself says of the values

    @property
    def mixing(self) -> Mixing:
        """How to mix."""
        transport = None if self.transport == "none" else self.transport
        config = PuzzleMixConfig(
            labels=self.labels, beta=self.beta, gamma=self.gamma, eta=self.eta, xi=self.xi, transport=transport
        )
        return Mixing(self.lam, self.grid, config)

    def drawn(self) -> "Settings":
        """With lam and grid as training would draw them from this seed."""
        found = draw(torch.Generator().manual_seed(self.seed), 2)
        assert isinstance(found.grid, int)
        return replace(self, lam=round(found.lam, 2), grid=found.grid)


def read_settings(values: Mapping[str, Any]) -> Settings:
    """Read what came as JSON; ValueError names what is not as it should be."""
    return decode(Settings, values, "settings")

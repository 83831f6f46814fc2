"""Input mixup (Zhang et al., 2018): weighted sums of two images, and of their labels alike."""

from dataclasses import dataclass

import torch
from torch import nn

from .base import Batch, Stateless, Step
from .losses import Objective
from .pairing import Pairing, PairingSettings, mix_pairs


@dataclass(frozen=True)
class InputMixupSettings(PairingSettings):
    """The paper's alpha is 1 on CIFAR, 0.2 on Tiny-ImageNet and ImageNet."""


class InputMixup(Stateless):
    """Weighted sums, lam x + (1 - lam) x[partners]."""

    def __init__(self, classes: int, settings: InputMixupSettings | None = None):
        self.settings = settings or InputMixupSettings()
        self.objective = Objective(self.settings, classes)

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """Draw and apply."""
        return self.apply(model, batch, self.draw(generator, len(batch.images)))

    def draw(self, generator: torch.Generator, count: int) -> Pairing:
        """Draw for a batch of `count` images."""
        return self.settings.draw_pairing(generator, count)

    def apply(self, model: nn.Module, batch: Batch, drawn: Pairing) -> Step:
        """The loss for a given draw."""
        targets = mix_pairs(self.objective.one_hot(batch.labels), drawn)
        return self.objective.step(model(mix_pairs(batch.images, drawn)), targets)

"""Training on the images as they are: what every other method is compared with."""

from dataclasses import dataclass

import torch
from torch import nn

from .base import Batch, Stateless, Step
from .losses import LossSettings, Objective


@dataclass(frozen=True)
class VanillaSettings(LossSettings):
    """Nothing but the loss."""


class Vanilla(Stateless):
    """The loss of the images as they are."""

    def __init__(self, classes: int, settings: VanillaSettings | None = None):
        self.settings = settings or VanillaSettings()
        self.objective = Objective(self.settings, classes)

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """Draw nothing."""
        return self.objective.step(model(batch.images), self.objective.one_hot(batch.labels))

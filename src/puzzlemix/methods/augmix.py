"""AugMix (Hendrycks et al., 2020): an image and two augmented views of it should be classified alike.

Shape suffixes: B batch, N classes, V views.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .augment import Augment, AugmentDraw, apply
from .base import Batch, Stateless, Step
from .losses import LossSettings, Objective, log_probabilities


@dataclass(frozen=True)
class AugMixSettings(LossSettings):
    """The published settings; weight: that of the Jensen-Shannon divergence beside the loss of the clean images."""

    weight: float = 12.0
    augment: Augment = field(default_factory=Augment)

    def __post_init__(self):
        super().__post_init__()
        if not 0 <= self.weight < math.inf:
            raise ValueError(f"weight={self.weight!r}: pass a finite number of at least 0")


class AugMixDraw(NamedTuple):
    """The augmentations of the two views."""

    first: AugmentDraw
    second: AugmentDraw


class AugMix(Stateless):
    """The loss of the clean images, and the divergence among what the model says to all three views."""

    def __init__(self, classes: int, settings: AugMixSettings | None = None):
        self.settings = settings or AugMixSettings()
        self.objective = Objective(self.settings, classes)

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """Draw and apply."""
        return self.apply(model, batch, self.draw(generator, len(batch.images)))

    def draw(self, generator: torch.Generator, count: int) -> AugMixDraw:
        """Draw for a batch of `count` images."""
        return AugMixDraw(*(self.settings.augment.draw(generator, count) for _ in range(2)))

    def apply(self, model: nn.Module, batch: Batch, drawn: AugMixDraw) -> Step:
        """The loss for a given draw."""
        views = [batch.images, *(apply(batch.images, augmentation) for augmentation in drawn)]
        # One pass, as published: batch-norm sees all views together.
        logits = model(torch.cat(views)).chunk(3)
        step = self.objective.step(logits[0], self.objective.one_hot(batch.labels))
        return step._replace(loss=step.loss + self.settings.weight * jensen_shannon(*logits))


def jensen_shannon(*logits_BN: Tensor) -> Tensor:
    """Mean divergence of the views' predictions from their average, over views and batch: a number, 0 to log V."""
    log_VBN = torch.stack([log_probabilities(logits) for logits in logits_BN])
    average_BN = log_VBN.logsumexp(0) - math.log(len(log_VBN))
    return (log_VBN.exp() * (log_VBN - average_BN)).sum(2).mean()

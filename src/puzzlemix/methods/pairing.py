"""Which image meets which, and in what shares: the draw that input mixup, manifold mixup and CutMix have in common."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ..core.params import draw
from .losses import LossSettings, check_positive, check_shares


@dataclass(frozen=True)
class PairingSettings(LossSettings):
    """Settings of the methods that mix pairs.

    alpha: the first image's share is drawn from Beta(alpha, alpha), once per batch. prob: the chance that a batch is
    mixed at all.
    """

    alpha: float = 1.0
    prob: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        check_positive(alpha=self.alpha)
        check_shares(prob=self.prob)

    def draw_pairing(self, generator: torch.Generator, count: int) -> "Pairing":
        """Draw for a batch of `count` images; one that stays unmixed has the share 1."""
        drawn = draw(generator, count, alpha=self.alpha, prob=self.prob)
        return Pairing(drawn.index, drawn.lam if drawn.mixed else 1.0)


class Pairing(NamedTuple):
    """Partners (B,): each image is mixed with images[partners], kept on the CPU; lam: the share of the FIRST image."""

    partners: Tensor
    lam: float


def mix_pairs(values: Tensor, pairing: Pairing) -> Tensor:
    """Each entry (B,..) and its partner, weighted by their shares: images, features or targets alike."""
    partners = pairing.partners.to(values.device, non_blocking=True)
    return pairing.lam * values + (1 - pairing.lam) * values[partners]

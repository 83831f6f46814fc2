"""CutMix (Yun et al., 2019): a rectangle of one image pasted into another, the labels weighted by area.

Shape suffixes: B batch, C channels, H height, W width.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from .base import Batch, Stateless, Step
from .losses import Objective
from .pairing import Pairing, PairingSettings, mix_pairs


@dataclass(frozen=True)
class CutMixSettings(PairingSettings):
    """The paper's alpha is 1 on CIFAR and ImageNet, 0.2 on Tiny-ImageNet."""


class CutMixDraw(NamedTuple):
    """The pairing, and the rectangle's centre as shares of the image's height and width."""

    pairing: Pairing
    top: float
    left: float


class Rectangle(NamedTuple):
    """Rows and columns of an image."""

    rows: slice
    columns: slice


class CutMix(Stateless):
    """One rectangle per batch, cut from the partner at the place where it is pasted."""

    def __init__(self, classes: int, settings: CutMixSettings | None = None):
        self.settings = settings or CutMixSettings()
        self.objective = Objective(self.settings, classes)

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """Draw and apply."""
        return self.apply(model, batch, self.draw(generator, len(batch.images)))

    def draw(self, generator: torch.Generator, count: int) -> CutMixDraw:
        """Draw for a batch of `count` images."""
        pairing = self.settings.draw_pairing(generator, count)
        top, left = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
        return CutMixDraw(pairing, top, left)

    def apply(self, model: nn.Module, batch: Batch, drawn: CutMixDraw) -> Step:
        """The loss for a given draw."""
        images, lam = cut_and_paste(batch.images, drawn)
        targets = mix_pairs(self.objective.one_hot(batch.labels), drawn.pairing._replace(lam=lam))
        return self.objective.step(model(images), targets)


def cut_and_paste(images_BCHW: Tensor, drawn: CutMixDraw) -> tuple[Tensor, float]:
    """The pasted images, and the first image's share of their pixels."""
    if images_BCHW.dim() != 4:
        raise ValueError(f"images have shape {tuple(images_BCHW.shape)}: CutMix cuts rectangles, pass (B,C,H,W)")
    height, width = images_BCHW.shape[2:]
    rows, columns = rectangle(drawn, height, width)
    partners = drawn.pairing.partners.to(images_BCHW.device, non_blocking=True)
    mixed = images_BCHW.clone()
    mixed[:, :, rows, columns] = images_BCHW[:, :, rows, columns][partners]
    pasted = (rows.stop - rows.start) * (columns.stop - columns.start)
    return mixed, 1 - pasted / (height * width)


def rectangle(drawn: CutMixDraw, height: int, width: int) -> Rectangle:
    """A share 1 - lam of the image around the centre, clipped at the border."""
    side = math.sqrt(1 - drawn.pairing.lam)
    return Rectangle(_span(drawn.top, side, height), _span(drawn.left, side, width))


def _span(centre: float, side: float, length: int) -> slice:
    middle, half = int(centre * length), int(side * length) // 2
    return slice(max(middle - half, 0), min(middle + half, length))

"""Stochastic adversarial Puzzle Mix (Algorithm 2): noise that costs no pass of its own.

The saliency pass runs on noisy images, and its gradient both gives the saliency and sharpens the noise. Noise lives in
un-normalised space, where images are in [0, 1].
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from .checks import is_number, require, span


class AdversarialDraw(NamedTuple):
    """The random part for one batch: whether the first and the second images get noise, its decay, and its seed."""

    first: bool
    second: bool
    decay: float
    seed: int

    @property
    def active(self) -> bool:
        """Whether any noise is used: then the saliency pass sees the whole batch noisy."""
        return self.first or self.second


@dataclass(frozen=True)
class Adversarial:
    """Settings of the adversarial variant, in 1/255 of the pixel range.

    prob: chance that a batch's first (second) images get noise. decay=False is the paper's "fgsm" ablation;
    shared=True draws once for both images (its "nu_0 = nu_1").
    """

    prob: float = 0.1
    eps_255: float = 10.0
    step_255: float = 12.0
    decay: bool = True
    shared: bool = False

    def __post_init__(self):
        if not is_number(self.prob, 0, 1):
            raise ValueError(f"prob={self.prob!r}: pass a probability from 0 to 1")
        for name in ("eps_255", "step_255"):
            if not is_number(getattr(self, name), 0, 255):
                raise ValueError(f"{name}={getattr(self, name)!r}: pass a number of 1/255 steps from 0 to 255")

    def draw(self, generator: torch.Generator) -> AdversarialDraw:
        """Draw for one batch."""
        first, second, decay = torch.rand(3, generator=generator).tolist()
        seed = int(torch.randint(2**62, (), generator=generator))
        second = first if self.shared else second
        return AdversarialDraw(first < self.prob, second < self.prob, decay if self.decay else 1.0, seed)


class PixelRange(NamedTuple):
    """How the images were normalised: x = (unit - mean) / std per channel; None, None where they were not."""

    mean: Tensor | None
    std: Tensor | None

    def to_unit(self, images: Tensor) -> Tensor:
        """Normalised images to [0, 1]."""
        return images if self.std is None else images * self._shaped(self.std, images) + self._shaped(self.mean, images)

    def from_unit(self, unit: Tensor) -> Tensor:
        """Images in [0, 1] to normalised ones."""
        return unit if self.std is None else (unit - self._shaped(self.mean, unit)) / self._shaped(self.std, unit)

    @staticmethod
    def _shaped(values: Tensor | None, images: Tensor) -> Tensor:
        assert values is not None
        return values.to(images.dtype).view(-1, *[1] * (images.dim() - 2))


def random_start(images: Tensor, settings: Adversarial, seed: int, pixels: PixelRange) -> Tensor:
    """Uniform noise within +-eps that leaves the images inside [0, 1], (B,C,..)."""
    unit = pixels.to_unit(images)
    low, high = -1e-3, 1 + 1e-3
    require(
        (unit >= low) & (unit <= high),
        lambda: f"images {span(unit)}, but noise is made for [0, 1]: pass the mean and std they were normalised by",
    )
    generator = torch.Generator(images.device).manual_seed(seed)
    eps = settings.eps_255 / 255
    noise = torch.empty_like(unit).uniform_(-eps, eps, generator=generator)
    return (unit + noise).clamp(0, 1) - unit


def sharpen(noise: Tensor, gradient: Tensor, settings: Adversarial, decay: float) -> Tensor:
    """One step up the gradient, back into the +-eps ball, times the decay."""
    eps = settings.eps_255 / 255
    stepped = noise + settings.step_255 / 255 * gradient.to(noise.dtype).sign()
    return stepped.clamp(-eps, eps) * decay


def add_noise(images: Tensor, noise: Tensor, pixels: PixelRange) -> Tensor:
    """Add noise to the images where they are in [0, 1], and keep them there."""
    return pixels.from_unit((pixels.to_unit(images) + noise).clamp(0, 1))

"""Random numbers where the images are, each image's own: what befalls it does not depend on the batch it is in.

The hash is that of `data.draws`, computed by torch on the images' device: integers, so that uniform numbers are the
same on every device. Torch's integers are signed, so a shift to the right has to drop the copies of the sign.

Shape suffixes: B batch, N numbers of each image.
"""

import math

import torch
from torch import Tensor

from ..data.draws import hashed

_BITS = 23  # a uniform number lies in the middle of one of 2^23 parts: never 0 nor 1, and exact in float32


class Dice:
    """Draws (B, *shape) for images with the keys (B,) int64; row b depends on key b and on what was drawn before."""

    def __init__(self, keys_B: Tensor):
        self._keys_B = keys_B
        self._drawn = 0

    @classmethod
    def of_samples(cls, *words: int | str, samples: Tensor) -> "Dice":
        """Make dice that depend on these words and each image's sample number (B,) alone."""
        keys = hashed(*words, samples.cpu().numpy()).view("int64")
        return cls(torch.from_numpy(keys).to(samples.device))

    @classmethod
    def of_generator(cls, generator: torch.Generator, images: Tensor) -> "Dice":
        """Make dice for a batch of images that depend on one draw from a generator, wherever that is."""
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        return cls.of_samples(seed, samples=torch.arange(len(images), device=images.device))

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Draw evenly between low and high, float32."""
        parts = _shifted(self._words(math.prod(shape)), 64 - _BITS)
        unit = (parts.float() + 0.5) * 2.0**-_BITS
        return low + (high - low) * unit.view(-1, *shape)

    def normal(self, *shape: int) -> Tensor:
        """Draw from the standard normal distribution, float32."""
        return math.sqrt(2) * torch.erfinv(self.uniform(*shape, low=-1, high=1))

    def integers(self, *shape: int, low: int, high: int) -> Tensor:
        """Draw evenly from low ... high - 1, int64."""
        return low + (self.uniform(*shape) * (high - low)).long()

    def _words(self, count: int) -> Tensor:
        """Draw (B,N) int64, every bit of which is random."""
        counters_N = torch.arange(self._drawn + 1, self._drawn + count + 1, device=self._keys_B.device)
        self._drawn += count
        words_BN = self._keys_B[:, None] + counters_N * _signed(0x9E3779B97F4A7C15)
        words_BN = (words_BN ^ _shifted(words_BN, 30)) * _signed(0xBF58476D1CE4E5B9)
        words_BN = (words_BN ^ _shifted(words_BN, 27)) * _signed(0x94D049BB133111EB)
        return words_BN ^ _shifted(words_BN, 31)


def _shifted(words: Tensor, bits: int) -> Tensor:
    return (words >> bits) & ((1 << (64 - bits)) - 1)


def _signed(word: int) -> int:
    return word - (1 << 64) if word >> 63 else word

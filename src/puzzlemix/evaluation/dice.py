"""Random numbers where the images are."""

import torch
from torch import Tensor


class Dice:
    """Draws on a device; everything follows from one generator, which may be on another."""

    def __init__(self, generator: torch.Generator, device: torch.device):
        self._device = device
        if generator.device.type != device.type:
            seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
            generator = torch.Generator(device).manual_seed(seed)
        self._generator = generator

    def normal(self, *shape: int) -> Tensor:
        """Draw from the standard normal distribution."""
        return torch.randn(shape, generator=self._generator, device=self._device)

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Draw evenly from [low, high)."""
        return low + (high - low) * torch.rand(shape, generator=self._generator, device=self._device)

    def integers(self, *shape: int, low: int, high: int) -> Tensor:
        """Draw evenly from low ... high - 1."""
        return torch.randint(low, high, shape, generator=self._generator, device=self._device)

    def poisson(self, mean: Tensor) -> Tensor:
        """Draw a count for every mean."""
        return torch.poisson(mean, generator=self._generator)

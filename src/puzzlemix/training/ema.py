"""The exponential moving average of a model's weights."""

import copy

import torch
from torch import Tensor, nn

from .sharding import local


class Ema:
    """A copy of a model that follows it; normalisation statistics are averaged too, counters copied.

    Its `decay` is that of a long run: during the first steps it is smaller, or the random start would linger.
    """

    def __init__(self, model: nn.Module, decay: float):
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Move towards the model after its step number `step`, counted from 1."""
        decay = min(self.decay, step / (step + 9))
        followers, leaders = _tensors(self.model), _tensors(model)
        floats = [name for name, tensor in followers.items() if tensor.is_floating_point()]
        ours, theirs = [followers[name] for name in floats], [leaders[name] for name in floats]
        torch._foreach_lerp_(ours, theirs, 1 - decay)  # pyright: ignore[reportPrivateImportUsage]
        for name in followers.keys() - floats:
            followers[name].copy_(leaders[name])


def _tensors(model: nn.Module) -> dict[str, Tensor]:
    return {name: local(tensor) for name, tensor in model.state_dict().items()}

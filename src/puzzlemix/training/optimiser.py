"""SGD as the paper uses it."""

import math
from dataclasses import dataclass

from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.optim import SGD

_NORMS = (_NormBase, nn.LayerNorm, nn.GroupNorm, nn.RMSNorm)


@dataclass(frozen=True)
class OptimiserConfig:
    """Stochastic gradient descent.

    momentum: 0 for none. nesterov: look ahead along the momentum. weight_decay: pulls all weights towards 0.
    norm_decay: pulls those of normalisation layers too.
    """

    momentum: float = 0.9
    nesterov: bool = True
    weight_decay: float = 1e-4
    norm_decay: bool = True

    def __post_init__(self):
        if not 0 <= self.momentum < 1:
            raise ValueError(f"momentum={self.momentum!r}: pass a number from 0 to below 1")
        if self.nesterov and not self.momentum:
            raise ValueError("nesterov needs a momentum: pass --no-nesterov, or a momentum above 0")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay={self.weight_decay!r}: pass a number of 0 or more")


def build_optimiser(model: nn.Module, config: OptimiserConfig, lr: float) -> SGD:
    """SGD over all weights that ask for gradients, those of normalisation layers in a group of their own."""
    norms = {p for module in model.modules() if isinstance(module, _NORMS) for p in module.parameters(recurse=False)}
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p not in norms]},
        {"params": [p for p in trained if p in norms], **({} if config.norm_decay else {"weight_decay": 0.0})},
    ]
    return SGD(
        [group for group in groups if group["params"]],
        lr=lr,
        momentum=config.momentum,
        nesterov=config.nesterov,
        weight_decay=config.weight_decay,
    )


def set_rate(optimiser: SGD, lr: float) -> None:
    """Set the learning rate of all groups."""
    for group in optimiser.param_groups:
        group["lr"] = lr

"""What a training method is: from a batch to a loss, and nothing else.

Shape suffixes: B batch, N classes.
"""

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ..core.saliency_cache import View


class Batch(NamedTuple):
    """Images (B,C,H,W) in [0, 1], class indices (B,), and where they come from.

    samples (B,): their numbers in the data set; view: how they were cropped and flipped; both stay on the CPU.
    """

    images: Tensor
    labels: Tensor
    samples: Tensor | None = None
    view: View | None = None
    epoch: int = 0


class Step(NamedTuple):
    """A loss to go backward from, and what the model said (B,N) to which soft targets (B,N), for the running error."""

    loss: Tensor
    logits: Tensor
    targets: Tensor


class Method(Protocol):
    """One way to train: knows no loop, no optimiser, no data set."""

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """The loss of one batch; all randomness comes from `generator` (a CPU one, new for every step)."""
        ...

    def state_dict(self) -> dict:
        """What a resumed run needs beyond the model, such as remembered saliency; mostly empty."""
        ...

    def load_state_dict(self, state: dict) -> None:
        """Go on from a `state_dict`."""
        ...

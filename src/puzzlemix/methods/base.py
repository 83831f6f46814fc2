"""What a training method is: from a batch to a loss, and nothing else.

A method knows no loop, no optimiser and no data set; a loop knows of a method only what stands here.

Shape suffixes: B batch, N classes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from ..core.saliency_cache import View


class Batch(NamedTuple):
    """Images (B,C,H,W) in [0, 1], class indices (B,), where they come from, and how their loss is used.

    samples (B,): their numbers in the data set; view: how they were cropped and flipped; both stay on the CPU.
    epoch: counted from 0. scale: what the loop does to the loss before it goes backward (shares it among accumulated
    batches, scales it up for float16), None for nothing; see `Method.loss`.
    """

    images: Tensor
    labels: Tensor
    samples: Tensor | None = None
    view: View | None = None
    epoch: int = 0
    scale: Callable[[Tensor], Tensor] | None = None


class Step(NamedTuple):
    """A loss to go backward from, and what the model said (B,N) to which soft targets (B,N), for the running error.

    The targets' rows sum to 1: the shares of the classes that really are in each image, before any label smoothing.
    """

    loss: Tensor
    logits: Tensor
    targets: Tensor


class Method(Protocol):
    """One way to train."""

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """The loss of one batch; all randomness comes from `generator` (a CPU one, new for every step).

        Call it after `zero_grad`, and go backward from `batch.scale(step.loss)`. A method may itself leave gradients in
        the model's `.grad` (Puzzle Mix's clean term does, out of its saliency pass); it applies `batch.scale` to what
        they come from, so that with

            scale = lambda loss: scaler.scale(loss) / accumulated_batches

        both parts of a step add up in the same unit. The model is called in the loop's own autocast. It may be wrapped
        in DistributedDataParallel or compiled, but not by Fabric, whose wrapper refuses every backward pass but
        `fabric.backward` in some precisions: pass what it wraps, under `fabric.autocast()`.
        """
        ...

    def exchange(self, gather: Callable[[Any], list[Any]]) -> None:
        """Let processes that train together know what each of them has come to remember; mostly nothing.

        All of them call it at the same time; `gather` gives each process what every one passed. Since the call before,
        no two of them may have learned from the same sample.
        """
        ...

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs beyond the model, such as remembered saliency; mostly empty."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`."""
        ...


class Stateless:
    """The part of a method that remembers nothing from step to step."""

    def exchange(self, gather: Callable[[Any], list[Any]]) -> None:
        """Know nothing that others do not."""

    def state_dict(self) -> dict[str, Any]:
        """Nothing."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take nothing."""
        if state:
            raise ValueError(
                f"the state holds {', '.join(state)}, but {type(self).__name__} remembers nothing: "
                "resume with the method that the run was started with"
            )

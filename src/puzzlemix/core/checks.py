"""Checks of input values that never make an accelerator wait."""

from collections.abc import Callable

import torch
from torch import Tensor


def readable(tensor: Tensor) -> bool:
    """Whether the tensor's values can be looked at now for free."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def span(values: Tensor) -> str:
    """The range of the values in words, as far as they can be looked at for free."""
    if not readable(values):
        return "are out of range"
    return f"run from {values.min().item():g} to {values.max().item():g}"


def require(holds: Tensor, message: Callable[[], str]) -> None:
    """Raise ValueError(message()) unless `holds` is true everywhere; on an accelerator, assert it asynchronously.

    There the message is made before anything is known, so it must not look at values but by `span`.
    """
    if readable(holds):
        if not bool(holds.all()):
            raise ValueError(message())
    elif holds.device.type != "meta":
        torch.ops.aten._assert_async.msg(holds.all(), message())

"""Checks of input values that never make an accelerator wait."""

from collections.abc import Callable

import torch
from torch import Tensor


def readable(tensor: Tensor) -> bool:
    """Whether the tensor's values can be looked at now for free."""
    return tensor.device.type == "cpu" and not torch.compiler.is_compiling()


def require(holds: Tensor, message: Callable[[], str]) -> None:
    """Raise ValueError(message()) unless `holds` is true everywhere; on an accelerator, assert it asynchronously."""
    if readable(holds):
        if not bool(holds.all()):
            raise ValueError(message())
    elif holds.device.type != "meta":
        torch._assert_async(holds.all(), message())

"""How a solver becomes a `torch.library` operator: a CPU kernel, a fake, and a detour over the CPU elsewhere."""

from collections.abc import Callable

import torch
from torch import Tensor

_library = torch.library.Library("puzzlemix", "DEF")


def define(schema: str, on_cpu: Callable, fake: Callable) -> Callable:
    """Register the operator `puzzlemix::<schema>` and return its callable.

    `on_cpu` gets CPU tensors; tensors of other devices travel to the CPU and the result travels back. `fake` gives an
    empty result of the right shape.
    """
    name = schema.split("(")[0]

    def over_the_cpu(*arguments):
        device = next(argument.device for argument in arguments if isinstance(argument, Tensor))
        moved = [argument.cpu() if isinstance(argument, Tensor) else argument for argument in arguments]
        return on_cpu(*moved).to(device)

    _library.define(schema)
    _library.impl(name, on_cpu, "CPU")
    _library.impl(name, over_the_cpu, "CompositeExplicitAutograd")
    torch.library.register_fake(f"puzzlemix::{name}", fake, lib=_library)
    return getattr(torch.ops.puzzlemix, name).default

"""How a solver becomes a `torch.library` operator: kernels for the CPU and for CUDA, a fake, a detour over the CPU."""

from collections.abc import Callable

import torch
from torch import Tensor

from . import triton_support

_library = torch.library.Library("puzzlemix", "DEF")


def define(schema: str, on_cpu: Callable, fake: Callable, on_cuda: Callable | None = None) -> Callable:
    """Register the operator `puzzlemix::<schema>` and return its callable.

    `on_cpu` gets CPU tensors. `on_cuda` gets CUDA tensors where Triton is there, and returns NotImplemented for what
    its kernels do not take. All else travels to the CPU, and the result travels back: the host waits for that. `fake`
    gives an empty result of the right shape. A result is one tensor or a tuple of them.
    """
    name = schema.split("(")[0]

    def over_the_cpu(*arguments):
        device = next(argument.device for argument in arguments if isinstance(argument, Tensor))
        moved = [argument.cpu() if isinstance(argument, Tensor) else argument for argument in arguments]
        result = on_cpu(*moved)
        return tuple(part.to(device) for part in result) if isinstance(result, tuple) else result.to(device)

    def on_the_device(*arguments):
        result = on_cuda(*arguments) if on_cuda and triton_support.available() else NotImplemented
        return over_the_cpu(*arguments) if result is NotImplemented else result

    _library.define(schema)
    _library.impl(name, on_cpu, "CPU")
    _library.impl(name, on_the_device, "CUDA")
    _library.impl(name, over_the_cpu, "CompositeExplicitAutograd")
    torch.library.register_fake(f"puzzlemix::{name}", fake, lib=_library)
    return getattr(torch.ops.puzzlemix, name).default

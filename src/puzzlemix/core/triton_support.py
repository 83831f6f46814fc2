"""What all Triton kernels share: whether Triton is there, how a kernel is launched, how it reports failure.

Kernels live in `*_gpu_kernel.py` files, imported on first use, because they import Triton, which not every
installation of torch brings along. One program solves one image and writes whether it came to an end; nobody waits for
that: an asynchronous assert looks at it on the device.
"""

import functools
import importlib.util
import warnings
from typing import Any

import torch
from torch import Tensor

from .checks import require

# Found out once, so that a traced function may ask. The Triton of torch before 2.8 cannot compile the mask's kernel.
INSTALLED = importlib.util.find_spec("triton") is not None and torch.__version__ >= "2.8"


@functools.cache
def available() -> bool:
    """Whether a fit Triton is installed; without it, a first call on CUDA tensors warns of the detour over the CPU."""
    if not INSTALLED:
        warnings.warn(
            "Triton 3.4 or newer is missing, so masks and plans of CUDA tensors are found on the CPU, and every step "
            "waits for that: install torch 2.8 or newer, and pip install triton",
            RuntimeWarning,
            stacklevel=2,
        )
    return INSTALLED


def serves(tensor: Tensor) -> bool:
    """Whether Triton's kernels take tensors where this one is."""
    return INSTALLED and tensor.device.type == "cuda"


def launch(kernel: Any, programs: int, first: Tensor, *arguments: Any, **options: Any) -> None:
    """Start `programs` programs of a Triton kernel on the device of its first argument."""
    if programs:
        with torch.cuda.device_of(first):  # Triton starts kernels on the current device, wherever the tensors are
            kernel[(programs,)](first, *arguments, **options)


def power_of_two(number: int) -> int:
    """The smallest power of two that is at least `number`: Triton's tensors come in such sizes only."""
    return 1 << (number - 1).bit_length()


def require_solved(solved_B: Tensor, name: str) -> None:
    """Assert, on the device, that a kernel came to an end for every image: (B,), 0 where it did not."""
    require(
        solved_B,
        lambda: f"{name} did not end within its steps on some image: pass a problem that `solve_{name}` accepts",
    )

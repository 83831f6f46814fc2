"""Checks of what callers pass; those of tensor values never make an accelerator wait."""

import numbers
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def is_number(value: Any, least: float, most: float) -> bool:
    """Whether it is one real number from `least` to `most`; True, False and NaN are none."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and least <= value <= most  # pyright: ignore[reportOperatorIssue]


def is_whole(value: Any, least: int, most: float = float("inf")) -> bool:
    """Whether it is a whole number from `least` to `most`, of an integer type."""
    return isinstance(value, numbers.Integral) and is_number(value, least, most)


def check_images(images: Tensor) -> None:
    """Images are a floating-point tensor (B,C,H,W) or (B,C,T), of which only B may be 0."""
    if not isinstance(images, Tensor):
        raise TypeError(f"images are a {type(images).__name__}: pass a torch tensor")
    if images.dim() not in (3, 4) or 0 in images.shape[1:]:
        raise ValueError(f"images have shape {tuple(images.shape)}: pass (B,C,H,W), or (B,C,T) for signals")
    if not images.is_floating_point():
        raise ValueError(f"images are {images.dtype}: convert them first, e.g. images.float() / 255")


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

"""Reads what a caller passes to the mix: checks it, and brings images and signals into one form."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .checks import check_images, is_number, is_whole, require, span
from .pose import posed_by_kernel

Grid = int | tuple[int, int]


@dataclass(frozen=True)
class MixInputs:
    """Checked inputs: images (B,C,H,W), saliency (B,H,W), index (B,), lam (B,), rows, cols, std (C,) or None.

    Values of index and lam are checked here unless that is left to the kernel that poses the mask problem.
    """

    images: Tensor
    saliency: Tensor
    index: Tensor
    lam: Tensor
    rows: int
    cols: int
    std: Tensor | None


def read_inputs(
    images: Tensor,
    saliency: Tensor,
    index: Tensor,
    lam: float | Tensor,
    grid: Grid,
    mean: Sequence[float] | Tensor | None,
    std: Sequence[float] | Tensor | None,
) -> MixInputs:
    """Check everything and treat a signal (B,C,T) as an image of one row."""
    check_images(images)
    _check_saliency(saliency, images)
    for name, tensor in (("saliency", saliency), ("index", index), ("lam", lam)):
        if isinstance(tensor, Tensor) and tensor.device != images.device:
            raise ValueError(f"{name} is on {tensor.device}, images are on {images.device}: move them to one device")
    rows, cols = read_grid(grid, images.shape[2:])
    std_C = _read_std(mean, std, images)
    check = not posed_by_kernel(images, rows * cols)
    signal = images.dim() == 3
    return MixInputs(
        images[:, :, None] if signal else images,
        saliency[:, None] if signal else saliency,
        _read_index(index, len(images), check),
        _read_lam(lam, images, check),
        rows,
        cols,
        std_C,
    )


def _check_saliency(saliency: Tensor, images: Tensor) -> None:
    if not isinstance(saliency, Tensor):
        raise TypeError(f"saliency is a {type(saliency).__name__}: pass a torch tensor")
    expected = (images.shape[0], *images.shape[2:])
    if saliency.shape != expected:
        raise ValueError(
            f"saliency has shape {tuple(saliency.shape)}, images {tuple(images.shape)}: pass saliency as {expected}"
        )
    if saliency.is_complex():
        raise ValueError(f"saliency is {saliency.dtype}: pass real numbers, e.g. saliency.abs()")


def check_grid(grid: Grid) -> None:
    """A grid is a whole number, or one for the rows and one for the columns."""
    pair = grid if isinstance(grid, tuple | list) else (grid, grid)
    if len(pair) != 2 or not all(is_whole(cells, 1) for cells in pair):
        raise ValueError(f"grid={grid!r}: pass a whole number of at least 1, or (rows, cols)")


def read_grid(grid: Grid, size: torch.Size) -> tuple[int, int]:
    """(rows, cols) of a grid for an image of `size` (H,W), or one row of cells for a signal of `size` (T,)."""
    height, width = size if len(size) == 2 else (1, *size)
    check_grid(grid)
    rows, cols = grid if isinstance(grid, tuple | list) else (grid if len(size) == 2 else 1, grid)
    if rows > height or cols > width:
        finest = f"{height}x{width}" if len(size) == 2 else str(width)
        image = f"the image {height}x{width}"
        raise ValueError(f"grid {rows}x{cols} is finer than {image}: pass a grid of at most {finest}")
    return int(rows), int(cols)


def _read_index(index: Tensor, batch: int, check: bool) -> Tensor:
    if not isinstance(index, Tensor):
        raise TypeError(f"index is a {type(index).__name__}: pass a torch tensor of {batch} integers")
    if index.shape != (batch,) or index.is_floating_point() or index.dtype == torch.bool:
        raise ValueError(
            f"index has shape {tuple(index.shape)} and dtype {index.dtype}: pass {batch} integers, a partner per image"
        )
    if check:
        require(
            (index >= 0) & (index < batch),
            lambda: f"partners in index {span(index)}: pass numbers from 0 to {batch - 1}",
        )
    return index.long()


def _read_lam(lam: float | Tensor, images: Tensor, check: bool) -> Tensor:
    batch = len(images)
    if not isinstance(lam, Tensor):
        if not is_number(lam, 0, 1):
            raise ValueError(f"lam={lam!r}: pass the share of the first image, a number (or a tensor) from 0 to 1")
        return torch.full((batch,), lam, dtype=torch.float32, device=images.device)
    if lam.dim() and lam.shape != (batch,):
        raise ValueError(f"lam has shape {tuple(lam.shape)}: pass a float or one number per image, ({batch},)")
    if check:
        require((lam >= 0) & (lam <= 1), lambda: f"the values of lam {span(lam)}: keep them from 0 to 1")
    return lam.float().expand(batch)


def channel_statistics(
    mean: Sequence[float] | Tensor | None, std: Sequence[float] | Tensor | None, images: Tensor
) -> tuple[Tensor | None, Tensor | None]:
    """`mean` and `std` as tensors (C,), float32, on the images' device; None, None where neither is given."""
    std_C = _read_std(mean, std, images)
    return (None if mean is None else channel_numbers(mean, images.device)), std_C


def _read_std(
    mean: Sequence[float] | Tensor | None, std: Sequence[float] | Tensor | None, images: Tensor
) -> Tensor | None:
    """`std` (C,) alone, which is all that a mix needs, after a look at both."""
    if mean is None and std is None:
        return None
    if mean is None or std is None:
        missing = "mean" if mean is None else "std"
        raise ValueError(f"{missing} is missing: pass both mean and std, or neither for images in [0, 1]")
    channels = images.shape[1]
    for name, values in (("mean", mean), ("std", std)):
        shape = tuple(values.shape) if isinstance(values, Tensor) else (len(values),)
        if shape != (channels,):
            given = f"{name} has {math.prod(shape)} values"
            raise ValueError(f"{given}, the images {channels} channels: pass one per channel")
    std_C = channel_numbers(std, images.device)
    if isinstance(std, Tensor):
        require(std_C > 0, lambda: f"std={std}: pass positive numbers")
    elif not all(value > 0 for value in std):
        raise ValueError(f"std={std}: pass positive numbers")
    return std_C


def channel_numbers(values: Sequence[float] | Tensor, device: torch.device) -> Tensor:
    """One float32 number per channel on a device, which writes them itself: a copy from the host would have to wait."""
    if isinstance(values, Tensor) or device.type == "cpu" or not len(values):
        return torch.as_tensor(values, dtype=torch.float32, device=device)
    return torch.stack([torch.full((), float(value), device=device) for value in values])

"""Gather the tiles of two images, weigh them by the mask and add them up, in one pass over memory on the CPU.

Shape suffixes: B batch, C channels, H height, W width, R rows and K columns of the tile grid, N = R * K.
"""

import torch
from torch import Tensor

from .operators import define

_KERNEL_TYPES = (torch.float32, torch.float64)


def blend(
    first: Tensor, second: Tensor, index: Tensor, weight_BRK: Tensor, first_source: Tensor, second_source: Tensor
) -> Tensor:
    """Weigh each tile of `first` (B,C,H,W) against the tile of `second[index]`, each taken from where it moves from.

    weight_BRK: the first image's share in every tile; the sources (B,N): which tile lands where.
    """
    differentiable = first.requires_grad or second.requires_grad
    if first.device.type != "cpu" or first.dtype not in _KERNEL_TYPES or differentiable:
        return _blend_plain(first, second, index, weight_BRK, first_source, second_source)
    return _blend(first, second, index, weight_BRK, first_source, second_source)


def _blend_plain(
    first: Tensor, second: Tensor, index: Tensor, weight_BRK: Tensor, first_source: Tensor, second_source: Tensor
) -> Tensor:
    rows, cols = weight_BRK.shape[1:]
    images = torch.arange(len(first), device=first.device)
    moved_first = _moved(first, images, first_source, rows, cols)
    moved_second = _moved(second, index, second_source, rows, cols)
    weight = weight_BRK.to(first.dtype)[:, None, :, None, :, None]
    mixed = torch.where(weight == 1, moved_first, torch.lerp(moved_second, moved_first, weight))
    return mixed.reshape(first.shape).contiguous(memory_format=_memory_format(first))


def _moved(images_BCHW: Tensor, index: Tensor, source_BN: Tensor, rows: int, cols: int) -> Tensor:
    """Tiles of `images[index]`, each from its source: (B,C,R,h,K,w)."""
    tiles = images_BCHW.unflatten(3, (cols, -1)).unflatten(2, (rows, -1))
    source = source_BN.view(-1, rows, cols)
    gathered = tiles[index[:, None, None], :, source // cols, :, source % cols]  # (B,R,K,C,h,w)
    return gathered.permute(0, 3, 1, 4, 2, 5)


def _memory_format(images: Tensor) -> torch.memory_format:
    last = images.is_contiguous(memory_format=torch.channels_last) and not images.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format


def _blend_on_cpu(
    first: Tensor, second: Tensor, index: Tensor, weight: Tensor, first_source: Tensor, second_source: Tensor
) -> Tensor:
    from .blend_kernel import blend_images
    from .threads import run_over

    mixed = torch.empty_like(first, memory_format=_memory_format(first))
    first, second = (images.contiguous(memory_format=_memory_format(mixed)) for images in (first, second))
    flat = [_in_memory_order(images).numpy() for images in (first, second, mixed)]
    plans = [tensor.contiguous().numpy() for tensor in (index, weight, first_source, second_source)]
    channels, height, width = first.shape[1:]
    # A row of a channels_last tile is one run in memory, too: such images pass as a single, wider plane.
    shape = (channels, height, width) if mixed.is_contiguous() else (1, height, width * channels)
    least = max(1, 30_000 // max(1, channels * height * width))
    run_over(blend_images, len(first), shape, *flat, *plans, least=least)
    return mixed


def _in_memory_order(images_BCHW: Tensor) -> Tensor:
    """The images' numbers as they lie in memory."""
    return (images_BCHW if images_BCHW.is_contiguous() else images_BCHW.permute(0, 2, 3, 1)).view(-1)


def _fake(first: Tensor, *_: Tensor) -> Tensor:
    return torch.empty_like(first, memory_format=_memory_format(first))


_blend = define(
    "blend(Tensor first, Tensor second, Tensor index, Tensor weight, Tensor first_source, Tensor second_source)"
    " -> Tensor",
    _blend_on_cpu,
    _fake,
)

"""Gather the tiles of two images, weigh them by the mask and add them up, in one pass over memory.

Shape suffixes: B batch, C channels, H height, W width, R rows and K columns of the tile grid, N = R * K.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from . import triton_support
from .operators import define

_KERNEL_TYPES = {
    "cpu": (torch.float32, torch.float64),
    "cuda": (torch.float16, torch.bfloat16, torch.float32, torch.float64),
}
PATCH = (8, 32)  # rows and columns of numbers that a GPU program writes
PATCH_OF_SIGNAL = (1, 512)
WARPS = 4


def blend(
    first: Tensor,
    second: Tensor,
    index: Tensor,
    weight_BRK: Tensor,
    first_source: Tensor,
    second_source: Tensor,
    tile: tuple[int, int],
) -> Tensor:
    """Weigh each tile of `first` (B,C,H,W) against the tile of `second[index]`, each taken from where it moves from.

    weight_BRK: the first image's share in every tile; the sources (B,N): which tile lands where; tile: its height and
    width in pixels. Where tiles reach beyond the image its last row and column go on.
    """
    if first.dtype.itemsize == 1:  # 8-bit floats: torch stores them, but hardly calculates with them
        return blend(first.half(), second.half(), index, weight_BRK, first_source, second_source, tile).to(first.dtype)
    if _has_kernel(first) and not (first.requires_grad or second.requires_grad):
        return _blend(first, second, index, weight_BRK, first_source, second_source, *tile)
    return _blend_plain(first, second, index, weight_BRK, first_source, second_source, *tile)


def _has_kernel(images: Tensor) -> bool:
    device = images.device.type
    return images.dtype in _KERNEL_TYPES.get(device, ()) and (device == "cpu" or triton_support.INSTALLED)


def _blend_plain(
    first: Tensor,
    second: Tensor,
    index: Tensor,
    weight_BRK: Tensor,
    first_source: Tensor,
    second_source: Tensor,
    high: int,
    wide: int,
) -> Tensor:
    """On any device, differentiable."""
    grid = weight_BRK.shape[1:]
    images = torch.arange(len(first), device=first.device)
    moved_first = _moved(_fitted(first, grid, high, wide), images, first_source, grid)
    moved_second = _moved(_fitted(second, grid, high, wide), index, second_source, grid)
    weight = weight_BRK.to(first.dtype)[:, None, :, None, :, None]
    mixed = torch.where(weight == 1, moved_first, torch.lerp(moved_second, moved_first, weight))
    mixed = mixed.flatten(4).flatten(2, 3)[:, :, : first.shape[2], : first.shape[3]]
    return mixed.contiguous(memory_format=_memory_format(first))


def _fitted(images: Tensor, grid: torch.Size, high: int, wide: int) -> Tensor:
    """Continue the last row and column until the tiles fit."""
    below, right = grid[0] * high - images.shape[2], grid[1] * wide - images.shape[3]
    return F.pad(images, (0, right, 0, below), mode="replicate") if below or right else images


def _moved(images_BCHW: Tensor, index: Tensor, source_BN: Tensor, grid: torch.Size) -> Tensor:
    """Tiles of `images[index]`, each from its source: (B,C,R,h,K,w)."""
    rows, cols = grid
    tiles = images_BCHW.unflatten(3, (cols, -1)).unflatten(2, (rows, -1))
    source = source_BN.view(-1, rows, cols)
    gathered = tiles[index[:, None, None], :, source // cols, :, source % cols]  # (B,R,K,C,h,w)
    return gathered.permute(0, 3, 1, 4, 2, 5)


def _memory_format(images: Tensor) -> torch.memory_format:
    last = images.is_contiguous(memory_format=torch.channels_last) and not images.is_contiguous()
    return torch.channels_last if last else torch.contiguous_format


def _like(images: Tensor) -> Tensor:
    return torch.empty_like(images, memory_format=_memory_format(images))


def _planes(images: Tensor) -> tuple[int, int, int, int]:
    """(planes, height, width, channels) in memory: of channels_last images a row is one run of width * channels."""
    channels, height, width = images.shape[1:]
    last = _memory_format(images) == torch.channels_last
    return (1, height, width * channels, channels) if last else (channels, height, width, 1)


def _blend_on_cpu(
    first: Tensor,
    second: Tensor,
    index: Tensor,
    weight: Tensor,
    first_source: Tensor,
    second_source: Tensor,
    high: int,
    wide: int,
) -> Tensor:
    from .blend_kernel import blend_images
    from .threads import run_over

    layout, (height, width) = _memory_format(first), first.shape[2:]
    one = _fitted(first, weight.shape[1:], high, wide).contiguous(memory_format=layout)
    other = one if second is first else _fitted(second, weight.shape[1:], high, wide).contiguous(memory_format=layout)
    mixed = torch.empty_like(one, memory_format=layout)
    flat = [_in_memory_order(images).numpy() for images in (one, other, mixed)]
    plans = [tensor.contiguous().numpy() for tensor in (index, weight, first_source, second_source)]
    least = max(1, 30_000 // max(1, one[0].numel() if len(one) else 1))
    run_over(blend_images, len(one), _planes(one)[:3], *flat, *plans, least=least)
    return mixed[:, :, :height, :width].contiguous(memory_format=layout)


def _in_memory_order(images_BCHW: Tensor) -> Tensor:
    """The images' numbers as they lie in memory."""
    return (images_BCHW if images_BCHW.is_contiguous() else images_BCHW.permute(0, 2, 3, 1)).view(-1)


def _blend_on_cuda(
    first: Tensor,
    second: Tensor,
    index: Tensor,
    weight: Tensor,
    first_source: Tensor,
    second_source: Tensor,
    high: int,
    wide: int,
) -> Tensor:
    from .blend_gpu_kernel import blend_patch

    mixed = _like(first)
    planes, height, width, channels = _planes(mixed)
    images = (tensor.contiguous(memory_format=_memory_format(mixed)) for tensor in (first, second))
    plans = (tensor.contiguous() for tensor in (index, weight, first_source, second_source))
    down, across = PATCH_OF_SIGNAL if height == 1 else PATCH
    patches = -(-height // down) * -(-width // across)
    triton_support.launch(
        blend_patch,
        len(first) * patches,
        *images,
        mixed,
        *plans,
        *(planes, height, width, channels, *weight.shape[1:], high, wide * channels),
        DOWN=down,
        ACROSS=across,
        EXACT=first.dtype == torch.float64,
        num_warps=WARPS,
    )
    return mixed


def _fake(first: Tensor, *_: object) -> Tensor:
    return _like(first)


_blend = define(
    "blend(Tensor first, Tensor second, Tensor index, Tensor weight, Tensor first_source, Tensor second_source,"
    " SymInt high, SymInt wide) -> Tensor",
    _blend_on_cpu,
    _fake,
    _blend_on_cuda,
)

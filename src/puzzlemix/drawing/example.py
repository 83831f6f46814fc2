"""One mixed image as arrays that are ready to be drawn, and everything about it that a picture shows.

Shape suffixes: H height, W width, C channels, T samples of a signal, R rows and K columns of a grid, n moves.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..core.blocks import Layout, visible_pixels
from ..core.inputs import channel_statistics
from ..core.mix import Mixed
from ..core.shares import saliency_shares

Array = NDArray[np.floating]
_OVERSHOOT = 1e-2  # rounding and resampling leave [0, 1] by less than this, normalised images by more


@dataclass(frozen=True)
class Side:
    """What one of the two images brings to a mix.

    image, moved: before and after its tiles moved, (H,W,3) in [0, 1], or (C,T) as it is; saliency (H,W) or (T,), the
    largest 1; shares (r,k): the saliency of its tiles, summing to 1; weight (R,K): how much of it each cell shows;
    moves (n,2): the tile each visible tile that moved came from, and where it is now; seen: how many tiles it shows.
    """

    name: str
    image: Array
    moved: Array
    saliency: Array
    shares: Array
    weight: Array
    moves: NDArray[np.int64]
    seen: int


@dataclass(frozen=True)
class Example:
    """One mix, ready to draw: both sides, the result as `Side.image`, the first image's share, and the layout."""

    first: Side
    second: Side
    mixed: Array
    ratio: float
    layout: Layout
    transported: bool

    @property
    def is_signal(self) -> bool:
        """Whether this is a signal, which is drawn as lines."""
        return self.mixed.ndim == 2


def read_example(
    mixed: Mixed,
    images: Tensor,
    saliency: Tensor,
    sample: int = 0,
    *,
    mean: Sequence[float] | Tensor | None = None,
    std: Sequence[float] | Tensor | None = None,
    names: Sequence[str] | None = None,
) -> Example:
    """Gather what belongs to one sample of a mix: the images (B,C,H,W) or (B,C,T) and saliency it was made from.

    mean, std: what the images were normalised by. names: what each image of the batch is called.
    """
    _check(mixed, images, saliency, sample, names)
    places = torch.tensor([sample, int(mixed.index[sample])])
    pair = _numbers(images[places.to(images.device)])
    maps = torch.stack([_scaled(one) for one in _numbers(saliency[places.to(saliency.device)])])
    alone = _alone(mixed, sample)
    shown = torch.cat([pair, *_moved(alone, pair), alone.images])
    colours = drawable(shown, mean, std)
    shares = saliency_shares(maps[:, None] if maps.dim() == 2 else maps, mixed.layout).numpy()
    called = [names[int(place)] for place in places] if names is not None else ["", ""]
    weight = alone.mask[0].numpy().copy()
    first, second = (
        Side(
            called[k],
            colours[k],
            colours[k + 2],
            maps[k].numpy(),
            shares[k],
            weights,
            *_visible_moves(source, weights, mixed.layout),
        )
        for k, (source, weights) in enumerate(((alone.first_source, weight), (alone.second_source, 1 - weight)))
    )
    return Example(first, second, colours[4], float(alone.ratio), mixed.layout, mixed.first_source is not None)


def _check(mixed: Mixed, images: Tensor, saliency: Tensor, sample: int, names: Sequence[str] | None) -> None:
    batch = len(mixed.index)
    if images.shape != mixed.images.shape:
        raise ValueError(
            f"images have shape {tuple(images.shape)}, the mix {tuple(mixed.images.shape)}: pass what was mixed"
        )
    expected = (batch, *images.shape[2:])
    if saliency.shape != expected:
        raise ValueError(f"saliency has shape {tuple(saliency.shape)}: pass the map the mix was made from, {expected}")
    if not 0 <= sample < batch:
        raise ValueError(f"sample {sample} is not in the batch: pass a number from 0 to {batch - 1}")
    if names is not None and len(names) != batch:
        raise ValueError(f"{len(names)} names for {batch} images: pass one name for each image of the batch")


def _numbers(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu", torch.float32)


def _alone(mixed: Mixed, sample: int) -> Mixed:
    """The mix of one sample as a batch of its own, on the CPU."""
    first, second = (
        None if source is None else source[sample : sample + 1].cpu()
        for source in (mixed.first_source, mixed.second_source)
    )
    images, mask, ratio = (_numbers(t[sample : sample + 1]) for t in (mixed.images, mixed.mask, mixed.ratio))
    return Mixed(images, mask, ratio, torch.zeros(1, dtype=torch.int64), first, second, mixed.layout)


def _moved(alone: Mixed, pair: Tensor) -> tuple[Tensor, Tensor]:
    """Both images after their moves, whole: mixed by a mask that shows only the one, then only the other."""
    first, second = (
        Mixed(alone.images, mask, alone.ratio, alone.index, alone.first_source, alone.second_source, alone.layout)
        for mask in (torch.ones_like(alone.mask), torch.zeros_like(alone.mask))
    )
    return first.apply(pair[:1], pair[1:]), second.apply(pair[:1], pair[1:])


def drawable(
    batch: Tensor, mean: Sequence[float] | Tensor | None = None, std: Sequence[float] | Tensor | None = None
) -> Array:
    """Images (N,C,H,W) as colours (N,H,W,3); signals (N,C,T) as they are, un-normalised."""
    mean_C, std_C = channel_statistics(mean, std, batch)
    if mean_C is not None and std_C is not None:
        shape = (-1,) + (1,) * (batch.dim() - 2)
        batch = batch * std_C.cpu().view(shape) + mean_C.cpu().view(shape)
    if batch.dim() == 3:
        return batch.numpy()
    return _unit(_three_channels(batch.nan_to_num())).permute(0, 2, 3, 1).numpy()


def _three_channels(images_NCHW: Tensor) -> Tensor:
    """Red, green and blue are the first three channels, or one grey, the mean of fewer."""
    if images_NCHW.shape[1] < 3:
        return images_NCHW.mean(1, keepdim=True).expand(-1, 3, -1, -1)
    return images_NCHW[:, :3]


def _unit(images: Tensor) -> Tensor:
    """Bring what clearly is not in [0, 1] there, all images by one scale so that they stay comparable."""
    low, high = float(images.min()), float(images.max())
    if low < -_OVERSHOOT or high > 1 + _OVERSHOOT:
        images = (images - low) / (high - low if high > low else 1)
    return images.clamp(0, 1)


def _scaled(saliency: Tensor) -> Tensor:
    """A map whose largest value is 1; one that cannot guide a mix counts as uniform, as it does there."""
    if not bool(saliency.isfinite().all()) or float(saliency.min()) < 0 or float(saliency.max()) == 0:
        return torch.ones_like(saliency)
    return saliency / saliency.max()


def _visible_moves(source: Tensor | None, weight_RK: Array, layout: Layout) -> tuple[NDArray[np.int64], int]:
    """(n,2) the old and the new place of each tile that moved and can be seen, and how many tiles can be seen."""
    down, across = layout.tiles_per_cell
    seen = visible_pixels(layout, layout.tile, torch.device("cpu")).numpy() > 0
    seen = (seen & (weight_RK.repeat(down, 0).repeat(across, 1) > 0)).ravel()
    landed = np.arange(seen.size)
    origin = landed if source is None else source[0].numpy()
    moved = seen & (origin != landed)
    return np.stack([origin[moved], landed[moved]], axis=1), int(seen.sum())

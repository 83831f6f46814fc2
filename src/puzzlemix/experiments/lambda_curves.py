"""What mixed images keep, against lambda: their saliency, their total variation, what a plain classifier says to them.

Shape suffixes: B pairs, C channels, H height, W width.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.mix import puzzle_mix
from ..core.params import GRIDS, PuzzleMixConfig
from ..evaluation.accuracy import eval_mode
from ..methods.cutmix import CutMixDraw, cut_and_paste
from ..methods.manifold_mixup import mixed_after
from ..methods.pairing import Pairing, mix_pairs
from ..models.stages import stages

LAMBDAS = tuple(step / 10 for step in range(11))


class Pairs(NamedTuple):
    """Images (B,C,H,W) in [0, 1], their labels (B,) and saliency (B,H,W), and the number (B,) of each one's partner."""

    images: Tensor
    labels: Tensor
    saliency: Tensor
    partners: Tensor


class Mixture(NamedTuple):
    """Mixed images and saliency, None where features are mixed instead; ratio: the first images' share; the logits."""

    images: Tensor | None
    saliency: Tensor | None
    ratio: Tensor
    logits: Tensor


class Point(NamedTuple):
    """One method at one lambda, averaged over pairs.

    grid: cells per side, for Puzzle Mix; "random" is the average over the grids that training draws from. saliency: how
    much of both images' is kept, each normalised to sum to 1. variation: the mean absolute difference of neighbouring
    pixels, down plus across. loss: the cross-entropy against the mixed label. top1: how often the first prediction is
    one of both classes; top2: how often the first two predictions are both.
    """

    method: str
    grid: str
    lam: float
    saliency: float | None
    variation: float | None
    loss: float
    top1: float
    top2: float


Mixer = Callable[[nn.Module, Pairs, float, torch.Generator], Mixture]


def different_pairs(labels: Tensor, generator: torch.Generator) -> Tensor:
    """Random partners (B,), such that the classes differ wherever that can be had by moving on to the next one."""
    partners = torch.randperm(len(labels), generator=generator)
    for _ in range(len(labels)):
        alike = labels[partners] == labels
        if not bool(alike.any()):
            break
        partners = torch.where(alike, (partners + 1) % len(labels), partners)
    return partners


def input_mixup(model: nn.Module, pairs: Pairs, lam: float, generator: torch.Generator) -> Mixture:
    """Weighted sums."""
    pairing = Pairing(pairs.partners, lam)
    images = mix_pairs(pairs.images, pairing)
    return Mixture(images, mix_pairs(pairs.saliency, pairing), _shares(pairs, lam), model(images))


def cutmix(model: nn.Module, pairs: Pairs, lam: float, generator: torch.Generator) -> Mixture:
    """Pasted rectangles, one per batch, the label weighted by area.

    They lie inside the image, so that their area is what lambda says; in training they may be clipped at the border.
    """
    side = math.sqrt(1 - lam)
    top, left = (side / 2 + (1 - side) * torch.rand(2, generator=generator)).tolist()
    drawn = CutMixDraw(Pairing(pairs.partners, lam), top, left)
    images, share = cut_and_paste(pairs.images, drawn)
    saliency, _ = cut_and_paste(pairs.saliency[:, None], drawn)
    return Mixture(images, saliency[:, 0], _shares(pairs, share), model(images))


def manifold_mixup(layer: str) -> Mixer:
    """Weighted sums of the features after a layer."""

    def mix(model: nn.Module, pairs: Pairs, lam: float, generator: torch.Generator) -> Mixture:
        with mixed_after(model, layer, Pairing(pairs.partners, lam)):
            return Mixture(None, None, _shares(pairs, lam), model(pairs.images))

    return mix


def puzzle(grid: int, config: PuzzleMixConfig) -> Mixer:
    """Puzzle Mix at one grid."""

    def mix(model: nn.Module, pairs: Pairs, lam: float, generator: torch.Generator) -> Mixture:
        images, _, saliency, index = pairs
        mixed = puzzle_mix(images, saliency, index=index, lam=lam, grid=grid, config=config)
        return Mixture(mixed.images, mixed.apply(saliency[:, None])[:, 0], mixed.ratio, model(mixed.images))

    return mix


def _shares(pairs: Pairs, lam: float) -> Tensor:
    return torch.full((len(pairs.labels),), float(lam), device=pairs.labels.device)


def mixers(model: nn.Module, config: PuzzleMixConfig) -> list[tuple[str, str, Mixer]]:
    """Every method, the grid it is for, and how it mixes; manifold mixup after each of the first two stages."""
    hidden = [("manifold_mixup", "", manifold_mixup(layer)) for layer in stages(model)[:2]]
    puzzles = [("puzzle", str(grid), puzzle(grid, config)) for grid in GRIDS]
    return [("input_mixup", "", input_mixup), *hidden, ("cutmix", "", cutmix), *puzzles]


def measure(
    model: nn.Module,
    batches: Iterable[Pairs],
    generator: torch.Generator,
    *,
    lambdas: Sequence[float] = LAMBDAS,
    config: PuzzleMixConfig | None = None,
) -> list[Point]:
    """Mix every batch in every way at every lambda; the points of each method, averaged over all pairs."""
    ways = mixers(model, config or PuzzleMixConfig())
    sums: dict[tuple[str, str, float], list[Tensor]] = {}
    with eval_mode(model), torch.no_grad():
        for pairs in batches:
            pairs = pairs._replace(saliency=pairs.saliency / pairs.saliency.sum((1, 2), keepdim=True))
            for (method, grid, mix), lam in ((way, lam) for way in ways for lam in lambdas):
                values = _judge(mix(model, pairs, lam, generator), pairs)
                sums.setdefault((method, grid, lam), []).append(values)
    points = [_point(key, torch.cat(values, 1).double().mean(1)) for key, values in sums.items()]
    return points + list(_random_grid(points))


def _judge(mixture: Mixture, pairs: Pairs) -> Tensor:
    """The five measures of each pair, (5,B)."""
    first, second = pairs.labels, pairs.labels[pairs.partners]
    missing = torch.full_like(mixture.ratio, torch.nan)
    losses = [F.cross_entropy(mixture.logits, labels, reduction="none") for labels in (first, second)]
    top = mixture.logits.topk(2).indices
    both = torch.stack([first, second], 1)
    return torch.stack(
        [
            missing if mixture.saliency is None else mixture.saliency.sum((1, 2)),
            missing if mixture.images is None else total_variation(mixture.images),
            mixture.ratio * losses[0] + (1 - mixture.ratio) * losses[1],
            (top[:, :1] == both).any(1).float(),
            (top.sort(1).values == both.sort(1).values).all(1).float(),
        ]
    )


def total_variation(images_BCHW: Tensor) -> Tensor:
    """Mean absolute difference between neighbouring pixels, down plus across: (B,)."""
    down, across = (images_BCHW.diff(dim=dim).abs().mean((1, 2, 3)) for dim in (2, 3))
    return down + across


def _point(key: tuple[str, str, float], values: Tensor) -> Point:
    saliency, variation, loss, top1, top2 = values.tolist()
    return Point(*key, _known(saliency), _known(variation), loss, top1, top2)


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _random_grid(points: Sequence[Point]) -> Iterator[Point]:
    """Puzzle Mix as it is trained with, a grid drawn per batch: the average over the grids."""
    puzzles = [point for point in points if point.method == "puzzle"]
    for lam in dict.fromkeys(point.lam for point in puzzles):
        values = torch.tensor([point[3:] for point in puzzles if point.lam == lam], dtype=torch.float64)
        yield Point("puzzle", "random", lam, *values.mean(0).tolist())

"""The usual way to run Puzzle Mix, to compare with: one gco graph cut per image, and transport plans as dense matrices.

It gives the mixed images of the authors' implementation. gco comes with `pip install gco-wrapper`; its licence allows
research only, so nothing but this comparison may use it, and only where it is installed anyway.

Shape suffixes: B batch, C channels, H height, W width, R rows and K columns of the grid, N = R * K, L labels.
"""

import importlib
import math
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

try:
    gco = importlib.import_module("gco")
except ImportError:
    gco = None

BETA, GAMMA, ETA, XI = 1.2, 0.5, 0.2, 0.8
NEIGHBOURS = 4


class Terms(NamedTuple):
    """The mask's objective in floats; its fields mean what those of `puzzlemix.core.energy.MaskEnergy` mean.

    keep_first, keep_second (B,R,K), prior (B,L), down (B,R-1,K), across (B,R,K-1).
    """

    keep_first: Tensor
    keep_second: Tensor
    prior: Tensor
    down: Tensor
    across: Tensor


def usual_mix(images: Tensor, saliency: Tensor, index: Tensor, side: int, lam: float, labels: int = 3):
    """Mix square images (B,C,H,W) in [0, 1] with `images[index]`: the mixed images, and the masks (B,R,K)."""
    share = saliency_share(saliency, side)
    mask = 1 - graph_cuts(mask_terms(images, share, index, lam, labels)).float() / (labels - 1)
    first = move(images, dense_plans(share, mask > 0))
    second = move(images[index], dense_plans(share[index], mask < 1))
    weight = F.interpolate(mask[:, None], images.shape[2:])
    return weight * first + (1 - weight) * second, mask


def saliency_share(saliency_BHW: Tensor, side: int) -> Tensor:
    """Average over cells and let every map sum to 1: (B,R,K)."""
    pooled = F.avg_pool2d(saliency_BHW, saliency_BHW.shape[-1] // side)
    return pooled / pooled.sum((1, 2), keepdim=True)


def mask_terms(images: Tensor, share_BRK: Tensor, index: Tensor, lam: float, labels: int) -> Terms:
    """All terms of the objective for two labels or more."""
    side = share_BRK.shape[-1]
    beta = BETA / (16 * side)
    keep_first, keep_second = share_BRK[index], share_BRK.clone()
    weights = []
    for dim, seams in zip((1, 2), facing_differences(images, index, side), strict=True):
        borders = seams.shape[dim + 2]
        for keep, shown in ((keep_first, 0), (keep_second, 1)):
            keep.narrow(dim, 0, borders).add_(seams[shown].sum(0), alpha=beta * GAMMA / 2)
            keep.narrow(dim, 1, borders).add_(seams[:, shown].sum(0), alpha=beta * GAMMA / 2)
        rest = (seams[1, 0] + seams[0, 1] - seams[1, 1] - seams[0, 0]) / 2
        weights.append(beta * (1 + GAMMA * rest))
    prior = mixing_prior(lam, labels, side * side).expand(len(images), -1)
    return Terms(keep_first, keep_second, prior, *weights)


def facing_differences(images: Tensor, index: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """How pooled pixels differ across borders, (2,2,B,R-1,K) down and (2,2,B,R,K-1) across.

    The first two axes tell which image the near and the far cell show, 0 the first and 1 the second.
    """
    block = images.shape[-1] // side
    pooling = min(NEIGHBOURS, block)
    run = block // pooling
    first = F.avg_pool2d(images, pooling)
    pair = torch.stack([first, first[index]])
    above, below = pair[..., run - 1 : -1 : run, :], pair[..., run::run, :]
    left, right = pair[..., run - 1 : -1 : run], pair[..., run::run]
    down = (above[:, None] - below).abs().mean(3).unflatten(-1, (side, run)).mean(-1)
    across = (left[:, None] - right).abs().mean(3).unflatten(-2, (side, run)).mean(-2)
    return down, across


def mixing_prior(lam: float, labels: int, cells: int) -> Tensor:
    """-eta log p / n of every label, (L,), with the 1e-8 that the authors add to p against log 0."""
    top = labels - 1
    chances = [math.comb(top, k) * (1 - lam) ** k * lam ** (top - k) for k in range(labels)]
    return torch.tensor([-ETA * math.log(chance + 1e-8) / cells for chance in chances], dtype=torch.float64)


def graph_cuts(terms: Terms) -> Tensor:
    """Labels (B,R,K) by alpha-beta swap, image after image."""
    return torch.from_numpy(np.stack([_cut(*image) for image in zip(*(term.numpy() for term in terms), strict=True)]))


def _cut(keep_first, keep_second, prior, down, across):
    """One image: costs become whole thousandths of 1 / n, and a cell's weight is label / m."""
    assert gco is not None
    factor = 1000 * keep_first.size
    z = np.linspace(0, 1, len(prior), dtype=np.float32)
    unary = (1 - z) * keep_first[..., None] + z * keep_second[..., None] + prior
    unary, down, across = ((factor * cost).astype(np.int32) for cost in (unary, down, across))
    apart = np.square(z[:, None] - z)
    return gco.cut_grid_graph(unary, apart, down, across, algorithm="swap").reshape(keep_first.shape)


def dense_plans(share_BRK: Tensor, visible_BRK: Tensor) -> Tensor:
    """Algorithm 1 on whole cost matrices, one round per row of the grid: (B,N,N), 1 where cell i moves to cell j."""
    side = share_BRK.shape[-1]
    cost = XI * squared_distances(side) - share_BRK.flatten(1)[:, :, None] * visible_BRK.flatten(1)[:, None].float()
    plan = torch.zeros_like(cost)
    for _ in range(side):
        wanted = torch.zeros_like(cost).scatter_(2, cost.argmin(2, keepdim=True), 1)
        cheapest = (wanted * cost).argmin(1, keepdim=True)
        plan = torch.zeros_like(cost).scatter_(1, cheapest, 1) * wanted
        cost += wanted - plan  # who was turned away finds the place one dearer from now on
    return plan


def squared_distances(side: int) -> Tensor:
    """Between all pairs of cells, in units of the grid's extent: (N,N)."""
    place = torch.cartesian_prod(*[torch.arange(side)] * 2)
    return (place[:, None] - place).square().sum(-1).float() / (side - 1) ** 2


def move(images: Tensor, plan_BNN: Tensor) -> Tensor:
    """Carry the blocks along by a product with the whole plan: for every pixel of a block anew, as the authors do."""
    side = math.isqrt(plan_BNN.shape[1])
    size = images.shape[-1] // side
    blocks = F.unfold(images, size, stride=size)  # (B,C*h*w,N)
    moved = plan_BNN.mT[:, None] @ blocks[..., None]
    return F.fold(moved[..., 0], images.shape[2:], size, stride=size)

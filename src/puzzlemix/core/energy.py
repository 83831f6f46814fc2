"""The paper's mask objective, term by term, and the energy they add up to.

Shape suffixes: B batch, C channels, R rows and K columns of the grid, L labels. Numbers of a border between a cell and
the one below it are called `down` and have R - 1 rows; those to the right are called `across` and have K - 1 columns.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from .blocks import Layout, largest_divisor, pool
from .mask.problem import BUDGET, MaskProblem
from .params import PuzzleMixConfig


class MaskEnergy(NamedTuple):
    """E(z) = sum_i (1 - z_i) keep_first_i + z_i keep_second_i + prior(z_i), plus sum_ij w_ij (z_i - z_j)^2, z = k / m.

    keep_first, keep_second (B,R,K): what it costs to show only the first, only the second image in a cell;
    prior (B,L): what a label costs anywhere, infinite where it is forbidden; down (B,R-1,K), across (B,R,K-1): w.
    """

    keep_first: Tensor
    keep_second: Tensor
    prior: Tensor
    down: Tensor
    across: Tensor

    @property
    def top(self) -> int:
        """The largest label, m."""
        return self.prior.shape[1] - 1

    def evaluate(self, labels_BRK: Tensor) -> Tensor:
        """Energy of each image's labelling: (B,) float64."""
        labels = labels_BRK.long()
        z = labels.double() / self.top
        unary = (1 - z) * self.keep_first + z * self.keep_second
        prior = self.prior.double().gather(1, labels.flatten(1)).sum(1)
        down = (self.down * z.diff(dim=1) ** 2).sum((1, 2))
        across = (self.across * z.diff(dim=2) ** 2).sum((1, 2))
        return unary.sum((1, 2)) + prior + down + across

    def problem(self) -> MaskProblem:
        """Quantise, each image by a scale of its own, to the integers the solvers take.

        It is the differences between labels that are rounded: a convex energy stays convex.
        """
        slope = (self.keep_second - self.keep_first) / self.top
        prior = _rises(self.prior)
        edges = torch.cat([self.down.flatten(1), self.across.flatten(1), torch.zeros_like(self.prior)], 1).amax(1)
        steepest = slope.abs().amax((1, 2)) + prior.masked_fill(prior.isinf(), 0).abs().amax(1)
        limit = BUDGET // self.labels
        scale = (limit / (self.top**2 * steepest + 8 * edges).clamp_min(1e-30))[:, None, None]
        steps = (slope[..., None] + prior[:, None, None]) * scale[..., None]
        bound = limit // self.top**2
        return MaskProblem(
            steps.round().clamp(-bound, bound).int(),
            (self.down * scale).round().int(),
            (self.across * scale).round().int(),
        )

    @property
    def labels(self) -> int:
        """How many labels there are."""
        return self.prior.shape[1]


def _rises(prior_BL: Tensor) -> Tensor:
    """The steps from label to label; where labels are forbidden, infinitely far towards the allowed one."""
    rises = prior_BL.diff(dim=1)
    towards_allowed = torch.where(prior_BL[:, :1].isinf(), -torch.inf, torch.inf)
    return torch.where(rises.isfinite(), rises, towards_allowed)


class Faces(NamedTuple):
    """The pooled pixels along the four borders of every cell.

    top, bottom (B,C,R,K,w): along the upper and lower border; left, right (B,C,R,K,h): along the other two.
    """

    top: Tensor
    bottom: Tensor
    left: Tensor
    right: Tensor

    def of(self, index: Tensor) -> "Faces":
        """The faces of each image's partner."""
        return Faces(*(face[index] for face in self))


def cell_faces(images_BCHW: Tensor, layout: Layout, neighbours: int) -> Faces:
    """Pool the padded images by at most `neighbours` pixels and take what lies along the cells' borders."""
    size = largest_divisor(layout.block[0], neighbours), largest_divisor(layout.block[1], neighbours)
    pooled = pool(images_BCHW, size).float()
    high, wide = layout.block[0] // size[0], layout.block[1] // size[1]
    cells = pooled.unflatten(3, (layout.cols, wide)).unflatten(2, (layout.rows, high))  # (B,C,R,h,K,w)
    return Faces(cells[:, :, :, 0], cells[:, :, :, -1], cells[..., 0].transpose(3, 4), cells[..., -1].transpose(3, 4))


class Seams(NamedTuple):
    """phi_ij(a, b): how a cell of image a differs from the neighbouring cell of image b along their border.

    down (2,2,B,R-1,K), across (2,2,B,R,K-1): the first two axes are a and b, 0 the first image and 1 the second.
    """

    down: Tensor
    across: Tensor


def data_seams(first: Faces, second: Faces, std: Tensor | None) -> Seams:
    """Mean absolute difference of facing pixels, in [0, 1] images (Definition 2).

    std (C,): the standard deviations the images were divided by, if they were.
    """
    down = _differences((first.bottom, second.bottom), (first.top, second.top), std, dim=2)
    across = _differences((first.right, second.right), (first.left, second.left), std, dim=3)
    return Seams(down, across)


def _differences(near: tuple[Tensor, ...], far: tuple[Tensor, ...], std: Tensor | None, dim: int) -> Tensor:
    """Compare the near cell's face with the next cell's, for all four choices of images."""
    count = near[0].shape[dim] - 1
    near_2 = torch.stack([face.narrow(dim, 0, count) for face in near])[:, None]
    far_2 = torch.stack([face.narrow(dim, 1, count) for face in far])[None]
    apart = (near_2 - far_2).abs_().mean(-1)
    apart = apart if std is None else apart * std[:, None, None]
    return apart.mean(3).nan_to_num(0, posinf=0)  # a broken pixel must not spread to the whole mask


def saliency_cost(first_BRK: Tensor, second_BRK: Tensor) -> Tensor:
    """u_i(z) = z s(x_0)_i + (1 - z) s(x_1)_i: showing only one image costs the other's saliency, (2,B,R,K)."""
    return torch.stack([second_BRK, first_BRK])


def label_smoothness(layout: Layout, beta: float) -> tuple[float, float]:
    """Beta psi: the weights of (z_i - z_j)^2 between rows and between columns (Definition 1).

    A straight cut across the whole image costs beta / 16 in every geometry.
    """
    return beta / (16 * layout.cols), beta / (16 * layout.rows)


def seam_cost(seam: Tensor) -> tuple[Tensor, Tensor]:
    """The part of phi that is linear in z_i and z_j: what the near and the far cell pay for showing only one image.

    Each result is (2,B,..), first axis: which image is shown. With these alone phi is the paper's multi-label form.
    """
    return seam.sum(1) / 2, seam.sum(0) / 2


def seam_curvature(seam: Tensor) -> Tensor:
    """delta_ij = (phi(1,0) + phi(0,1) - phi(1,1) - phi(0,0)) / 2: what the linear part of phi leaves over."""
    return (seam[0, 1] + seam[1, 0] - seam[0, 0] - seam[1, 1]) / 2


def mixing_prior(lam_B: Tensor, top: int, cells: int, eta: float) -> Tensor:
    """-eta log p(z) / n for k = m z ~ Binomial(m, 1 - lam): (B,L), infinite where lam = 0 or 1 forbids a label."""
    labels = torch.arange(top + 1, device=lam_B.device, dtype=torch.float32)
    ways = torch.lgamma(labels[-1] + 1) - torch.lgamma(labels + 1) - torch.lgamma(top - labels + 1)
    lam = lam_B.float()[:, None]
    chance = ways + torch.xlogy(labels, 1 - lam) + torch.xlogy(top - labels, lam)
    return torch.where(chance.isinf(), torch.inf, -eta / cells * chance)


def mask_energy(
    shares: tuple[Tensor, Tensor], seams: Seams, lam_B: Tensor, layout: Layout, config: PuzzleMixConfig
) -> MaskEnergy:
    """Add up the terms for two images whose cells hold saliency `shares`, (B,R,K) each, and meet in `seams`."""
    keep = saliency_cost(*shares)
    weights = []
    for dim, seam, beta in zip((2, 3), seams, label_smoothness(layout, config.beta), strict=True):
        near, far = seam_cost(seam)
        borders = seam.shape[dim + 1]
        keep.narrow(dim, 0, borders).add_(near, alpha=beta * config.gamma)
        keep.narrow(dim, 1, borders).add_(far, alpha=beta * config.gamma)
        weights.append(beta * edge_factor(seam, config))
    prior = mixing_prior(lam_B, config.top, layout.cells, config.eta)
    return MaskEnergy(keep[0], keep[1], prior, *weights)


def edge_factor(seam: Tensor, config: PuzzleMixConfig) -> Tensor:
    """What data smoothness makes of an edge's weight: the paper's form leaves it, the reference's adds the curvature.

    For images in [0, 1] the factor is never negative; for others it is clamped at 0, so that an optimum can be found.
    """
    if config.data_smoothness == "paper":
        return torch.ones_like(seam[0, 0])
    return (1 + config.gamma * seam_curvature(seam)).clamp_min(0)

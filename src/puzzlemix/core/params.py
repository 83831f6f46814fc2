"""What a mix depends on: the coefficients, which stay, and the draw, which is new for every batch."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .adversarial import Adversarial, AdversarialDraw
from .checks import is_number, is_whole
from .mask import LABELS
from .mask import SOLVERS as MASK_SOLVERS
from .transport import SOLVERS as TRANSPORT_SOLVERS

GRIDS = (2, 4, 8, 16)
_COEFFICIENTS = ("beta", "gamma", "eta", "xi")
_CHOICES = {
    "data_smoothness": ("reference", "paper"),
    "mask_solver": tuple(MASK_SOLVERS),
    "transport": (*TRANSPORT_SOLVERS, None),
    "transport_gain": ("visible", "weight"),
}
_LEAST = {"neighbours": 1, "transport_block": 1, "cycles": 1}


@dataclass(frozen=True)
class PuzzleMixConfig:
    """The coefficients of the objective and how it is solved; the defaults are the paper's for CIFAR and Tiny-ImageNet.

    labels: how many mask values, 2 to 8; the paper's "binary" is 2.
    beta, gamma, eta, xi: weights of label smoothness, data smoothness (on top of beta), mixing prior, moved distance.
    neighbours: pixels averaged before two cells are compared across their border (ImageNet: 2).
    data_smoothness: "reference" (as published in code) or "paper" (the multi-label form of the text).
    mask_solver: "exact" or "swap". transport: "paper" (Algorithm 1), "exact" or None (mask only).
    transport_gain: what a block gains at a place: its saliency if the place is "visible" at all, or times the "weight".
    transport_block: move blocks of at most this many pixels instead of whole cells (CIFAR-100: 4).
    cycles: rounds of alternating minimisation.
    """

    labels: int = 3
    beta: float = 1.2
    gamma: float = 0.5
    eta: float = 0.2
    xi: float = 0.8
    neighbours: int = 4
    data_smoothness: str = "reference"
    mask_solver: str = "exact"
    transport: str | None = "paper"
    transport_gain: str = "visible"
    transport_block: int | None = None
    cycles: int = 1

    def __post_init__(self):
        if not is_whole(self.labels, LABELS[0], LABELS[-1]):
            raise ValueError(f"labels={self.labels!r}: pass a whole number from {LABELS[0]} to {LABELS[-1]}")
        for name in _COEFFICIENTS:
            value = getattr(self, name)
            if not is_number(value, 0, sys.float_info.max):
                raise ValueError(f"{name}={value!r}: pass a finite number of at least 0")
        if self.gamma > 1:
            raise ValueError(
                f"gamma={self.gamma!r}: above 1 neighbouring cells may gain by differing (the energy is no longer "
                "submodular, Proposition 1 of the paper) and no optimum can be promised: pass at most 1"
            )
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(map(repr, choices))}")
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is None and name == "transport_block":
                continue
            if not is_whole(value, least):
                raise ValueError(f"{name}={value!r}: pass a whole number of at least {least}")

    @property
    def top(self) -> int:
        """The largest label, the paper's m."""
        return self.labels - 1


@dataclass(frozen=True)
class Draw:
    """All that is random about one batch.

    index (B,): the partner of each image; lam: the share of the first image; grid: cells per side or (rows, cols);
    mixed: False where the batch stays as it is; adversarial: the noise of Algorithm 2, if it is used.
    """

    index: Tensor
    lam: float
    grid: int | tuple[int, int]
    mixed: bool = True
    adversarial: AdversarialDraw | None = None


def draw(
    generator: torch.Generator,
    batch: int,
    *,
    alpha: float = 1.0,
    grids: Sequence[int | tuple[int, int]] = GRIDS,
    prob: float = 1.0,
    adversarial: Adversarial | None = None,
) -> Draw:
    """Draw the pairing, lam ~ Beta(alpha, alpha), the grid, and whether to mix at all, for a batch of `batch` images.

    The generator must be a CPU one: the host needs the numbers, and would have to wait for an accelerator.
    """
    if generator.device.type != "cpu":
        raise ValueError(f"the generator is on {generator.device}: pass torch.Generator() of the CPU")
    uniform = torch.rand(3, generator=generator, dtype=torch.float64).tolist()
    return Draw(
        index=torch.randperm(batch, generator=generator),
        lam=_beta_quantile(uniform[0], alpha),
        grid=grids[int(uniform[1] * len(grids))],
        mixed=uniform[2] < prob,
        adversarial=None if adversarial is None else adversarial.draw(generator),
    )


def _beta_quantile(uniform: float, alpha: float) -> float:
    """Turn a uniform number into one of Beta(alpha, alpha)."""
    if alpha == 1:
        return uniform
    from scipy.special import betaincinv

    return float(betaincinv(alpha, alpha, uniform))

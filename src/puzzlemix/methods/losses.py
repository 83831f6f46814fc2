"""Losses against soft targets, and what a method makes of class indices and logits.

All are computed in at least float32, whatever the precision of the logits.

Shape suffixes: B batch, N classes.
"""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.targets import one_hot
from .base import Step

_MOST_SHOWN = 20


def soft_cross_entropy(logits_BN: Tensor, targets_BN: Tensor) -> Tensor:
    """Cross-entropy against probabilities, averaged over the batch: a number."""
    return -(targets_BN * log_probabilities(logits_BN)).sum(1).mean()


def softmax_bce(logits_BN: Tensor, targets_BN: Tensor) -> Tensor:
    """Binary cross-entropy between each class's softmax and its target, averaged over batch AND classes: a number.

    The loss of the reference's CIFAR and Tiny-ImageNet runs; its gradients are about 2/N of the cross-entropy's.
    """
    log_BN = log_probabilities(logits_BN)
    return -(targets_BN * log_BN + (1 - targets_BN) * _log_of_rest(log_BN)).mean()


def pair_cross_entropy(logits_BN: Tensor, first_B: Tensor, second_B: Tensor, lam: Tensor | float) -> Tensor:
    """Average over the batch of lam CE(logits, first) + (1 - lam) CE(logits, second); lam one number or (B,).

    The same as `soft_cross_entropy` with the mixed targets, for loops that keep the two class indices.
    """
    logits_BN = at_least_float32(logits_BN)
    first = F.cross_entropy(logits_BN, first_B, reduction="none")
    second = F.cross_entropy(logits_BN, second_B, reduction="none")
    return (lam * first + (1 - lam) * second).mean()


def smooth(targets_BN: Tensor, amount: float) -> Tensor:
    """Label smoothing: move this share of every row to all classes alike."""
    return targets_BN * (1 - amount) + amount / targets_BN.shape[1]


def log_probabilities(logits_BN: Tensor) -> Tensor:
    """Log-softmax in at least float32."""
    return at_least_float32(logits_BN).log_softmax(1)


def at_least_float32(values: Tensor) -> Tensor:
    """Half precision to float32."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def _log_of_rest(log_BN: Tensor) -> Tensor:
    """log(1 - p) for each class; for the likeliest, where 1 - p may vanish, added up from the other classes."""
    top_B1 = log_BN.argmax(1, keepdim=True)
    rest_B1 = log_BN.scatter(1, top_B1, -torch.inf).logsumexp(1, keepdim=True)
    return torch.log1p(-log_BN.exp().scatter(1, top_B1, 0.0)).scatter(1, top_B1, rest_B1)


class Loss(NamedTuple):
    """A function (logits, targets) -> number, and the weight of a cross-entropy beside it, given the classes."""

    function: Callable[[Tensor, Tensor], Tensor]
    clean_weight: Callable[[int], float]


LOSSES = {
    "cross_entropy": Loss(soft_cross_entropy, lambda classes: 1.0),
    "bce": Loss(softmax_bce, lambda classes: 2.0 / classes),
}


@dataclass(frozen=True)
class LossSettings:
    """What every method can be told.

    loss: "cross_entropy", or "bce" as in the reference's CIFAR and Tiny-ImageNet runs. label_smoothing: the share of
    each target that the loss spreads over all classes.
    """

    loss: str = "cross_entropy"
    label_smoothing: float = 0.0

    def __post_init__(self):
        check_known(self.loss, LOSSES, "loss")
        check_shares(label_smoothing=self.label_smoothing)


class Objective:
    """A loss set up for a number of classes."""

    def __init__(self, settings: LossSettings, classes: int):
        if classes < 2:
            raise ValueError(f"classes={classes!r}: pass at least 2, or there is nothing to tell apart")
        self.classes = classes
        self.label_smoothing = settings.label_smoothing
        self._loss = LOSSES[settings.loss]

    @property
    def clean_weight(self) -> float:
        """The weight of a plain cross-entropy beside this loss: 2 / N beside "bce", whose gradients are as small."""
        return self._loss.clean_weight(self.classes)

    def one_hot(self, labels_B: Tensor) -> Tensor:
        """Class indices (B,) -> float32 (B,N)."""
        return one_hot(labels_B, self.classes)

    def __call__(self, logits_BN: Tensor, targets_BN: Tensor) -> Tensor:
        """The loss against smoothed targets, a number."""
        if logits_BN.shape != targets_BN.shape:
            raise ValueError(
                f"the model returned {tuple(logits_BN.shape)} for {len(targets_BN)} images of {self.classes} classes: "
                "build both for the same number of classes"
            )
        return self._loss.function(logits_BN, smooth(targets_BN, self.label_smoothing))

    def step(self, logits_BN: Tensor, targets_BN: Tensor) -> Step:
        """A step whose loss is this one and nothing else."""
        return Step(self(logits_BN, targets_BN), logits_BN.detach(), targets_BN)


# ---- checks that several methods share ---------------------------------------------------------------------------


def check_known(name: str, known: Iterable[str], what: str) -> None:
    """The name must be a known one."""
    known = list(known)
    if name not in known:
        raise unknown(name, known, what)


def unknown(name: str, known: Iterable[str], what: str) -> ValueError:
    """An error that suggests the known names nearest to this one."""
    known = list(known)
    near = difflib.get_close_matches(str(name).lower().replace("-", "_"), known)
    shown = ", ".join(map(repr, known[:_MOST_SHOWN])) + (", ..." if len(known) > _MOST_SHOWN else "")
    advice = f"did you mean {' or '.join(map(repr, near))}?" if near else f"choose one of {shown}"
    return ValueError(f"{what} {name!r} is unknown: {advice}")


def check_shares(**values: float) -> None:
    """Each value must lie in [0, 1]."""
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value!r}: pass a number from 0 to 1")


def check_positive(**values: float) -> None:
    """Each value must be finite and above 0."""
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise ValueError(f"{name}={value!r}: pass a positive number")


def check_counts(**values: int | None) -> None:
    """Each value must be a whole number of at least 1, or None."""
    for name, value in values.items():
        if value is not None and (not isinstance(value, int) or value < 1):
            raise ValueError(f"{name}={value!r}: pass a whole number of at least 1")

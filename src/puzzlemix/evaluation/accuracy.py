"""How often a classifier is right, and how well it knows.

Shape suffixes: B batch, N classes.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.checks import require, span
from ..core.saliency import find_logits
from .calibration import BINS, calibration_error, confidence_bins

Logits = Callable[[Any], Tensor]


class Accuracy(NamedTuple):
    """How a classifier did on so many images.

    top1, top5: shares from 0 to 1 whose class came first, and among the first five. loss: the mean cross-entropy. ece:
    the expected calibration error, 0 to 1, over 15 bins of confidence.
    """

    top1: float
    top5: float
    loss: float
    ece: float
    images: int


def evaluate(model: nn.Module, batches: Iterable, *, logits: Logits | None = None) -> Accuracy:
    """Judge a model in eval mode on batches that begin with images (B,C,H,W) and class indices (B,).

    Every module is left in the mode it was in. With fewer than six classes top-5 is always 1. logits: from what the
    model returns to its logits (B,N), where they are not found by themselves.
    """
    with eval_mode(model), torch.no_grad():
        return accuracy_of(summed(batches, lambda images, labels, samples: judge_on(model, images, labels, logits)))


def summed(batches: Iterable, find: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
    """Add up what is found of the images, labels and sample numbers of every batch, in float64 on the CPU.

    A batch is (images, labels, samples, ...) as `data.Loader` gives it, or (images, labels): these are numbered on.
    """
    parts = [find(*batch) for batch in numbered(batches)]
    if not parts:
        raise ValueError("there is nothing to evaluate on: pass at least one batch")
    # read at the end: an accelerator need not be waited for
    return torch.stack(parts).double().cpu().sum(0)


def numbered(batches: Iterable) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Images, labels and sample numbers, counted up where batches do not bring them."""
    first = 0
    for images, labels, *more in batches:
        samples = more[0] if more else torch.arange(first, first + len(images))
        first += len(images)
        yield images, labels, samples.to(images.device)


def judge_on(model: nn.Module, images: Tensor, labels: Tensor, logits: Logits | None) -> Tensor:
    """Ask the model and `judge` what it says."""
    return judge((logits or find_logits)(model(images)), labels)


@contextlib.contextmanager
def eval_mode(model: nn.Module) -> Iterator[None]:
    """Every module in eval mode, and afterwards in its own: a layer that was frozen stays so."""
    before = [(module, module.training) for module in model.modules()]
    try:
        for module, _ in before:
            module.training = False
        yield
    finally:
        for module, mode in before:
            module.training = mode


def judge(logits_BN: Tensor, labels_B: Tensor) -> Tensor:
    """What `accuracy_of` needs to know of a batch, to be added up over batches and processes: (4 + 3 BINS) float32."""
    _check(logits_BN, labels_B)
    logits_BN = logits_BN.float()
    # a model that diverged is not right by the accident of how NaN sorts
    hits_B5 = (logits_BN.topk(min(5, logits_BN.shape[1])).indices == labels_B[:, None]) & logits_BN.isfinite().all(
        1, True
    )
    loss = F.cross_entropy(logits_BN, labels_B, reduction="sum")
    counts_4 = torch.stack([hits_B5[:, 0].sum(), hits_B5.sum(), loss, torch.ones_like(labels_B).sum()])
    return torch.cat([counts_4, confidence_bins(logits_BN, hits_B5[:, 0]).flatten()])


def accuracy_of(sums: Tensor) -> Accuracy:
    """Read the sum of what `judge` gave."""
    top1, top5, loss, images = sums[:4].tolist()
    ece = calibration_error(sums[4:].view(3, BINS))
    return Accuracy(top1 / images, top5 / images, loss / images, ece, round(images))


def _check(logits_BN: Tensor, labels_B: Tensor) -> None:
    if logits_BN.dim() != 2 or labels_B.shape != logits_BN.shape[:1] or labels_B.dtype != torch.int64:
        raise ValueError(
            f"logits have shape {tuple(logits_BN.shape)}, labels {tuple(labels_B.shape)} and {labels_B.dtype}: pass "
            "batches of images and int64 labels (B,), and logits= if the model's output is not (B,N)"
        )
    classes = logits_BN.shape[1]
    require(
        (labels_B >= 0) & (labels_B < classes),
        lambda: f"labels {span(labels_B)}, but the model knows {classes} classes: pass the data it was trained for",
    )

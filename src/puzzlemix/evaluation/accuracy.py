"""How often a classifier is right.

Shape suffixes: B batch, N classes.
"""

import contextlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Accuracy(NamedTuple):
    """Shares from 0 to 1 of the images whose class came first and among the first five, the mean loss, how many."""

    top1: float
    top5: float
    loss: float
    count: int


def evaluate(model: nn.Module, batches: Iterable) -> Accuracy:
    """Judge a model in eval mode on batches that begin with images (B,C,H,W) and class indices (B,).

    Every module is left in the mode it was in. With fewer than six classes top-5 is always 1.
    """
    with eval_mode(model), torch.no_grad():
        # one small tensor per batch, read at the end: an accelerator need not be waited for
        parts = [_judge(model(images), labels) for images, labels, *_ in batches]
    if not parts:
        raise ValueError("there is nothing to evaluate on: pass at least one batch")
    top1, top5, loss, count = torch.stack(parts).double().cpu().sum(0).tolist()
    return Accuracy(top1 / count, top5 / count, loss / count, round(count))


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


def _judge(logits_BN: Tensor, labels_B: Tensor) -> Tensor:
    """How many of a batch are right at first and among five, its summed loss, its size: (4,) float32."""
    logits_BN = logits_BN.float()
    # a model that diverged is not right by the accident of how NaN sorts
    hits_B5 = (logits_BN.topk(min(5, logits_BN.shape[1])).indices == labels_B[:, None]) & logits_BN.isfinite().all(1, True)
    loss = F.cross_entropy(logits_BN, labels_B, reduction="sum")
    return torch.stack([hits_B5[:, 0].sum(), hits_B5.sum(), loss, torch.ones_like(labels_B).sum()])

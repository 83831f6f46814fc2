"""How a classifier's error grows with the strength of an attack: one pass over the batches for a whole curve.

Shape suffixes: B batch, K points of a curve.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from ..core.saliency import input_gradient
from .accuracy import Accuracy, Logits, accuracy_of, eval_mode, judge_on, summed
from .attacks import PGD, check_range, moved, pgd
from .dice import Dice


def fgsm_curve(
    model: nn.Module, batches: Iterable, reaches_255: Sequence[float], *, logits: Logits | None = None
) -> list[Accuracy]:
    """Judge a model under `fgsm` of each reach; one gradient serves all of them."""

    def find(images: Tensor, labels: Tensor, samples: Tensor) -> Tensor:
        check_range(images)
        slope = input_gradient(model, images, labels, logits=logits)
        with eval_mode(model), torch.no_grad():
            return torch.stack([judge_on(model, moved(images, slope, reach), labels, logits) for reach in reaches_255])

    return [accuracy_of(row) for row in summed(batches, find)] if reaches_255 else []


def pgd_curve(
    model: nn.Module, batches: Iterable, settings: PGD, *, seed: int = 0, logits: Logits | None = None
) -> list[float]:
    """The error after 0, 1, ... steps of `pgd`, as shares of the images; each image's starts follow from the seed."""

    def find(images: Tensor, labels: Tensor, samples: Tensor) -> Tensor:
        dice = Dice.of_samples("pgd", seed, samples=samples)
        hits_KB = pgd(model, images, labels, settings, dice, logits=logits).hits
        return torch.cat([hits_KB.sum(1), hits_KB.new_tensor([len(images)], dtype=torch.int64)])

    *hits_K, images = summed(batches, find).tolist()
    return [count / images for count in hits_K]

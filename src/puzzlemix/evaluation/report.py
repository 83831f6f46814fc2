"""All that can be asked about a classifier, asked at once: plain values for a record."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from ..data.loader import Loader, Page
from ..data.spec import Split
from .accuracy import Logits, evaluate
from .attacks import PGD
from .corruption_error import drawn_errors, official_errors
from .corruptions import DEFINITIONS
from .curves import fgsm_curve, pgd_curve
from .official import Official, open_official

DRAWN = "drawn"


@dataclass(frozen=True)
class Questions:
    """What is asked beside accuracy, loss and calibration.

    fgsm_255: reaches of the fast gradient sign method, in 1/255 of the pixel range. pgd: settings of projected gradient
    descent. corruptions: "drawn" to compute them, or the folder of a published corrupted set. definition: cifar,
    tiny-imagenet or imagenet, by whose parameters to draw them; by default, those of the nearest size. batch_size:
    images at a time; results do not depend on it. workers: processes that read images from disk. seed: of the attacks'
    starts and of the corruptions.
    """

    fgsm_255: tuple[float, ...] = (8.0,)
    pgd: PGD | None = None
    corruptions: str | None = None
    definition: str | None = None
    batch_size: int = 100
    workers: int = 0
    seed: int = 0

    def __post_init__(self):
        if any(not 0 <= reach <= 255 for reach in self.fgsm_255):
            raise ValueError(f"fgsm_255={self.fgsm_255!r}: pass numbers of 1/255 steps from 0 to 255")
        if self.batch_size < 1 or self.workers < 0 or self.seed < 0:
            raise ValueError(
                f"batch_size={self.batch_size}, workers={self.workers}, seed={self.seed}: pass a batch size from 1 "
                "on, and no negative numbers"
            )
        if self.definition is not None and self.definition not in DEFINITIONS:
            raise ValueError(f"definition={self.definition!r}: choose one of {', '.join(DEFINITIONS)}")


def report(
    model: nn.Module,
    split: Split,
    asked: Questions,
    *,
    device: torch.device | str = "cpu",
    logits: Logits | None = None,
    tell: Callable[[str], None] = lambda stage: None,
) -> dict[str, Any]:
    """Answer all questions about a model of images in [0, 1] on a split; the model is moved to the device.

    tell: is called with a word about what begins. Errors are shares from 0 to 1.
    """
    model.to(device)
    official = _official(asked, split)  # what is wrong with it shows before anything is computed
    start = time.perf_counter()

    def batches(of: Split = split) -> Iterator[Page]:
        return Loader(of, seed=asked.seed, workers=asked.workers, device=device).test(asked.batch_size)

    tell(f"{len(split):,} images of {split.spec.name}")
    answers: dict[str, Any] = {"data": _about(split), "clean": evaluate(model, batches(), logits=logits)._asdict()}
    if asked.fgsm_255:
        tell("FGSM")
        found = fgsm_curve(model, batches(), asked.fgsm_255, logits=logits)
        answers["fgsm"] = [
            {"eps_255": reach, **one._asdict()} for reach, one in zip(asked.fgsm_255, found, strict=True)
        ]
    if asked.pgd is not None:
        tell("PGD")
        errors = pgd_curve(model, batches(), asked.pgd, seed=asked.seed, logits=logits)
        answers["pgd"] = {"error": errors[-1], "error_after_steps": errors, **asdict(asked.pgd)}
    if asked.corruptions is not None:
        tell("corruptions, each at 5 severities")
        answers["corruptions"] = (
            drawn_errors(model, batches(), seed=asked.seed, definition=asked.definition, logits=logits)
            if official is None
            else official_errors(model, official, batches, logits=logits)
        ).as_dict()
    return {**answers, "seconds": time.perf_counter() - start}


def _official(asked: Questions, split: Split) -> Official | None:
    if asked.corruptions is None or asked.corruptions == DRAWN:
        return None
    return open_official(asked.corruptions, split.spec)


def _about(split: Split) -> dict[str, Any]:
    spec = split.spec
    return {
        "name": spec.name,
        "images": len(split),
        "size": spec.size,
        "classes": spec.classes,
        "mean": list(spec.mean),
        "std": list(spec.std),
        "fingerprint": split.fingerprint()[:16],
    }

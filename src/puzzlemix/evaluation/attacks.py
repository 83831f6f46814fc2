"""Images changed so that a classifier errs: the fast gradient sign method and projected gradient descent.

Images are in [0, 1] and stay there; a model of normalised images goes into `models.Normalized`. Gradients are those of
the cross-entropy with the model in eval mode, and every module is left in the mode it was in. They come from
`core.saliency`, which takes each image's only up to a factor, in forms that neither cancel nor underflow. A step looks
at signs or directions alone, so an image that the model is sure of is attacked like any other: logits scaled until
their softmax is exactly one-hot protect nothing.

Shape suffixes: B batch, C channels, H height, W width, K steps (and the start).
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from ..core.checks import require, span
from ..core.saliency import find_logits, input_gradient
from .accuracy import Logits, eval_mode
from .dice import Dice

NORMS = ("linf", "l2")


@dataclass(frozen=True)
class PGD:
    """Settings of projected gradient descent.

    eps_255: how far an image may move, in 1/255 of the pixel range: every pixel (linf), or the whole image by its
    Euclidean length (l2; 128 is a length of about 0.5). step_255: the length of a step, measured likewise. steps: how
    many. restarts: how often to begin anew; an image counts as fooled once any of them fools the model. norm: linf or
    l2. random_start: begin anywhere within reach, not at the image.
    """

    eps_255: float = 8.0
    step_255: float = 2.0
    steps: int = 10
    restarts: int = 1
    norm: Literal["linf", "l2"] = "linf"
    random_start: bool = True

    def __post_init__(self):
        for name in ("eps_255", "step_255"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)!r}: pass a number of 1/255 steps of at least 0")
        if self.norm not in NORMS:
            raise ValueError(f"norm={self.norm!r}: choose one of {', '.join(NORMS)}")
        if self.steps < 0 or self.restarts < 1:
            raise ValueError(f"steps={self.steps!r}, restarts={self.restarts!r}: pass at least 0 steps and 1 start")
        if self.restarts > 1 and not self.random_start:
            raise ValueError(f"restarts={self.restarts!r} from the same place are the same: pass random_start=True")


class Attacked(NamedTuple):
    """What an attack came to.

    images (B,C,H,W): after the last step, of the first restart that succeeded, else of the last. hits (K,B): whether
    the attack had succeeded after 0, 1, ... steps in any restart, that is, whether one of just so many steps does.
    """

    images: Tensor
    hits: Tensor


def fgsm(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    eps_255: float,
    *,
    targeted: bool = False,
    logits: Logits | None = None,
) -> Tensor:
    """The fast gradient sign method: every pixel of images (B,C,H,W) in [0, 1] moves eps_255 / 255 up the loss.

    targeted: the labels are what the model shall say, and pixels move down the loss. logits: as in `input_gradient`.
    """
    if not 0 <= eps_255 <= 255:
        raise ValueError(f"eps_255={eps_255!r}: pass a number of 1/255 steps from 0 to 255")
    check_range(images)
    slope = input_gradient(model, images, labels, logits=logits)
    return moved(images, slope, -eps_255 if targeted else eps_255)


def moved(images: Tensor, slope: Tensor, eps_255: float) -> Tensor:
    """Every pixel eps_255 / 255 along the sign of its slope, inside [0, 1]."""
    return (images + eps_255 / 255 * slope.sign().to(images.dtype)).clamp(0, 1)


def attacked(model: nn.Module, batches: Iterable, eps_255: float) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches with their images changed by `fgsm`, for `evaluate`."""
    for images, labels, *_ in batches:
        yield fgsm(model, images, labels, eps_255), labels


def pgd(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    settings: PGD,
    dice: Dice | torch.Generator,
    *,
    targets: Tensor | None = None,
    logits: Logits | None = None,
) -> Attacked:
    """Projected gradient descent on images (B,C,H,W) in [0, 1] of classes labels (B,).

    It succeeds where the model says anything but the label or, with targets (B,), where it says the target. dice: what
    the starts are drawn from. logits: as in `input_gradient`.
    """
    check_range(images)
    dice = dice if isinstance(dice, Dice) else Dice.of_generator(dice, images)
    result = None
    for _ in range(settings.restarts):
        judge = _Judge(labels, targets, logits)
        changed = _descend(model, images, judge, settings, dice)
        hits = torch.stack(judge.hits)
        if result is None:
            result = Attacked(changed, hits)
        else:
            done_B111 = result.hits[-1][:, None, None, None]
            result = Attacked(torch.where(done_B111, result.images, changed), result.hits | hits)
    assert result is not None
    return result


def _descend(model: nn.Module, images: Tensor, judge: "_Judge", settings: PGD, dice: Dice) -> Tensor:
    """One run from its start; the judge sees every place on the way."""
    geometry, eps, step = _GEOMETRIES[settings.norm], settings.eps_255 / 255, settings.step_255 / 255
    changed = images
    if settings.random_start:
        changed = (images + geometry.anywhere(images, dice).to(images.dtype) * eps).clamp(0, 1)
    goal, sign = (judge.labels, 1) if judge.targets is None else (judge.targets, -1)
    for _ in range(settings.steps):
        slope = input_gradient(model, changed, goal, logits=judge)
        offset = changed - images + sign * step * geometry.direction(slope).to(images.dtype)
        changed = (images + geometry.within(offset, eps)).clamp(0, 1)
    with eval_mode(model), torch.no_grad():
        judge(model(changed))
    return changed


class _Judge:
    """Stands where the logits are read off the model's output, and notes each time where the attack has succeeded."""

    def __init__(self, labels: Tensor, targets: Tensor | None, logits: Logits | None):
        self.labels, self.targets = labels, targets
        self.hits: list[Tensor] = []
        self._logits = logits or find_logits

    def __call__(self, output: object) -> Tensor:
        scores = self._logits(output)
        said, valid = scores.detach().argmax(1), scores.detach().isfinite().all(1)
        # where NaN is said nothing is, so no label is right
        self.hits.append(~(valid & (said == self.labels)) if self.targets is None else valid & (said == self.targets))
        return scores


class _Linf:
    """Every pixel by itself."""

    @staticmethod
    def anywhere(images: Tensor, dice: Dice) -> Tensor:
        """Draw from the unit ball."""
        return dice.uniform(*images.shape[1:], low=-1, high=1)

    @staticmethod
    def direction(slope: Tensor) -> Tensor:
        """The steepest way up, of length 1."""
        return slope.sign()

    @staticmethod
    def within(offset: Tensor, eps: float) -> Tensor:
        """The nearest point in the ball."""
        return offset.clamp(-eps, eps)


class _L2:
    """The image as a whole."""

    @staticmethod
    def anywhere(images: Tensor, dice: Dice) -> Tensor:
        """Draw from the unit ball."""
        radius_B111 = dice.uniform(1, 1, 1) ** (1 / images[0].numel())
        return _L2.direction(dice.normal(*images.shape[1:])) * radius_B111

    @staticmethod
    def direction(slope: Tensor) -> Tensor:
        """The steepest way up, of length 1; none where it is flat."""
        return slope / _lengths(slope)

    @staticmethod
    def within(offset: Tensor, eps: float) -> Tensor:
        """The nearest point in the ball."""
        return offset * (eps / _lengths(offset)).clamp(max=1)


_GEOMETRIES = {"linf": _Linf, "l2": _L2}


def _lengths(images: Tensor) -> Tensor:
    """Euclidean length of every image, (B,1,1,1), never quite zero."""
    return images.flatten(1).norm(dim=1).clamp(min=1e-12)[:, None, None, None]


def check_range(images: Tensor) -> None:
    """Refuse images that are not in [0, 1]."""
    require(
        (images >= -1e-3) & (images <= 1 + 1e-3),
        lambda: (
            f"images {span(images)}: attacks work in [0, 1]; for a model of normalised images pass "
            "models.Normalized(model, mean, std) and the images themselves"
        ),
    )

"""Puzzle Mix and its variants, all by configuration, on top of the drop-in `puzzlemix.PuzzleMix`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..core.adversarial import Adversarial
from ..core.inputs import Grid
from ..core.params import GRIDS, Draw, PuzzleMixConfig, draw
from ..drop_in import PuzzleMix
from .augment import Augment, AugmentDraw, apply
from .base import Batch, Step
from .losses import LossSettings, Objective, check_counts, check_known, check_positive, check_shares
from .remembered import Remembered

PRECISIONS = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class PuzzleSettings(LossSettings):
    """Puzzle Mix; the defaults are the paper's for CIFAR.

    alpha: the first image's share is drawn from Beta(alpha, alpha). prob: the chance that a batch is mixed. grids: one
    is drawn per batch. mix: the objective and its solvers ("binary" is `PuzzleMixConfig(labels=2)`, "mask only" is
    `PuzzleMixConfig(transport=None)`). adversarial: the paper's "adv". augment: the paper's "aug", which mixes AugMix
    images. clean_weight: the paper's lambda_clean; clean_until_epoch: the first epoch without it. refresh: how many
    uses a saliency map serves. precision: of the saliency pass, "fp32", "bf16" or "fp16" (the loop's own where that is
    lower, and with a clean term).
    """

    alpha: float = 1.0
    prob: float = 1.0
    grids: tuple[Grid, ...] = GRIDS
    mix: PuzzleMixConfig = field(default_factory=PuzzleMixConfig)
    adversarial: Adversarial | None = None
    augment: Augment | None = None
    clean_weight: float = 0.0
    clean_until_epoch: int | None = None
    refresh: int | None = None
    precision: str = "fp32"

    def __post_init__(self):
        super().__post_init__()
        check_positive(alpha=self.alpha)
        check_shares(prob=self.prob)
        check_counts(refresh=self.refresh, clean_until_epoch=self.clean_until_epoch)
        check_known(self.precision, PRECISIONS, "precision")
        if not self.grids:
            raise ValueError(f"grids={self.grids!r}: pass at least one, e.g. (2, 4, 8, 16)")
        if not 0 <= self.clean_weight < float("inf"):
            raise ValueError(f"clean_weight={self.clean_weight!r}: pass a finite number of at least 0")
        if self.clean_until_epoch is not None and not self.clean_weight:
            raise ValueError(f"clean_until_epoch={self.clean_until_epoch} limits a clean term: pass clean_weight too")
        if self.refresh is not None:
            self._check_refresh()

    def _check_refresh(self) -> None:
        if self.augment is not None:
            raise ValueError("refresh keeps each sample's map, but AugMix never shows it twice alike: pass one of both")
        if self.clean_weight and self.clean_until_epoch is None:
            raise ValueError("refresh saves no pass that the clean term does not need anyway: pass one of both")

    def has_clean_term(self, epoch: int) -> bool:
        """Whether the clean loss counts in this epoch."""
        return self.clean_weight > 0 and (self.clean_until_epoch is None or epoch < self.clean_until_epoch)


class PuzzleDraw(NamedTuple):
    """The mix, and how each image is augmented before, if it is."""

    mix: Draw
    augment: AugmentDraw | None = None


class _Scaler(NamedTuple):
    """The loop's scaling, as the object with a `scale` method that the clean pass takes."""

    scale: Callable[[Tensor], Tensor]


class Puzzle:
    """The loss of the mixed images; a step depends on the generator, the model and remembered saliency only.

    Saliency, and the clean term that its pass can leave, belong to the cross-entropy of the hard labels, whatever the
    loss of the mixed images. It is that of the normalised images: for models that normalise images in [0, 1] themselves
    pass the `std` that they divide by. `mixup.last` shows the latest mix.
    """

    def __init__(self, classes: int, settings: PuzzleSettings | None = None, std: Sequence[float] | None = None):
        self.settings = settings or PuzzleSettings()
        self.objective = Objective(self.settings, classes)
        self.mixup = PuzzleMix(
            _no_model,
            classes,
            grids=self.settings.grids,
            config=self.settings.mix,
            refresh=self.settings.refresh,
            adversarial=self.settings.adversarial,
            precision=PRECISIONS[self.settings.precision],
            gradient_scale=std,
        )
        self._exchanged = Remembered.none()

    def loss(self, model: nn.Module, batch: Batch, generator: torch.Generator) -> Step:
        """Draw and apply."""
        return self.apply(model, batch, self.draw(generator, len(batch.images)))

    def draw(self, generator: torch.Generator, count: int) -> PuzzleDraw:
        """Draw for a batch of `count` images."""
        settings = self.settings
        mix = draw(
            generator,
            count,
            alpha=settings.alpha,
            grids=settings.grids,
            prob=settings.prob,
            adversarial=settings.adversarial,
        )
        return PuzzleDraw(mix, None if settings.augment is None else settings.augment.draw(generator, count))

    def apply(self, model: nn.Module, batch: Batch, drawn: PuzzleDraw) -> Step:
        """The loss for a given draw."""
        self.mixup.model = model
        if drawn.augment is not None:
            batch = batch._replace(images=apply(batch.images, drawn.augment))
        images, targets = self._mix(batch, drawn.mix)
        return self.objective.step(model(images), targets)

    def _mix(self, batch: Batch, drawn: Draw) -> tuple[Tensor, Tensor]:
        """Mixed images and targets; where there is a clean term, its gradients stay in the model."""
        if self.settings.has_clean_term(batch.epoch):
            weight = self.settings.clean_weight * self.objective.clean_weight
            scaler = None if batch.scale is None else _Scaler(batch.scale)
            return self.mixup.with_clean_gradient(batch.images, batch.labels, weight=weight, scaler=scaler, draw=drawn)
        return self.mixup(batch.images, batch.labels, samples=batch.samples, view=batch.view, draw=drawn)

    def exchange(self, gather: Callable[[Any], list[Any]]) -> None:
        """Let every process remember the maps of all: in the next epoch other ones will meet those images."""
        cache = self.mixup.cache
        if cache is None:
            return
        state = cache.state_dict()
        ours = Remembered.of(state)
        parts = gather(ours.since(self._exchanged))
        together = ours.updated([part for part in parts if len(part.samples)])
        cache.load_state_dict(state | together.as_dict())
        self._exchanged = together

    def state_dict(self) -> dict[str, Any]:
        """The remembered saliency."""
        return {} if self.mixup.cache is None else {"saliency": self.mixup.cache.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on with remembered saliency."""
        if ("saliency" in state) != (self.mixup.cache is not None):
            raise ValueError(
                f"the state {'holds' if state else 'lacks'} remembered saliency, but refresh={self.settings.refresh}: "
                "resume with the settings that the run was started with"
            )
        if self.mixup.cache is not None:
            self.mixup.cache.load_state_dict(state["saliency"])
            self._exchanged = Remembered.of(state["saliency"])


def _no_model(images: Tensor) -> Tensor:
    raise AssertionError("the model comes with each step")

"""Puzzle Mix as two lines in somebody's own training loop."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .core.adversarial import Adversarial, AdversarialDraw, PixelRange, add_noise, random_start, sharpen
from .core.checks import is_number, is_whole
from .core.inputs import Grid, channel_statistics, check_grid
from .core.mix import Mixed, puzzle_mix
from .core.params import GRIDS, Draw, PuzzleMixConfig, draw
from .core.saliency import clean_gradient, gradient_saliency, input_gradient
from .core.saliency_cache import SaliencyCache, View
from .core.targets import mix_classes, mix_rows, one_hot, smooth

_NO_GRADIENT = (
    "adversarial noise follows the gradient of the saliency pass, and there is none where saliency is supplied: "
    "leave out saliency=, or adversarial="
)


class _Given(NamedTuple):
    """What a caller knows about a batch beyond images and targets."""

    saliency: Tensor | None = None
    samples: Tensor | None = None
    view: View | None = None
    draw: Draw | None = None


class MixRecord(NamedTuple):
    """All of one call: its draw, the saliency it used, its adversarial noise if any, and the mix with its plans."""

    draw: Draw
    saliency: Tensor
    noise: Tensor | None
    mixed: Mixed


class PuzzleMix:
    """`images, targets = mixup(images, targets)`: Puzzle Mix with saliency from the model that is being trained.

    The model is only looked at, never changed or registered; while it is in eval mode batches stay unmixed. All
    randomness comes from `generator` (by default one that starts from torch's initial seed).
    """

    def __init__(
        self,
        model: Callable[[Tensor], Any],
        num_classes: int | None = None,
        *,
        alpha: float = 1.0,
        prob: float = 1.0,
        label_smoothing: float = 0.0,
        enabled: bool = True,
        grids: Sequence[Grid] = GRIDS,
        config: PuzzleMixConfig | None = None,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        generator: torch.Generator | None = None,
        saliency: Callable[[Tensor, Tensor], Tensor] | None = None,
        refresh: int | None = None,
        adversarial: Adversarial | None = None,
        loss: Callable[[Tensor, Tensor], Tensor] | None = None,
        logits: Callable[[Any], Tensor] | None = None,
        precision: torch.dtype = torch.float32,
        gradient_scale: Sequence[float] | None = None,
    ):
        """Set up for a model.

        num_classes: needed for targets that are class indices. alpha: lam ~ Beta(alpha, alpha). prob: the chance that
        a batch is mixed. grids: one is drawn per batch. mean, std: what the images are normalised by. saliency:
        a function (images, targets) -> maps in place of the model's gradient. refresh: use each map for this many
        calls, kept by `samples` and `view`. loss, logits, precision: how the saliency pass runs (`input_gradient`).
        gradient_scale: the standard deviations of a model that normalises images itself (`gradient_saliency`).
        """
        _check_probabilities(prob=prob, label_smoothing=label_smoothing)
        if not is_number(alpha, sys.float_info.min, sys.float_info.max):
            raise ValueError(f"alpha={alpha!r}: pass a positive number")
        if num_classes is not None and not is_whole(num_classes, 1):
            raise ValueError(f"num_classes={num_classes!r}: pass a whole number of at least 1")
        _check_grids(grids)
        if adversarial is not None and saliency is not None:
            raise ValueError(_NO_GRADIENT)
        if saliency is not None and refresh is not None:
            raise ValueError("refresh keeps gradient maps, but saliency= replaces them: pass one of the two")
        self.model = model
        self.num_classes = num_classes
        self.alpha = alpha
        self.prob = prob
        self.label_smoothing = label_smoothing
        self.enabled = enabled
        self.grids = tuple(grids)
        self.config = config or PuzzleMixConfig()
        self.mean, self.std = mean, std
        self.generator = generator or torch.Generator().manual_seed(torch.initial_seed())
        self.saliency = saliency
        self.cache = None if refresh is None else SaliencyCache(refresh)
        self.adversarial = adversarial
        self.pass_options = {"loss": loss, "logits": logits}
        self.precision = precision
        self.gradient_scale = gradient_scale
        self.last: MixRecord | None = None

    def __call__(
        self,
        images: Tensor,
        targets: Tensor,
        *,
        saliency: Tensor | None = None,
        samples: Tensor | None = None,
        view: View | None = None,
        draw: Draw | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Mixed images and soft targets (B,N), ready for `F.cross_entropy`.

        targets: class indices (B,), or (B,N). saliency: maps to use in place of the model's gradient. samples, view:
        the images' numbers in the data set and how they were cropped and flipped, for `refresh`. draw: to be used in
        place of a new one.
        """
        mixed = self._mix(images, targets, _Given(saliency, samples, view, draw), self._input_gradient)
        return self._with_soft_targets(images, targets, mixed)

    def pairs(self, images: Tensor, targets: Tensor, **options: Any) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor]]:
        """Like a call, with targets as (y_a, y_b, lam): the loss is lam * loss(., y_a) + (1 - lam) * loss(., y_b)."""
        mixed = self._mix(images, targets, _Given(**options), self._input_gradient)
        if mixed is None:
            return images, (targets, targets, torch.ones(len(images), device=images.device))
        return mixed.images, (targets, targets[mixed.index], mixed.ratio)

    def with_clean_gradient(
        self, images: Tensor, targets: Tensor, *, weight: float = 1.0, scaler: Any = None, draw: Draw | None = None
    ) -> tuple[Tensor, Tensor]:
        """Like a call, and the saliency pass leaves `weight` times the clean loss's gradients in the model's `.grad`.

        Call it after `zero_grad`; the mixed loss's `backward` adds to what is there. The pass runs in train mode. Pass
        the `GradScaler` if one scales the mixed loss. An unmixed batch gets the clean gradients all the same.
        """

        def gradient(batch: Tensor, labels: Tensor) -> Tensor:
            return clean_gradient(self.model, batch, labels, weight=weight, scaler=scaler, **self.pass_options)

        if self.saliency is not None:
            raise ValueError("the clean gradient comes from the saliency pass: leave out saliency= to have one")
        mixed = self._mix(images, targets, _Given(draw=draw), gradient, reuse=False)
        if mixed is None and self._is_on():
            gradient(images, targets)
        return self._with_soft_targets(images, targets, mixed)

    def replay(self, images: Tensor, targets: Tensor, record: MixRecord) -> tuple[Tensor, Tensor]:
        """Mix a batch just as an earlier call did: same draw, saliency and noise, no pass through the model."""
        mixed = self._solve(images, record.draw, record.saliency, record.noise)
        return self._with_soft_targets(images, targets, mixed)

    def state_dict(self) -> dict[str, Any]:
        """What a resumed run needs to go on drawing as if it had never stopped."""
        return {
            "generator": self.generator.get_state(),
            "cache": None if self.cache is None else self.cache.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`."""
        self.generator.set_state(state["generator"])
        if self.cache is not None and state["cache"] is not None:
            self.cache.load_state_dict(state["cache"])

    def _is_on(self) -> bool:
        return self.enabled and getattr(self.model, "training", True)

    def _mix(
        self,
        images: Tensor,
        targets: Tensor,
        given: _Given,
        gradient: Callable[[Tensor, Tensor], Tensor],
        reuse: bool = True,
    ) -> Mixed | None:
        """Draw, find the saliency and mix; None where the batch stays as it is."""
        if not self._is_on() or len(images) == 0:
            return None
        drawn = given.draw or self._draw(len(images))
        if not drawn.mixed:
            return None
        noise = None
        if drawn.adversarial is not None and drawn.adversarial.active:
            if given.saliency is not None:
                raise ValueError(_NO_GRADIENT)
            saliency, noise = self._attack(images, targets, drawn.adversarial, gradient)
        elif given.saliency is not None:
            saliency = given.saliency
        elif self.saliency is not None:
            saliency = self.saliency(images, targets)
        elif self.cache is not None and reuse:
            saliency = _cached_saliency(
                self.cache, images, given, lambda some: self._read(gradient(images[some], targets[some]))
            )
        else:
            saliency = self._read(gradient(images, targets))
        return self._solve(images, drawn, saliency, noise)

    def _draw(self, batch: int) -> Draw:
        return draw(
            self.generator,
            batch,
            alpha=self.alpha,
            grids=self.grids,
            prob=self.prob,
            adversarial=self.adversarial,
        )

    def _input_gradient(self, images: Tensor, targets: Tensor) -> Tensor:
        return input_gradient(self.model, images, targets, precision=self.precision, **self.pass_options)

    def _attack(
        self, images: Tensor, targets: Tensor, drawn: AdversarialDraw, gradient: Callable[[Tensor, Tensor], Tensor]
    ) -> tuple[Tensor, Tensor]:
        """One pass on noisy images gives both the saliency and the direction of the noise."""
        settings, pixels = self.adversarial or Adversarial(), self._pixels(images)
        start = random_start(images, settings, drawn.seed, pixels)
        slope = gradient(add_noise(images, start, pixels), targets)
        return self._read(slope), sharpen(start, slope, settings, drawn.decay)

    def _read(self, gradient: Tensor) -> Tensor:
        """The saliency that a gradient shows."""
        return gradient_saliency(gradient, self.gradient_scale)

    def _solve(self, images: Tensor, drawn: Draw, saliency: Tensor, noise: Tensor | None) -> Mixed:
        mixed = puzzle_mix(
            images,
            saliency,
            index=drawn.index.to(images.device, non_blocking=True),
            lam=drawn.lam,
            grid=drawn.grid,
            config=self.config,
            mean=self.mean,
            std=self.std,
        )
        if noise is not None:
            assert drawn.adversarial is not None
            noisy = add_noise(images, noise, self._pixels(images))
            first = noisy if drawn.adversarial.first else images
            second = noisy if drawn.adversarial.second else images
            mixed = replace(mixed, images=mixed.apply(first, second))
        self.last = MixRecord(drawn, saliency, noise, mixed)
        return mixed

    def _pixels(self, images: Tensor) -> PixelRange:
        return PixelRange(*channel_statistics(self.mean, self.std, images))

    def _with_soft_targets(self, images: Tensor, targets: Tensor, mixed: Mixed | None) -> tuple[Tensor, Tensor]:
        if targets.dim() != 1:
            rows_BN = smooth(targets.float(), self.label_smoothing)
            return (images, rows_BN) if mixed is None else (mixed.images, mix_rows(rows_BN, mixed.index, mixed.ratio))
        classes = self._classes_of(targets)
        if mixed is None:
            return images, smooth(one_hot(targets, classes), self.label_smoothing)
        return mixed.images, mix_classes(targets, mixed.index, mixed.ratio, classes, self.label_smoothing)

    def _classes_of(self, targets: Tensor) -> int:
        """How many classes there are, which class indices do not tell themselves."""
        if self.num_classes is None:
            raise ValueError("targets are class indices: pass num_classes= to PuzzleMix")
        if targets.is_floating_point():
            raise ValueError(f"targets have shape {tuple(targets.shape)} and dtype {targets.dtype}: pass integers")
        return self.num_classes


def _cached_saliency(
    cache: SaliencyCache, images: Tensor, given: _Given, compute: Callable[[Tensor], Tensor]
) -> Tensor:
    """Remembered maps where they still serve; for the other images `compute` makes new ones from their places."""
    if given.samples is None:
        raise ValueError("refresh needs to know the images: pass samples=, their numbers in the data set (B,)")
    stale = cache.stale(given.samples)
    size = tuple(images.shape[2:])
    if not stale.any():
        return cache.load(given.samples, size, given.view, device=images.device)
    maps = torch.empty(len(images), *size, device=images.device)
    known, new = (~stale).nonzero()[:, 0], stale.nonzero()[:, 0]
    if len(known):
        view = _part(given.view, known)
        maps[known.to(images.device, non_blocking=True)] = cache.load(
            given.samples[known], size, view, device=images.device
        )
    if len(new):
        on_device = new.to(images.device, non_blocking=True)
        fresh = compute(on_device)
        cache.store(given.samples[new], fresh, _part(given.view, new))
        maps[on_device] = fresh
    return maps


def _part(view: View | None, where: Tensor) -> View | None:
    """The views of some of the images."""
    return None if view is None else View._make(None if field is None else field[where] for field in view)


def _check_grids(grids: Sequence[Grid]) -> None:
    if not isinstance(grids, Sequence) or not grids:
        raise ValueError(f"grids={grids!r}: pass a sequence of at least one grid, e.g. (2, 4, 8, 16)")
    for grid in grids:
        check_grid(grid)


def _check_probabilities(**values: float) -> None:
    for name, value in values.items():
        if not is_number(value, 0, 1):
            raise ValueError(f"{name}={value!r}: pass a number from 0 to 1")

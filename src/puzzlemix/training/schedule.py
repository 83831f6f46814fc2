"""Learning rates as pure functions of how far a run is, counted in epochs: 2.5 is half way through the third."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from .codec import nearest

Knot = tuple[float, float]

# Supplementary C.3: 100 epochs of ImageNet. At epoch 15 the images grow and the rate jumps.
IMAGENET_KNOTS: tuple[Knot, ...] = (
    (0, 0.5), (8, 1.0), (15, 0.125), (15, 0.2), (40, 0.02), (65, 0.002), (90, 0.0002), (100, 0.00002),
)  # fmt: skip
_ONE_CYCLE_RISE = 0.3
_ONE_CYCLE_START = 1 / 25
_ONE_CYCLE_END = 4e-6


def step_rate(epoch: float, lr: float, milestones: Sequence[int], factor: float) -> float:
    """`lr`, times `factor` from each of the milestones on."""
    return lr * factor ** sum(milestone <= epoch for milestone in milestones)


def cosine_rate(progress: float, lr: float, end: float = 0.0) -> float:
    """Half a cosine from `lr` at progress 0 down to `end` at progress 1."""
    return end + (lr - end) * (1 + math.cos(math.pi * min(max(progress, 0.0), 1.0))) / 2


def one_cycle_rate(progress: float, peak: float) -> float:
    """Half a cosine up from peak / 25 during the first 30 %, and another one down to next to nothing."""
    if progress < _ONE_CYCLE_RISE:
        return cosine_rate(1 - progress / _ONE_CYCLE_RISE, peak, peak * _ONE_CYCLE_START)
    return cosine_rate((progress - _ONE_CYCLE_RISE) / (1 - _ONE_CYCLE_RISE), peak, peak * _ONE_CYCLE_END)


def linear_rate(epoch: float, knots: Sequence[Knot]) -> float:
    """Straight lines between knots (epoch, rate); where two share an epoch the rate jumps to the later one's."""
    if epoch < knots[0][0]:
        return knots[0][1]
    for (start, before), (end, after) in pairwise(knots):
        if start <= epoch < end:
            return before + (after - before) * (epoch - start) / (end - start)
    return knots[-1][1]


@dataclass(frozen=True)
class ScheduleConfig:
    """The learning rate.

    schedule: step (drops at milestones), cosine (down to 0), one_cycle (up, then down to 0) or linear (from knot to
    knot). lr: the first rate, for one_cycle the highest; linear has the rates of its knots. milestones: epochs at which
    step drops; none given: at 1/2 and 3/4 of the run. drop: what a drop multiplies by. warmup: epochs over which step
    and cosine first rise from 0. knots: pairs EPOCH RATE; an epoch given twice makes a jump; none given: the paper's
    for ImageNet.
    """

    schedule: Literal["step", "cosine", "one_cycle", "linear"] = "one_cycle"
    lr: float = 0.2
    milestones: tuple[int, ...] = ()
    drop: float = 0.1
    warmup: float = 0.0
    knots: tuple[tuple[float, float], ...] = ()

    def __post_init__(self):
        if self.schedule not in _RATES:
            raise ValueError(f"schedule={self.schedule!r}: {nearest(self.schedule, _RATES)}")
        if not 0 < self.lr < math.inf:
            raise ValueError(f"lr={self.lr!r}: pass a positive number")
        if not 0 < self.drop <= 1:
            raise ValueError(f"drop={self.drop!r}: pass a factor above 0 and at most 1")
        if not 0 <= self.warmup < math.inf:
            raise ValueError(f"warmup={self.warmup!r}: pass a number of epochs, 0 for none")
        if list(self.milestones) != sorted(set(self.milestones)) or min(self.milestones, default=1) < 1:
            raise ValueError(f"milestones={self.milestones!r}: pass rising epochs from 1 on")
        _check_knots(self.knots)


def _check_knots(knots: Sequence[Knot]) -> None:
    epochs = [epoch for epoch, _ in knots]
    rates_fit = all(0 <= rate < math.inf for _, rate in knots)
    if epochs != sorted(epochs) or min(epochs, default=0.0) < 0 or not rates_fit:
        raise ValueError(f"knots={knots!r}: pass pairs (epoch, rate), epochs that do not fall and rates of 0 or more")


def learning_rate(config: ScheduleConfig, epoch: float, epochs: int) -> float:
    """The rate at `epoch` (a fraction counts the steps within it) of a run of `epochs`."""
    return _RATES[config.schedule](config, epoch, epochs)


def _step(config: ScheduleConfig, epoch: float, epochs: int) -> float:
    milestones = config.milestones or (math.ceil(epochs / 2), math.ceil(epochs * 3 / 4))
    return _warmth(config, epoch) * step_rate(epoch, config.lr, milestones, config.drop)


def _cosine(config: ScheduleConfig, epoch: float, epochs: int) -> float:
    return _warmth(config, epoch) * cosine_rate(epoch / epochs, config.lr)


def _one_cycle(config: ScheduleConfig, epoch: float, epochs: int) -> float:
    return one_cycle_rate(epoch / epochs, config.lr)


def _linear(config: ScheduleConfig, epoch: float, epochs: int) -> float:
    return linear_rate(epoch, config.knots or IMAGENET_KNOTS)


def _warmth(config: ScheduleConfig, epoch: float) -> float:
    return min(1.0, epoch / config.warmup) if config.warmup else 1.0


_RATES = {"step": _step, "cosine": _cosine, "one_cycle": _one_cycle, "linear": _linear}


class Phase(NamedTuple):
    """From this epoch on, images of this size in batches of this many.

    crop: the least share of an image's area that is cut out, for sets on disk; None leaves it to the data set.
    """

    epoch: int
    size: int
    batch_size: int
    crop: float | None = None


def read_phases(phases: Sequence[tuple[Any, ...]]) -> tuple[Phase, ...]:
    """Phases out of tuples, with or without a crop; ValueError where they do not follow each other."""
    read = tuple(Phase(*phase) for phase in phases)
    epochs = [phase.epoch for phase in read]
    if epochs != sorted(set(epochs)) or any(p.epoch < 0 or p.size < 1 or p.batch_size < 1 for p in read):
        raise ValueError(f"phases={phases!r}: pass triples (epoch, size, batch size) with rising epochs from 0 on")
    if any(p.crop is not None and not 0 < p.crop <= 1 for p in read):
        raise ValueError(f"phases={phases!r}: pass crops above 0 and at most 1, shares of an image's area")
    return read


def phase_at(phases: Sequence[Phase], epoch: int) -> Phase | None:
    """The last phase that has begun; None before the first one, and where there are none."""
    begun = [phase for phase in phases if phase.epoch <= epoch]
    return begun[-1] if begun else None

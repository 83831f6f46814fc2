"""A classifier's errors under every corruption and severity, and their means."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from ..data.spec import Split
from .accuracy import Logits, accuracy_of, eval_mode, evaluate, judge_on, summed
from .corruptions import COMMON, CORRUPTIONS, LEVELS, NOT_COMPARABLE, corrupt
from .official import Official


@dataclass(frozen=True)
class CorruptionErrors:
    """Shares from 0 to 1 of images that were wrong, by corruption and severity from 1 to 5.

    drawn: whether the images were corrupted here, and not read from a published set.
    """

    by_name: Mapping[str, tuple[float, ...]]
    drawn: bool

    def mean(self, names: Iterable[str] | None = None) -> float | None:
        """The mean over severities and these corruptions, by default all there are; None where one is missing."""
        wanted = list(self.by_name if names is None else names)
        if any(name not in self.by_name for name in wanted):
            return None
        return mean(mean(self.by_name[name]) for name in wanted)

    def relative_to(self, baseline: "CorruptionErrors") -> float:
        """Compare to a baseline, 1 where they are equal: for each corruption by sums over severities, then the mean.

        This is the "mCE" of ImageNet-C, whose baseline is AlexNet.
        """
        if baseline.by_name.keys() != self.by_name.keys():
            missing = ", ".join(sorted(baseline.by_name.keys() ^ self.by_name.keys()))
            raise ValueError(f"{missing} is known of one of both alone: pass errors under the same corruptions")
        flawless = [name for name, errors in baseline.by_name.items() if sum(errors) == 0]
        if flawless:
            raise ValueError(f"the baseline makes no error under {', '.join(flawless)}: pass another one")
        return mean(sum(errors) / sum(baseline.by_name[name]) for name, errors in self.by_name.items())

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values, for a record."""
        drawn = [name for name in NOT_COMPARABLE if name in self.by_name] if self.drawn else []
        comparable = [name for name in self.by_name if name not in drawn]
        return {
            "source": "drawn" if self.drawn else "published",
            "mean_error": self.mean(),
            "mean_error_15_common": self.mean(COMMON),
            "mean_error_comparable": self.mean(comparable) if comparable else None,
            "not_comparable": drawn,
            "missing": [name for name in CORRUPTIONS if name not in self.by_name],
            "errors": {name: list(errors) for name, errors in self.by_name.items()},
        }


def corruption_errors(error: Callable[[str, int], float], names: Iterable[str], *, drawn: bool) -> CorruptionErrors:
    """Ask for the error under each of these corruptions at each severity."""
    return CorruptionErrors({name: tuple(error(name, severity) for severity in LEVELS) for name in names}, drawn)


def drawn_errors(
    model: nn.Module,
    batches: Iterable,
    names: Iterable[str] = tuple(CORRUPTIONS),
    *,
    seed: int = 0,
    definition: str | None = None,
    logits: Logits | None = None,
) -> CorruptionErrors:
    """Corrupt batches in every way and at every severity: one pass over them."""
    conditions = [(name, severity) for name in names for severity in LEVELS]

    def find(images: Tensor, labels: Tensor, samples: Tensor) -> Tensor:
        options: dict[str, Any] = {"seed": seed, "samples": samples, "definition": definition}
        return torch.stack([judge_on(model, corrupt(images, *at, **options), labels, logits) for at in conditions])

    with eval_mode(model), torch.no_grad():
        errors = {at: 1 - accuracy_of(row).top1 for at, row in zip(conditions, summed(batches, find), strict=True)}
    return corruption_errors(lambda *at: errors[at], names, drawn=True)


def official_errors(
    model: nn.Module, official: Official, batches_of: Callable[[Split], Iterable], *, logits: Logits | None = None
) -> CorruptionErrors:
    """Judge a model on the corruptions of a published set; batches_of: from a split to its batches."""
    return corruption_errors(
        lambda *at: 1 - evaluate(model, batches_of(official.split(*at)), logits=logits).top1,
        official.names,
        drawn=False,
    )

"""What a run came to."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

_LAST = 10


@dataclass(frozen=True)
class Errors:
    """Shares from 0 to 1 of the test images: at the end of the run, as median of the last ten epochs, and attacked.

    None of them was selected by looking at the test set.
    """

    top1: float
    top5: float
    loss: float
    median_top1: float
    median_top5: float
    fgsm: float


@dataclass(frozen=True)
class Outcome:
    """The errors of the trained weights and of their average, if there is one, and the metrics of every epoch."""

    errors: Errors
    ema_errors: Errors | None
    history: list[dict[str, float]]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return asdict(self)


def errors_of(history: Sequence[dict[str, float]], fgsm: float, prefix: str) -> Errors:
    """Read off the epochs' metrics called `prefix`_error and so on."""
    last, top1, top5 = history[-1], f"{prefix}_error", f"{prefix}_error5"
    median_top1, median_top5 = (median(epoch[name] for epoch in history[-_LAST:]) for name in (top1, top5))
    return Errors(last[top1], last[top5], last[f"{prefix}_loss"], median_top1, median_top5, fgsm)

"""Training methods by name: Puzzle Mix and what it is compared with."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from .augment import Augment, augment
from .augmix import AugMix, AugMixSettings
from .base import Batch, Method, Step
from .cutmix import CutMix, CutMixSettings
from .input_mixup import InputMixup, InputMixupSettings
from .losses import LOSSES, LossSettings, pair_cross_entropy, soft_cross_entropy, softmax_bce, unknown
from .manifold_mixup import ManifoldMixup, ManifoldMixupSettings
from .puzzle_mix import Puzzle, PuzzleSettings
from .vanilla import Vanilla, VanillaSettings

__all__ = [
    "LOSSES",
    "METHODS",
    "AugMix",
    "AugMixSettings",
    "Augment",
    "Batch",
    "CutMix",
    "CutMixSettings",
    "InputMixup",
    "InputMixupSettings",
    "LossSettings",
    "ManifoldMixup",
    "ManifoldMixupSettings",
    "Method",
    "MethodEntry",
    "Puzzle",
    "PuzzleSettings",
    "Step",
    "Vanilla",
    "VanillaSettings",
    "augment",
    "build_method",
    "pair_cross_entropy",
    "soft_cross_entropy",
    "softmax_bce",
]


class MethodEntry(NamedTuple):
    """A method's settings, a frozen dataclass with defaults for all, and what builds it from (classes, settings).

    takes_std: whether `build` also takes `std=`, because the method looks at input gradients.
    """

    settings: type[LossSettings]
    build: Callable[..., Method]
    takes_std: bool = False


METHODS = {
    "vanilla": MethodEntry(VanillaSettings, Vanilla),
    "input_mixup": MethodEntry(InputMixupSettings, InputMixup),
    "manifold_mixup": MethodEntry(ManifoldMixupSettings, ManifoldMixup),
    "cutmix": MethodEntry(CutMixSettings, CutMix),
    "augmix": MethodEntry(AugMixSettings, AugMix),
    "puzzle": MethodEntry(PuzzleSettings, Puzzle, takes_std=True),
}


def build_method(method: str | LossSettings, *, classes: int, std: Sequence[float] | None = None) -> Method:
    """Build a method by its name in METHODS, with default settings, or by its settings.

    std: what the model divides images in [0, 1] by, per channel, where normalising them is its first layer.
    """
    entry, settings = _find(method)
    build = partial(entry.build, std=std) if entry.takes_std else entry.build
    return build(classes, settings)


def _find(method: str | LossSettings) -> tuple[MethodEntry, LossSettings]:
    """The entry of a name or of settings, and the settings."""
    if isinstance(method, str):
        if method not in METHODS:
            raise unknown(method, METHODS, "method")
        return METHODS[method], METHODS[method].settings()
    for entry in METHODS.values():
        if type(method) is entry.settings:
            return entry, method
    raise TypeError(
        f"method is a {type(method).__name__}: pass a name ({', '.join(METHODS)}) or an instance of its settings"
    )

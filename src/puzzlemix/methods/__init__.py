"""Training methods by name: Puzzle Mix and what it is compared with."""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    """A method's settings, a frozen dataclass with defaults for all, and what builds it from (classes, settings)."""

    settings: type[LossSettings]
    build: Callable[[int, Any], Method]


METHODS = {
    "vanilla": MethodEntry(VanillaSettings, Vanilla),
    "input_mixup": MethodEntry(InputMixupSettings, InputMixup),
    "manifold_mixup": MethodEntry(ManifoldMixupSettings, ManifoldMixup),
    "cutmix": MethodEntry(CutMixSettings, CutMix),
    "augmix": MethodEntry(AugMixSettings, AugMix),
    "puzzle": MethodEntry(PuzzleSettings, Puzzle),
}


def build_method(method: str | LossSettings, *, classes: int) -> Method:
    """Build a method by its name in METHODS, with default settings, or by its settings."""
    if isinstance(method, str):
        if method not in METHODS:
            raise unknown(method, METHODS, "method")
        return METHODS[method].build(classes, METHODS[method].settings())
    for entry in METHODS.values():
        if type(method) is entry.settings:
            return entry.build(classes, method)
    raise TypeError(
        f"method is a {type(method).__name__}: pass a name ({', '.join(METHODS)}) or an instance of its settings"
    )

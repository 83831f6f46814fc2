"""Networks by name, with normalisation as their first layer; their stages, and their weights as files."""

import contextlib
import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import nn

from .normalized import Normalized
from .preact_resnet import PreActResNet18
from .resnet import resnet50
from .stages import stages
from .weights import load_weights, save_weights
from .wide_resnet import WideResNet
from .zoo import torchvision_model, torchvision_names

__all__ = [
    "Normalized",
    "PreActResNet18",
    "WideResNet",
    "build_model",
    "load_weights",
    "model_names",
    "resnet50",
    "save_weights",
    "stages",
]

_OURS: dict[str, Callable[..., nn.Module]] = {"preact_resnet18": PreActResNet18, "resnet50": resnet50}
_WIDE = re.compile(r"wrn(\d+)_(\d+)")
_TORCHVISION = "torchvision:"


def build_model(
    name: str,
    classes: int,
    *,
    channels: int = 3,
    mean: float | Sequence[float] | None = None,
    std: float | Sequence[float] | None = None,
    seed: int | None = None,
    **options,
) -> nn.Module:
    """Build a network that maps images (B,channels,H,W) to logits (B,classes).

    - `preact_resnet18`: options `width`, `stride`, `final_norm`.
    - `wrn28_10`, or any `wrn{depth}_{width}`: option `stride`.
    - `resnet50`: options `zero_last_gain`, `head_std`.
    - any classification model of torchvision, as `vit_b_16` or `torchvision:vit_b_16`: torchvision's own options.

    With `mean` and `std` it takes images in [0, 1] and normalises them first. With `seed` the initial weights depend on
    nothing else, are drawn on the CPU, and leave torch's global random state as it was; without, they come from it.
    """
    builder = _builder(name)
    _check_arguments(name, builder, classes, channels, options)
    if (mean is None) != (std is None):
        raise ValueError(f"mean is {mean} and std is {std}: pass both, or neither")
    with _seeded(seed):
        model = builder(classes, channels, **options)
    return model if mean is None or std is None else Normalized(model, mean, std)


def model_names() -> list[str]:
    """List the names that `build_model` knows, torchvision's where it is installed; `wrn` takes other numbers too."""
    return sorted({*_OURS, "wrn28_10", *_names_of_torchvision()})


def _builder(name: str) -> Callable[..., nn.Module]:
    """Find what builds the network `name` from (classes, channels, **options)."""
    if name in _OURS:
        return _OURS[name]
    if wide := _WIDE.fullmatch(name):
        return functools.partial(WideResNet, int(wide[1]), int(wide[2]))
    bare = name.removeprefix(_TORCHVISION)
    known = torchvision_names() if name.startswith(_TORCHVISION) else _names_of_torchvision()
    if bare in known:
        return functools.partial(torchvision_model, bare)
    raise ValueError(f"there is no model {name!r}: {_advice(bare)}")


def _names_of_torchvision() -> tuple[str, ...]:
    try:
        return torchvision_names()
    except ImportError:
        return ()


def _advice(name: str) -> str:
    near = difflib.get_close_matches(name.lower().replace("-", "_"), model_names())
    advice = f"did you mean {' or '.join(near)}?" if near else f"the names are {', '.join(model_names())}"
    missing = "" if _names_of_torchvision() else ' (torchvision\'s need: pip install "puzzlemix[train]")'
    return advice + missing


def _check_arguments(name: str, builder: Callable, classes: int, channels: int, options: dict) -> None:
    for what, count in (("classes", classes), ("channels", channels)):
        if count < 1:
            raise ValueError(f"{what} is {count}: pass at least 1")
    signature = inspect.signature(builder)
    try:
        signature.bind(classes, channels, **options)
    except TypeError as error:
        known = [option for option in signature.parameters if option not in ("classes", "channels")]
        raise TypeError(f"{name}: {error}; its options are {', '.join(known)}") from None


@contextlib.contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Draw from the seed, on the CPU, and put torch's random state back afterwards."""
    if seed is None:
        yield
        return
    with torch.random.fork_rng(devices=[]), torch.device("cpu"):
        # Not torch.manual_seed: that would seed the accelerators too, which are not put back.
        torch.default_generator.manual_seed(seed)
        yield

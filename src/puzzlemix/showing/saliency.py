"""Where saliency for any picture comes from: a network's gradient, or, without a network, local contrast.

Shape suffixes: B pictures, C channels, H height, W width, S side at which a network looks.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.saliency import gradient_saliency, input_gradient
from ..data.errors import needed
from ..evaluation.accuracy import eval_mode
from ..models import Normalized, build_model, load_weights
from ..models.zoo import torchvision_names
from ..training.codec import nearest
from .runs import load_run
from .sizes import brought_to

CONTRAST = "contrast"

IMAGENET_MEAN, IMAGENET_STD, IMAGENET_SIZE = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 224


@dataclass(frozen=True)
class Saliency:
    """A source of saliency: what it is, in words, and its maps of images (B,3,H,W) in [0, 1], as (B,H,W)."""

    words: str
    maps: Callable[[Tensor], Tensor]


def contrast_saliency() -> Saliency:
    """How much each place stands out against its surroundings, near and far: no network is asked."""
    return Saliency("local contrast (no network)", _contrast)


def _contrast(images_BCHW: Tensor) -> Tensor:
    side = min(images_BCHW.shape[2:])
    here = _blurred(images_BCHW, side / 64)
    near, far = (here - _blurred(images_BCHW, side / part) for part in (16, 4))
    return _blurred((near.square() + far.square()).mean(1, keepdim=True), side / 32)[:, 0]


def _blurred(images_BCHW: Tensor, radius: float) -> Tensor:
    """Average twice over the square around each pixel: along columns, then along rows, as wide squares take long."""
    radius = max(round(radius), 1)
    for reach in ((radius, 0), (0, radius)) * 2:
        size = 2 * reach[0] + 1, 2 * reach[1] + 1
        images_BCHW = F.avg_pool2d(images_BCHW, size, stride=1, padding=reach, count_include_pad=False)
    return images_BCHW


def network_saliency(model: nn.Module, words: str, size: int | None = None, channels: int = 3) -> Saliency:
    """The gradient of a network that takes images in [0, 1], for the class that it sees in each.

    size: the side of the images that it was trained on; pictures are brought to it, and the maps back. channels: what
    it takes, 1 for grey.
    """
    scale = model.std.flatten() if isinstance(model, Normalized) else None

    def maps(images_BCHW: Tensor) -> Tensor:
        seen = images_BCHW if size is None else brought_to(images_BCHW, (size, size))
        seen = _in_channels(seen, channels)
        gradient = input_gradient(model, seen, _seen_classes(model, seen))
        return brought_to(gradient_saliency(gradient, scale)[:, None], images_BCHW.shape[2:])[:, 0]

    return Saliency(words, maps)


def _in_channels(images_BCHW: Tensor, channels: int) -> Tensor:
    """Grey for a network of grey images, three times grey for one of colours."""
    if images_BCHW.shape[1] == channels:
        return images_BCHW
    return images_BCHW.mean(1, keepdim=True).expand(-1, channels, -1, -1)


def _seen_classes(model: nn.Module, images_BCHW: Tensor) -> Tensor:
    with eval_mode(model), torch.no_grad():
        return model(images_BCHW).argmax(1)


def find_saliency(
    name: str, *, weights: str | Path | None = None, classes: int = 1000, download: bool = False
) -> Saliency:
    """A source by its name: `contrast`, the folder of a finished run, or a classifier of torchvision.

    weights, classes, download: as for `torchvision_saliency`.
    """
    if name == CONTRAST:
        return contrast_saliency()
    if Path(name).is_dir():
        return run_saliency(name)
    if name.removeprefix("torchvision:") in torchvision_names():
        return torchvision_saliency(name.removeprefix("torchvision:"), weights, classes=classes, download=download)
    near = nearest(name, [CONTRAST, *torchvision_names()])
    advice = near if near.startswith("did you mean") else f"pass {CONTRAST}, a run's folder or a model of torchvision"
    raise ValueError(f"there is no source of saliency {name!r}: {advice}")


def run_saliency(folder: str | Path) -> Saliency:
    """The network of a finished run."""
    model, config, spec = load_run(folder)
    words = f"the gradient of {config.model.name}, trained on {config.data.name} with {config.method}"
    return network_saliency(model, words, spec.size, spec.channels)


def torchvision_saliency(
    name: str, weights: str | Path | None = None, *, classes: int = 1000, download: bool = False
) -> Saliency:
    """A classifier of torchvision: with the weights in a file, or with its own of ImageNet, where they are on disk."""
    if weights is None:
        model, size = imagenet_classifier(name, download=download)
        return network_saliency(model, f"the gradient of {name}, trained on ImageNet", size)
    model = build_model(name, classes, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    load_weights(model, weights)
    return network_saliency(model, f"the gradient of {name} with {weights}", IMAGENET_SIZE)


def imagenet_classifier(name: str, *, download: bool = False) -> tuple[Normalized, int]:
    """A classifier of torchvision with its own weights of ImageNet, of images in [0, 1], and the side of its images."""
    if name not in torchvision_names():
        raise ValueError(f"torchvision has no model {name!r}: {nearest(name, torchvision_names())}")
    models = needed("torchvision.models", "a network of torchvision")
    entry = models.get_model_weights(name).DEFAULT
    file = Path(torch.hub.get_dir()) / "checkpoints" / entry.url.rpartition("/")[2]
    if not file.exists() and not download:
        raise ValueError(
            f"the weights of {name} are not on disk: allow their download, or put {entry.url} at {file}, "
            "or pass a file of weights"
        )
    try:
        model = models.get_model(name, weights=entry)
    except (RuntimeError, EOFError, pickle.UnpicklingError) as error:
        raise ValueError(f"{file} is damaged ({error}): remove it and fetch it again") from error
    seen = entry.transforms()
    return Normalized(model.eval(), seen.mean, seen.std), seen.crop_size[0]

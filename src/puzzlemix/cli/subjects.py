"""What is to be judged: a run's network, a file of weights, or a classifier of torchvision, each with its images."""

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from ..data import load_data
from ..data.spec import Split
from ..evaluation.accuracy import eval_mode
from ..models import build_model, load_weights
from ..models.zoo import torchvision_names
from ..showing import load_run
from ..showing.saliency import imagenet_classifier
from ..training.codec import encode, nearest
from ..training.config import DataConfig, ModelConfig, TrainConfig

_EMA = "weights-ema.safetensors"


class Subject(NamedTuple):
    """A model of images in [0, 1] and what it is called, the images to judge it on, and what it is, for the record."""

    name: str
    model: nn.Module
    split: Split
    about: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Wanted:
    """What was typed about models and data, by the names of `DataConfig`'s and `ModelConfig`'s fields.

    ema: take the averaged weights of a run.
    """

    data: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    model: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    root: str | None = None
    download: bool = False
    ema: bool = False


def find_subject(what: str, wanted: Wanted) -> Subject:
    """Find what is meant by the name of a folder, of a file, or of a model."""
    if Path(what).is_dir():
        return _run(Path(what), wanted)
    if Path(what).is_file():
        return _weights(Path(what), wanted)
    name = what.removeprefix("torchvision:")
    if name in torchvision_names():
        return _torchvision(name, wanted)
    near = nearest(name, torchvision_names())
    tail = (
        near if near.startswith("did you mean") else "pass a run's folder, a file of weights or a model of torchvision"
    )
    raise ValueError(f"{what!r} is not there: {tail}")


def _run(folder: Path, wanted: Wanted) -> Subject:
    trained = load_run(folder)
    config, file = trained.config, folder / ("weights.safetensors" if not wanted.ema else _EMA)
    if wanted.ema:
        if not file.exists():
            raise ValueError(f"{folder} has no averaged weights: train with --ema 0.999, or leave out --ema")
        load_weights(trained.model, file)
    split = _split(dataclasses.replace(config.data, **wanted.data), wanted, config.machine.root)
    about = {"run": folder.name, "config": config.essence(), "weights": _fingerprint(file)}
    return _checked(Subject(_name_of(config) + (", averaged" if wanted.ema else ""), trained.model, split, about))


def _name_of(config: TrainConfig) -> str:
    adversarial = getattr(config.settings, "adversarial", None) is not None
    return f"{config.method} (adv)" if adversarial else config.method


def _weights(path: Path, wanted: Wanted) -> Subject:
    if "name" not in wanted.model or "name" not in wanted.data:
        raise ValueError(
            f"{path} says neither what network nor what images it is for: pass --model NAME and --data NAME"
        )
    data, settings = DataConfig(**wanted.data), ModelConfig(**wanted.model)
    split = _split(data, wanted)
    spec = split.spec
    model = build_model(
        settings.name, spec.classes, channels=spec.channels, mean=spec.mean, std=spec.std, **settings.options
    )
    load_weights(model, path)
    about = {
        "file": path.name,
        "config": {"model": encode(settings), "data": encode(data)},
        "weights": _fingerprint(path),
    }
    return _checked(Subject(path.stem, model, split, about))


def _torchvision(name: str, wanted: Wanted) -> Subject:
    model, size = imagenet_classifier(name, download=wanted.download)
    split = _split(DataConfig(**{"name": "imagenet", "size": size, **wanted.data}), wanted)
    return _checked(Subject(name, model, split, {"torchvision": name, "config": {"data": dict(wanted.data)}}))


def _split(data: DataConfig, wanted: Wanted, root: str = "data") -> Split:
    found = load_data(
        data.name,
        root=wanted.root or root,
        download=wanted.download,
        size=data.size,
        train_images=1,  # those are not looked at
        test_images=data.test_images,
    )
    return found.test


def _checked(subject: Subject) -> Subject:
    """Refuse a model that knows another number of classes than the images have."""
    spec = subject.split.spec
    with eval_mode(subject.model), torch.no_grad():
        known = subject.model(torch.zeros(1, spec.channels, spec.size, spec.size)).shape[1]
    if known != spec.classes:
        raise ValueError(
            f"{subject.name} knows {known} classes, {spec.name} has {spec.classes}: pass --data, what it was trained on"
        )
    return subject


def _fingerprint(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]

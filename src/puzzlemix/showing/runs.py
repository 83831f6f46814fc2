"""Trained networks of run folders."""

import json
from pathlib import Path
from typing import NamedTuple

from torch import nn

from ..data import DataSpec, load_data
from ..models import build_model, load_weights
from ..training.codec import decode, encode
from ..training.config import TrainConfig

FACTS = "data.json"


class Trained(NamedTuple):
    """A network in eval mode that takes images in [0, 1], the run's settings, and the facts of what it learned from."""

    model: nn.Module
    config: TrainConfig
    spec: DataSpec


def load_run(folder: str | Path) -> Trained:
    """Read a finished run; its data set is looked at only where the folder lacks the facts of it."""
    folder = Path(folder)
    config = TrainConfig.load(folder)
    spec = (
        read_facts(folder)
        or load_data(
            config.data.name, root=config.machine.root, size=config.data.size, train_images=1, test_images=1
        ).spec
    )
    model = build_model(
        config.model.name, spec.classes, channels=spec.channels, mean=spec.mean, std=spec.std, **config.model.options
    )
    weights = folder / "weights.safetensors"
    if not weights.exists():
        raise ValueError(f"{folder} has no weights yet: finish the run with puzzlemix train --config {folder}")
    load_weights(model, weights)
    return Trained(model.eval(), config, spec)


def write_facts(folder: Path, spec: DataSpec) -> None:
    """Write what a data set is beside a run, so that its network can be used where the set is not."""
    (folder / FACTS).write_text(json.dumps(encode(spec), indent=2) + "\n")


def read_facts(folder: Path) -> DataSpec | None:
    """Read what `write_facts` wrote; None where it did not."""
    path = folder / FACTS
    if not path.exists():
        return None
    try:
        return decode(DataSpec, json.loads(path.read_text()))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): remove it") from None

"""What `puzzlemix train` is asked to do: settings out of flags, a config file and the defaults."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..data import DATA_SETS, load_data
from ..methods import METHODS, LossSettings, PuzzleSettings
from ..models import build_model
from ..training.config import LoopConfig, ModelConfig, TrainConfig
from ..training.optimiser import OptimiserConfig
from ..training.schedule import ScheduleConfig
from .flags import Flag, Names, add_flags, changed, flags_of, read_flags
from .parser import Parser, UsageError

RUNS = Path("runs")
# some minutes on two cores; so short a training learns too slowly where every batch is mixed
SMALL = TrainConfig(
    model=ModelConfig("preact_resnet18", width=12, final_norm=True),
    loop=LoopConfig(epochs=24, batch_size=50, channels_last=True),
    schedule=ScheduleConfig(lr=0.1),
    optimiser=OptimiserConfig(weight_decay=5e-4),
    settings=PuzzleSettings(prob=0.5),
)
EXAMPLES = """
puzzlemix train                                      generated images, a small network, minutes
puzzlemix train --method vanilla                     the same without mixing, shown beside it
puzzlemix train --method puzzle --data cifar100 --model wrn28_10 --epochs 400
puzzlemix train --data photos.zip --size 64 --epochs 30 --ema 0.999
puzzlemix train --clean-weight 1 --labels 2          variants of Puzzle Mix
puzzlemix train --config runs/RUN --out again        repeat a run
puzzlemix train --config runs/RUN --seed 1           the same with another seed
"""
_ABOUT = """\
Train a classifier, and end with a table of errors, a curve and a picture of what the network was shown.

Everything lies in one folder. Started again in the same way, a run that was stopped (Ctrl-C, SIGTERM, a power cut)
goes on where it was, to the same result; one that is finished shows its table again."""
_TITLES = {
    "data": "data set",
    "model": "network",
    "settings": "method {method} (--method NAME --help shows those of another)",
    "loop": "length and arithmetic",
    "schedule": "learning rate",
    "optimiser": "optimiser",
    "machine": "machine (a run can be continued with other values here)",
}
NAMES = Names(
    plain=("mix",),
    renamed={
        ("data", "name"): "data",
        ("model", "name"): "model",
        ("settings", "precision"): "saliency-precision",  # the loop has one too
    },
    helps={
        ("model", "name"): "preact_resnet18, wrn28_10 (or any wrn{depth}_{width}), resnet50, or one of torchvision",
        ("model", "width"): "channels of the first stage, for preact_resnet18",
        ("model", "stride"): "of the first convolution, for preact_resnet18 and wrn",
        ("model", "final_norm"): "batch-norm and ReLU before the pool, for preact_resnet18",
        ("model", "zero_last_gain"): "last batch-norm gain of each block from 0, for resnet50",
        ("model", "head_std"): "standard deviation of the last layer's first weights, for resnet50",
        ("loop", "epochs"): "how often to go through the training images",
        ("settings", "adversarial", "prob"): "chance that a batch's first (second) images get noise",
        ("settings", "adversarial", "eps_255"): "the noise's reach, in 1/255 of the pixel range",
        ("settings", "adversarial", "step_255"): "the length of the step along the gradient, likewise",
        ("settings", "adversarial", "decay"): 'scale the noise by a random number; off: the paper\'s "fgsm"',
        ("settings", "adversarial", "shared"): 'one draw for both images: the paper\'s "nu_0 = nu_1"',
    },
)


class Plan(NamedTuple):
    """The settings of a run, and its folder."""

    config: TrainConfig
    folder: Path


def read_plan(arguments: list[str]) -> Plan:
    """Read the arguments; UsageError where they cannot be meant."""
    try:
        config = base_config(arguments)
        parser = Parser("train", _ABOUT, EXAMPLES)
        _add_run(parser, config)
        flags = add_settings(parser, config, tuple(_TITLES))
        found = parser.read(arguments)
        config = dataclasses.replace(laid_over(config, read_flags(found, flags)), seed=found.seed)
        check_names(config)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    return Plan(config, found.out or RUNS / config.folder_name())


def _add_run(parser: Parser, config: TrainConfig) -> None:
    run = parser.add_argument_group("the run")
    run.add_argument("--method", metavar="NAME", help=f"{', '.join(METHODS)} (default: {config.method})")
    run.add_argument("--config", metavar="RUN", help="take the settings of this run's folder, or of a config.json")
    run.add_argument("--out", metavar="FOLDER", type=Path, help="where everything goes (default: runs/NAME-OF-ITS-OWN)")
    run.add_argument(
        "--seed", metavar="N", type=int, default=config.seed, help=f"of all randomness (default: {config.seed})"
    )


def add_settings(parser: Parser, config: TrainConfig, groups: Sequence[str]) -> list[Flag]:
    """Let a parser know the flags of some groups of the settings."""
    flags = []
    for group in groups:
        added = list(flags_of(getattr(config, group), NAMES, (group,)))
        add_flags(parser, _TITLES[group].format(method=config.method), added)
        flags += added
    return flags


def laid_over(config: TrainConfig, values: Mapping[tuple[str, ...], Any]) -> TrainConfig:
    """The config with the values that were typed."""
    groups = {place[0]: getattr(config, place[0]) for place in values}
    news = {name: changed(group, values, (name,)) for name, group in groups.items()}
    return dataclasses.replace(config, **news)


def base_config(arguments: list[str]) -> TrainConfig:
    """What the flags are laid over: a config, or the defaults for this data set and network."""
    path, method = typed(arguments, "--config"), typed(arguments, "--method")
    if path is not None:
        config = TrainConfig.load(path)
    else:
        small = typed(arguments, "--data") in (None, SMALL.data.name) and typed(arguments, "--model") is None
        config = SMALL if small else TrainConfig()
    return config if method is None else with_method(config, method)


def typed(arguments: list[str], flag: str) -> str | None:
    """The value of a flag, before all others are known."""
    for place in reversed(range(len(arguments))):
        if arguments[place] == flag and place + 1 < len(arguments):
            return arguments[place + 1]
        if arguments[place].startswith(flag + "="):
            return arguments[place].partition("=")[2]
    return None


def with_method(config: TrainConfig, method: str) -> TrainConfig:
    """The config with another method, in its default settings; what all methods have in common stays."""
    if method == config.method or method not in METHODS:
        return dataclasses.replace(config, method=method)
    common = {item.name: getattr(config.settings, item.name) for item in dataclasses.fields(LossSettings)}
    return dataclasses.replace(config, method=method, settings=METHODS[method].settings(**common))


def check_names(config: TrainConfig) -> None:
    """Complain of an unknown network or data set before a folder is made; neither is built or loaded yet."""
    with torch.device("meta"):
        build_model(config.model.name, 10, **config.model.options)
    name = config.data.name
    if name not in DATA_SETS and not os.path.exists(os.path.expanduser(name)):
        load_data(name, root=config.machine.root)

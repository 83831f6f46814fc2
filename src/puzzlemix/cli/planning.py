"""What `puzzlemix train` is asked to do: settings out of flags, a config file and the defaults."""

import dataclasses
import os
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..data import DATA_SETS, load_data
from ..methods import METHODS, LossSettings
from ..models import build_model
from ..training.config import LoopConfig, ModelConfig, TrainConfig
from ..training.optimiser import OptimiserConfig
from .flags import Flag, Names, add_flags, changed, flags_of, read_flags
from .parser import Parser, UsageError

RUNS = Path("runs")
# small enough for a few minutes on two cores
SMALL = TrainConfig(
    model=ModelConfig("preact_resnet18", width=16, final_norm=True),
    loop=LoopConfig(epochs=15),
    optimiser=OptimiserConfig(weight_decay=5e-4),
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
_NAMES = Names(
    plain=("mix",),
    renamed={
        ("data", "name"): "data",
        ("model", "name"): "model",
        ("settings", "precision"): "saliency-precision",  # the loop has one too
    },
)


class Plan(NamedTuple):
    """The settings of a run, and its folder."""

    config: TrainConfig
    folder: Path


def read_plan(arguments: list[str]) -> Plan:
    """Read the arguments; UsageError where they cannot be meant."""
    try:
        config = _base(arguments)
        parser, flags = _parser(config)
        found = parser.read(arguments)
        values = read_flags(found, [flag for group in flags.values() for flag in group])
        config = _laid_over(config, values, getattr(found, "seed", config.seed))
        _check_names(config)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    return Plan(config, found.out or RUNS / config.folder_name())


def _base(arguments: list[str]) -> TrainConfig:
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


def _parser(config: TrainConfig) -> tuple[Parser, dict[str, list[Flag]]]:
    """A parser of all flags there are for this method, and the flags of each group of settings."""
    parser = Parser("train", _ABOUT, EXAMPLES)
    run = parser.add_argument_group("the run")
    run.add_argument("--method", metavar="NAME", help=f"{', '.join(METHODS)} ({config.method})")
    run.add_argument("--config", metavar="RUN", help="take the settings of this run's folder, or of a config.json")
    run.add_argument("--out", metavar="FOLDER", type=Path, help="where everything goes (a name of its own in runs/)")
    run.add_argument("--seed", metavar="N", type=int, default=config.seed, help=f"of all randomness ({config.seed})")
    flags = {}
    for group, title in _TITLES.items():
        flags[group] = list(flags_of(getattr(config, group), _NAMES, (group,)))
        add_flags(parser, title.format(method=config.method), flags[group])
    return parser, flags


def _laid_over(config: TrainConfig, values: dict[tuple[str, ...], Any], seed: int) -> TrainConfig:
    groups = {place[0]: getattr(config, place[0]) for place in values}
    news = {name: changed(group, values, (name,)) for name, group in groups.items()}
    return dataclasses.replace(config, **news, seed=seed)


def _check_names(config: TrainConfig) -> None:
    """Complain of an unknown network or data set before a folder is made; neither is built or loaded yet."""
    with torch.device("meta"):
        build_model(config.model.name, 10, **config.model.options)
    name = config.data.name
    if name not in DATA_SETS and not os.path.exists(os.path.expanduser(name)):
        load_data(name, root=config.machine.root)

"""All that a run depends on, as frozen dataclasses that go to JSON and back."""

import hashlib
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ..methods import METHODS, LossSettings
from .codec import decode, encode, nearest
from .optimiser import OptimiserConfig
from .schedule import Phase, ScheduleConfig, read_phases


@dataclass(frozen=True)
class DataConfig:
    """The data set.

    name: its name, or the path of an ImageFolder or a zip of one. train_images, test_images: use the first so many;
    for the embedded set, which has no end, that many are drawn. size: side of the images, where they can be scaled.
    """

    name: str = "synthetic"
    train_images: int | None = None
    test_images: int | None = None
    size: int | None = None

    def __post_init__(self):
        _check_counts(train_images=self.train_images, test_images=self.test_images, size=self.size)


@dataclass(frozen=True)
class ModelConfig:
    """The network.

    name: preact_resnet18, wrn28_10 (or any wrn{depth}_{width}), resnet50, or any classifier of torchvision. The rest
    are options of some: width, stride and final_norm of preact_resnet18, stride of wrn, zero_last_gain and head_std of
    resnet50; left out, the network's own.
    """

    name: str = "preact_resnet18"
    width: int | None = None
    stride: int | None = None
    final_norm: bool | None = None
    zero_last_gain: bool | None = None
    head_std: float | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        return {name: value for name, value in encode(self).items() if name != "name" and value is not None}


@dataclass(frozen=True)
class LoopConfig:
    """How long, in what portions and in what arithmetic.

    batch_size: images per step, in all processes together. accumulate: parts that a batch goes through the model in, to
    save memory. phases: entries EPOCH SIZE BATCH_SIZE: from that epoch on images of that size in batches of that many;
    a fourth value with a decimal point, as in 15 224 448 0.087, is the least share of an image's area that is cut out.
    ema: the decay of an average of the weights that is evaluated too, e.g. 0.999. precision: fp32, or autocast to bf16
    or fp16. channels_last: the memory layout. compile: with torch.compile. fgsm_255: the attack's reach at the end, in
    1/255 of the pixel range.
    """

    epochs: int = 10
    batch_size: int = 100
    accumulate: int = 1
    phases: tuple[Phase, ...] = ()
    ema: float | None = None
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    channels_last: bool = False
    compile: bool = False
    fgsm_255: float = 8.0

    def __post_init__(self):
        _check_counts(epochs=self.epochs, batch_size=self.batch_size, accumulate=self.accumulate)
        object.__setattr__(self, "phases", read_phases(self.phases))
        if self.ema is not None and not 0 < self.ema < 1:
            raise ValueError(f"ema={self.ema!r}: pass a decay between 0 and 1, e.g. 0.999")
        _check_choice("precision", self.precision, ("fp32", "bf16", "fp16"))
        if not 0 <= self.fgsm_255 <= 255:
            raise ValueError(f"fgsm_255={self.fgsm_255!r}: pass a number of 1/255 steps from 0 to 255")


@dataclass(frozen=True)
class MachineConfig:
    """Where a run happens and how often it is saved: a run can be continued with other values here.

    root: the folder of data sets. download: fetch the set if it is not there. workers: processes that read large sets.
    device: auto takes CUDA, then MPS, then the CPU. save_steps, save_seconds: a checkpoint after so many steps or
    seconds, beside the one after each epoch. log_steps: a line of metrics after so many steps. tensorboard: write
    metrics for it too. strategy: what torchrun's or SLURM's processes do: ddp (each has all weights) or fsdp (each
    holds a part of them). timeout: seconds after which a process that waits for another one gives up.
    """

    root: str = "data"
    download: bool = False
    workers: int = 4
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    save_steps: int | None = None
    save_seconds: float | None = 300.0
    log_steps: int = 50
    tensorboard: bool = True
    strategy: Literal["ddp", "fsdp"] = "ddp"
    timeout: float = 1800.0

    def __post_init__(self):
        _check_counts(save_steps=self.save_steps, log_steps=self.log_steps)
        if self.workers < 0:
            raise ValueError(f"workers={self.workers!r}: pass 0 (read in this process) or more")
        _check_choice("device", self.device, ("auto", "cpu", "cuda", "mps"))
        _check_choice("strategy", self.strategy, ("ddp", "fsdp"))
        if not 0 < self.timeout < math.inf:
            raise ValueError(f"timeout={self.timeout!r}: pass a positive number of seconds")
        if self.save_seconds is not None and not 0 < self.save_seconds < math.inf:
            raise ValueError(f"save_seconds={self.save_seconds!r}: pass a positive number, or None for never")


@dataclass(frozen=True)
class TrainConfig:
    """One run.

    method: vanilla, input_mixup, manifold_mixup, cutmix, augmix or puzzle. settings: that method's. seed: what all
    randomness of the run follows from.
    """

    method: str = "puzzle"
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    optimiser: OptimiserConfig = field(default_factory=OptimiserConfig)
    machine: MachineConfig = field(default_factory=MachineConfig)
    settings: LossSettings | None = None
    seed: int = 0

    def __post_init__(self):
        if self.method not in METHODS:
            raise ValueError(f"there is no method {self.method!r}: {nearest(self.method, METHODS)}")
        kind = METHODS[self.method].settings
        if self.settings is None:
            object.__setattr__(self, "settings", kind())
        if type(self.settings) is not kind:
            raise ValueError(f"settings are {type(self.settings).__name__}: {self.method} takes {kind.__name__}")
        if self.seed < 0:
            raise ValueError(f"seed={self.seed!r}: pass a whole number of 0 or more")

    def to_json(self) -> str:
        """The config as text that `from_json` reads."""
        return json.dumps(encode(self), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TrainConfig":
        """Read a config; what is left out has its default, and ValueError names what is not as it should be."""
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"the config is no JSON: {error}") from None
        if not isinstance(values, dict):
            raise ValueError(f"the config is {values!r}: pass an object of settings")
        settings = values.pop("settings", None)
        config = decode(cls, values)
        if settings is None:
            return config
        return replace(config, settings=decode(METHODS[config.method].settings, settings, "settings"))

    @classmethod
    def load(cls, path: str | Path) -> "TrainConfig":
        """Read a config file, or that of a run's folder."""
        path = Path(path)
        path = path / "config.json" if path.is_dir() else path
        try:
            return cls.from_json(path.read_text())
        except FileNotFoundError:
            raise ValueError(f"{path} does not exist: pass the config.json of a run's folder") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def essence(self) -> dict[str, Any]:
        """All that the result depends on, as plain values: everything but the machine."""
        values = encode(TrainConfig.from_json(self.to_json()))
        del values["machine"]
        return values

    def fingerprint(self) -> str:
        """A short hash of the essence: two runs with the same one are the same run."""
        return hashlib.sha256(json.dumps(self.essence(), sort_keys=True).encode()).hexdigest()[:8]

    def folder_name(self) -> str:
        """Name of the folder that the run gets where none is chosen."""
        data = Path(self.data.name).stem
        return f"{data}-{self.model.name.replace(':', '-')}-{self.method}-{self.fingerprint()}"


def differences(ours: dict[str, Any], theirs: dict[str, Any], place: str = "") -> list[str]:
    """Where two essences differ, as `name: value, not value`."""
    found = []
    for name in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(name), theirs.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            found += differences(one, other, f"{place}{name}.")
        elif one != other:
            found.append(f"{place}{name} is {other!r} there and {one!r} here")
    return found


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}: {nearest(value, choices)}")


def _check_counts(**values: int | None) -> None:
    for name, value in values.items():
        if value is not None and value < 1:
            raise ValueError(f"{name}={value!r}: pass a whole number of at least 1")

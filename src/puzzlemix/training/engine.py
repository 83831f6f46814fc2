"""One step of training on one device: model, method, optimiser, average and precision."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from lightning.fabric import Fabric
from lightning.fabric.plugins.precision import MixedPrecision
from torch import Tensor, nn

from ..core.saliency_cache import View
from ..methods import Batch, Method
from .config import LoopConfig, MachineConfig, TrainConfig
from .ema import Ema
from .optimiser import build_optimiser, set_rate

_FABRIC_NAMES = {"bf16": "bf16-mixed", "fp16": "16-mixed"}


def find_device(machine: MachineConfig) -> str:
    """The kind of device to train on."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if machine.device == "auto":
        return next(name for name, found in there.items() if found)
    if not there[machine.device]:
        raise ValueError(f"device={machine.device!r}: torch finds none here, pass --device auto")
    return machine.device


def make_fabric(loop: LoopConfig, machine: MachineConfig) -> Fabric:
    """Lightning Fabric for one device, with its precision."""
    device = find_device(machine)
    if loop.precision == "fp32":
        return Fabric(accelerator=device, devices=1, precision="32-true")
    if loop.precision == "fp16" and device == "cpu":
        raise ValueError("precision='fp16' is for accelerators: pass --precision bf16 on the CPU")
    return Fabric(accelerator=device, devices=1, plugins=[MixedPrecision(_FABRIC_NAMES[loop.precision], device)])


class Autocasting(nn.Module):
    """A model that runs in the run's precision and answers in float32, whoever calls it."""

    def __init__(self, module: nn.Module, fabric: Fabric):
        super().__init__()
        self.module = module
        self._autocast = fabric.autocast

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> logits (B,classes), float32."""
        with self._autocast():
            logits = self.module(images)
        return logits.float()


class Sums(NamedTuple):
    """What the running loss and error of an epoch are made from, added up where the model is: float tensors ()."""

    loss: Tensor
    hits: Tensor
    count: Tensor


class Engine:
    """Everything that a step changes."""

    def __init__(self, config: TrainConfig, model: nn.Module, method: Method, fabric: Fabric):
        self.loop = config.loop
        self.fabric = fabric
        self.method = method
        layout = torch.channels_last if self.loop.channels_last else torch.preserve_format
        self.model = fabric.to_device(model).to(memory_format=layout)  # pyright: ignore[reportCallIssue]
        self.ema = None if self.loop.ema is None else Ema(self.model, self.loop.ema)
        self.net = self._callable(self.model)
        self.forward = fabric.strategy.setup_module(self.net)
        self.optimiser = build_optimiser(self.model, config.optimiser, config.schedule.lr)
        self._stepper = fabric.setup_optimizers(self.optimiser)

    def _callable(self, model: nn.Module) -> Autocasting:
        return Autocasting(torch.compile(model) if self.loop.compile else model, self.fabric)  # pyright: ignore

    @property
    def ema_net(self) -> nn.Module | None:
        """The averaged model, to be evaluated."""
        return None if self.ema is None else Autocasting(self.ema.model, self.fabric)

    def step(self, batch: Batch, lr: float, number: int, generators: Callable[[int], torch.Generator]) -> Sums:
        """Learn from one batch in step `number` of the run, counted from 1; `generators` gives each part its own."""
        set_rate(self.optimiser, lr)
        self.optimiser.zero_grad()
        batch = self._placed(batch)
        sums = [self._learn(part, share, generators(i)) for i, (part, share) in enumerate(self._parts(batch))]
        self._stepper.step()
        if self.ema is not None:
            self.ema.update(self.model, number)
        return Sums(*(torch.stack(values).sum(0) for values in zip(*sums, strict=True))) if len(sums) > 1 else sums[0]

    def _learn(self, part: Batch, share: float, generator: torch.Generator) -> Sums:
        """Add a part's gradients, weighted by its share of the batch."""
        scaler = getattr(self.fabric.strategy.precision, "scaler", None)

        def scale(loss: Tensor) -> Tensor:
            return (loss if scaler is None else scaler.scale(loss)) * share

        with self._unsynchronised(...)
        step = self.method.loss(self.forward, part._replace(scale=scale), generator)

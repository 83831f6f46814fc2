"""One step of training on one device: model, method, optimiser, average and precision."""

import math
from collections.abc import Callable, Iterator
from typing import Any

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

    def step(self, batch: Batch, lr: float, number: int, generators: Callable[[int], torch.Generator]) -> Tensor:
        """Learn from one batch in step `number` of the run, counted from 1; `generators` gives each part its own.

        Gives the summed loss, the hits and the number of images, (3,).
        """
        set_rate(self.optimiser, lr)
        self.optimiser.zero_grad()
        sums = [self._learn(part, share, generators(i)) for i, (part, share) in enumerate(self._parts(self.placed(batch)))]
        self._stepper.step()
        if self.ema is not None:
            self.ema.update(self.model, number)
        return torch.stack(sums).sum(0)

    def _learn(self, part: Batch, share: float, generator: torch.Generator) -> Tensor:
        """Add a part's gradients, weighted by its share of the batch."""
        step = self.method.loss(self.forward, part._replace(scale=self._scale(share)), generator)
        self.fabric.backward(step.loss * share)
        hits = step.targets.gather(1, step.logits.argmax(1, keepdim=True)).sum()
        images = len(step.targets)
        return torch.stack([step.loss.detach() * images, hits, torch.full_like(hits, images)])

    def _scale(self, share: float) -> Callable[[Tensor], Tensor] | None:
        """What happens to a loss before it goes backward, for methods that go backward themselves."""
        scaler = self._scaler
        if scaler is not None:
            return lambda loss: scaler.scale(loss) * share
        return None if share == 1 else lambda loss: loss * share

    @property
    def _scaler(self) -> torch.amp.GradScaler | None:
        return getattr(self.fabric.strategy.precision, "scaler", None)

    def _parts(self, batch: Batch) -> Iterator[tuple[Batch, float]]:
        """The batch in portions, each with its share of the images."""
        images = len(batch.images)
        size = math.ceil(images / self.loop.accumulate)
        for start in range(0, images, size):
            part = _cut(batch, slice(start, start + size))
            yield part, len(part.images) / images

    def placed(self, batch: Batch) -> Batch:
        """Images and labels on the device, laid out as the model's weights are."""
        layout = torch.channels_last if self.loop.channels_last else torch.preserve_format
        device = self.fabric.device
        images = batch.images.to(device, non_blocking=True, memory_format=layout)
        return batch._replace(images=images, labels=batch.labels.to(device, non_blocking=True))

    def state_dict(self) -> dict[str, Any]:
        """Everything that a step changes, as it is now."""
        return {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "ema": None if self.ema is None else self.ema.model.state_dict(),
            "method": self.method.state_dict(),
            "scaler": None if self._scaler is None else self._scaler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`."""
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.method.load_state_dict(state["method"])
        if self.ema is not None:
            self.ema.model.load_state_dict(state["ema"])
        if self._scaler is not None:
            self._scaler.load_state_dict(state["scaler"])


def _cut(batch: Batch, part: slice) -> Batch:
    view = batch.view
    return batch._replace(
        images=batch.images[part],
        labels=batch.labels[part],
        samples=None if batch.samples is None else batch.samples[part],
        view=None if view is None else View(*(None if field is None else field[part] for field in view)),
    )

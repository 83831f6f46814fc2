"""One step of training: model, method, optimiser, average and precision."""

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.parallel import DistributedDataParallel

from ..core.saliency_cache import View
from ..methods import Batch, Method
from . import sharding
from .config import TrainConfig
from .ema import Ema
from .optimiser import build_optimiser, set_rate
from .processes import Team


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
    """Everything that a step changes.

    model: the network. net: the same as it is called by those who only look at it. forward: the same as it is called to
    learn, where gradients travel between processes.
    """

    def __init__(self, config: TrainConfig, model: nn.Module, method: Method, team: Team):
        self.loop, self.team, self.fabric, self.method = config.loop, team, team.fabric, method
        self._layout = torch.channels_last if self.loop.channels_last else torch.preserve_format
        self.model = self.fabric.to_device(model).to(memory_format=self._layout)  # pyright: ignore[reportCallIssue]
        self.ema = None if self.loop.ema is None else Ema(self.model, self.loop.ema)
        self.net = Autocasting(self._compiled(self.model), self.fabric)
        self.forward = self.fabric.strategy.setup_module(self.net)
        self.ema_net = None if self.ema is None else self._averaged_net(self.ema)
        self._statistics = _statistics(self.model) if team.size > 1 else []
        self.optimiser = build_optimiser(self.model, config.optimiser, config.schedule.lr)

    def _compiled(self, model: nn.Module) -> nn.Module:
        return torch.compile(model) if self.loop.compile else model  # pyright: ignore[reportReturnType]

    def _averaged_net(self, ema: Ema) -> nn.Module:
        """The averaged model, to be evaluated; spread over the processes as the other one is."""
        net = Autocasting(ema.model, self.fabric)
        return net if isinstance(self.forward, DistributedDataParallel) else self.fabric.strategy.setup_module(net)

    def step(self, batch: Batch, lr: float, number: int, generators: Callable[[int], torch.Generator]) -> Tensor:
        """Learn from one batch in step `number` of the run, counted from 1; `generators` gives each part its own.

        Gives the summed loss, the hits and the number of images, (3,).
        """
        set_rate(self.optimiser, lr)
        self.optimiser.zero_grad()
        parts = list(self._parts(self.placed(batch)))
        sums = []
        for place, (part, share) in enumerate(parts):
            with self._gradients_travel(place == len(parts) - 1):
                sums.append(self._learn(part, share, generators(place)))
        self.fabric.strategy.optimizer_step(self.optimiser)  # pyright: ignore[reportArgumentType]
        self.team.average(self._statistics)
        if self.ema is not None:
            self.ema.update(self.model, number)
        return sums[0] if len(sums) == 1 else torch.stack(sums).sum(0)

    def _gradients_travel(self, now: bool) -> contextlib.AbstractContextManager:
        """Only those of the last part do, which by then are the sums of all parts."""
        forward = self.forward
        return (
            contextlib.nullcontext() if now or not isinstance(forward, DistributedDataParallel) else forward.no_sync()
        )

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
            part = batch if size == images else _cut(batch, slice(start, start + size))
            yield part, len(part.images) / images

    def placed(self, batch: Batch) -> Batch:
        """Images and labels on the device, laid out as the model's weights are."""
        device = self.fabric.device
        images = batch.images.to(device, non_blocking=True, memory_format=self._layout)
        return batch._replace(images=images, labels=batch.labels.to(device, non_blocking=True))

    def state_dict(self) -> dict[str, Any]:
        """Everything that a step changes, as it is now; all processes must ask, and all get the whole."""
        if self.team.size > 1:
            self.method.exchange(self.team.gather)
        return {
            "model": sharding.model_state(self.model),
            "optimiser": sharding.optimiser_state(self.optimiser),
            "ema": None if self.ema is None else sharding.model_state(self.ema.model),
            "method": self.method.state_dict(),
            "scaler": None if self._scaler is None else self._scaler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a `state_dict`, of however many processes."""
        sharding.load_model_state(self.model, state["model"])
        sharding.load_optimiser_state(self.optimiser, state["optimiser"])
        self.method.load_state_dict(state["method"])
        if self.ema is not None:
            sharding.load_model_state(self.ema.model, state["ema"])
        if self._scaler is not None:
            self._scaler.load_state_dict(state["scaler"])


def _statistics(model: nn.Module) -> list[Tensor]:
    """What normalisation layers remember of the batches they saw."""
    norms = [module for module in model.modules() if isinstance(module, _NormBase)]
    remembered = [tensor for norm in norms for tensor in (norm.running_mean, norm.running_var)]
    return [tensor for tensor in remembered if tensor is not None]


def _cut(batch: Batch, part: slice) -> Batch:
    view = batch.view
    return batch._replace(
        images=batch.images[part],
        labels=batch.labels[part],
        samples=None if batch.samples is None else batch.samples[part],
        view=None if view is None else View._make(None if field is None else field[part] for field in view),
    )

"""Training from the start, or from wherever it stopped, to the end."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import torch
from torch import nn

from .. import __version__
from ..evaluation.accuracy import evaluate
from ..evaluation.attacks import attacked
from ..methods import Batch, build_method
from ..models import build_model, save_weights
from .checkpoint import load_latest, save_checkpoint
from .config import TrainConfig
from .engine import Engine, make_fabric
from .feed import Feed
from .folder import RunFolder, open_folder
from .log import Console, MetricsLog, bar, clock
from .outcome import Outcome, errors_of
from .running import Pace, Running
from .schedule import learning_rate
from .seeds import global_state_kept, seed_layers, step_generator
from .stopping import Stopped, StopSignals

Item = TypeVar("Item")


def train(config: TrainConfig, folder: str | Path, console: Console | None = None) -> Outcome:
    """Train in `folder`, going on from its latest checkpoint if there is one; a finished run is only evaluated again.

    Raises `Stopped` where SIGTERM or Ctrl-C ended it early; calling again with the same arguments continues.
    """
    with open_folder(Path(folder), config) as run, StopSignals() as stop, global_state_kept():
        return Trainer(config, run, stop, console or Console()).run()


@dataclass
class Position:
    """How far a run is: the epoch, the steps done in it, the steps done in all, and the seconds they took."""

    epoch: int = 0
    step: int = 0
    total: int = 0
    seconds: float = 0.0


class Trainer:
    """A run under way."""

    def __init__(self, config: TrainConfig, folder: RunFolder, stop: StopSignals, console: Console):
        self.config, self.folder, self.stop, self.console = config, folder, stop, console
        self.feed = Feed(config)
        self.engine = build_engine(config, self.feed)
        self.position = Position()
        self.running = Running(self.engine.fabric.device)
        self.history: list[dict[str, float]] = []
        self._introduce()
        cut = self._resume()
        self._before = self.position.seconds
        self._saved_at = (self.position.total, 0.0)
        self.pace = Pace(self._share)
        self.log = MetricsLog(folder.path, tensorboard=config.machine.tensorboard, position=cut, step=self.position.total)

    def run(self) -> Outcome:
        """Train to the end and evaluate."""
        try:
            while self.position.epoch < self.config.loop.epochs:
                self._run_epoch()
            return self._finish()
        finally:
            self.log.close()

    # ---- an epoch ------------------------------------------------------------------------------------------------

    def _run_epoch(self) -> None:
        self.pace.begin_epoch()
        self.engine.net.train()
        for batch in self.feed.train(self.position.epoch, self.position.step):
            self._step(batch)
            self._between_steps()
        self._end_epoch()

    def _step(self, batch: Batch) -> None:
        at, seed, rank = self.position, self.config.seed, self.engine.fabric.global_rank
        seed_layers(seed, at.epoch, at.step, rank)
        sums = self.engine.step(
            batch, self._rate(), at.total + 1, lambda part: step_generator(seed, at.epoch, at.step, rank, part)
        )
        self.running.add(sums)
        self.pace.count(len(batch.images))
        at.step += 1
        at.total += 1

    def _rate(self) -> float:
        return learning_rate(self.config.schedule, self._share * self.config.loop.epochs, self.config.loop.epochs)

    def _between_steps(self) -> None:
        """Log, show, heed signals and save, each when it is due."""
        if self.position.total % self.config.machine.log_steps == 0:
            values = {**self.running.read(), "lr": self._rate(), "images_per_second": self.pace.rate}
            self.log.write("step", self.position.total, values)
        if self.console.is_due():
            self.console.draw(self._bar())
        self._heed_stop()
        if self._save_is_due():
            self._save()

    def _end_epoch(self) -> None:
        """Evaluate, and only then count the epoch as done."""
        at = self.position
        metrics = {"epoch": at.epoch + 1, "lr": self._rate()}
        metrics |= {f"train_{name}": value for name, value in self.running.read().items()}
        metrics |= self._evaluate("test", self.engine.net)
        if self.engine.ema_net is not None:
            metrics |= self._evaluate("ema", self.engine.ema_net)
        at.epoch, at.step = at.epoch + 1, 0
        self._tick()
        metrics["seconds"] = at.seconds
        self.running.reset()
        self.history.append(metrics)
        self.log.write("epoch", at.total, metrics)
        self._save()
        self.console.say(self._epoch_line(metrics))
        self._heed_stop()

    def _evaluate(self, prefix: str, net: nn.Module) -> dict[str, float]:
        found = evaluate(net, self._watched(self._test_batches()))
        return {
            f"{prefix}_loss": found.loss,
            f"{prefix}_error": 1 - found.top1,
            f"{prefix}_error5": 1 - found.top5,
        }

    def _test_batches(self) -> Iterator[Batch]:
        return map(self.engine.placed, self.feed.test())

    # ---- the end -------------------------------------------------------------------------------------------------

    def _finish(self) -> Outcome:
        save_weights(self.engine.model, self.folder.weights)
        errors = errors_of(self.history, self._fgsm_error(self.engine.net), "test")
        ema_errors = None
        if self.engine.ema is not None and self.engine.ema_net is not None:
            save_weights(self.engine.ema.model, self.folder.ema_weights)
            ema_errors = errors_of(self.history, self._fgsm_error(self.engine.ema_net), "ema")
        outcome = Outcome(errors, ema_errors, self.history, self.position.seconds)
        self.folder.write_result(outcome.as_dict())
        return outcome

    def _fgsm_error(self, net: nn.Module) -> float:
        batches = attacked(net, self._watched(self._test_batches()), self.config.loop.fgsm_255)
        return 1 - evaluate(net, batches).top1

    # ---- stopping and going on -----------------------------------------------------------------------------------

    def _watched(self, items: Iterable[Item]) -> Iterator[Item]:
        for item in items:
            self._heed_stop()
            yield item

    def _heed_stop(self) -> None:
        if self.stop.received is not None:
            if self._saved_at[0] != self.position.total:
                self._save()
            raise Stopped(self.stop.received)

    def _save_is_due(self) -> bool:
        machine, (total, seconds) = self.config.machine, self._saved_at
        by_steps = machine.save_steps is not None and self.position.total - total >= machine.save_steps
        return by_steps or (machine.save_seconds is not None and self.pace.seconds - seconds >= machine.save_seconds)

    def _save(self) -> None:
        self._tick()
        state = {
            **self.engine.state_dict(),
            "position": asdict(self.position),
            "running": self.running.sums.cpu(),
            "history": self.history,
            "log": self.log.position(),
            "fingerprint": self.config.fingerprint(),
            "version": __version__,
        }
        save_checkpoint(self.folder.checkpoints, state, self.position.epoch, self.position.total)
        self._saved_at = (self.position.total, self.pace.seconds)

    def _resume(self) -> int:
        """Go on from the latest checkpoint, if there is one; where to cut the log."""
        found = load_latest(self.folder.checkpoints, self.console.warn)
        if found is None:
            return 0
        state = found.state
        if state["fingerprint"] != self.config.fingerprint():
            raise ValueError(f"{found.path} is another run's: remove it, or pass another folder")
        self.engine.load_state_dict(state)
        self.position = Position(**state["position"])
        self.running.sums.copy_(state["running"])
        self.history = state["history"]
        self.console.say(f"going on from {found.path}")
        return state["log"]

    def _tick(self) -> None:
        self.position.seconds = self._before + self.pace.seconds

    # ---- what is said --------------------------------------------------------------------------------------------

    @property
    def _share(self) -> float:
        """How much of the run is done, 0 to 1; an epoch that has ended but is not evaluated counts as done."""
        at, loop = self.position, self.config.loop
        if at.epoch >= loop.epochs:
            return 1.0
        return (at.epoch + at.step / self.feed.steps(at.epoch)) / loop.epochs

    def _introduce(self) -> None:
        config, spec = self.config, self.feed.spec
        weights = sum(p.numel() for p in self.engine.model.parameters())
        self.console.say(
            f"{config.method} on {config.data.name} ({self.feed.images:,} images, {spec.classes} classes), "
            f"{config.model.name} ({weights / 1e6:.2f} M weights), {config.loop.epochs} epochs of "
            f"{self.feed.steps(0)} steps, {self.engine.fabric.device.type} {config.loop.precision}, in {self.folder.path}"
        )

    def _bar(self) -> str:
        read, share = self.running.read(), self._share
        return (
            f"epoch {self.position.epoch + 1}/{self.config.loop.epochs} {bar(share)} {share:4.0%}  "
            f"{self.pace.rate:.0f} images/s  loss {read['loss']:.3f}  error {read['error']:.1%}  "
            f"{clock(self.pace.left(share))} left"
        )

    def _epoch_line(self, metrics: dict[str, float]) -> str:
        ema = f" (average {metrics['ema_error']:.2%})" if "ema_error" in metrics else ""
        return (
            f"epoch {self.position.epoch}/{self.config.loop.epochs}  train loss {metrics['train_loss']:.3f} "
            f"error {metrics['train_error']:.2%}  test loss {metrics['test_loss']:.3f} error {metrics['test_error']:.2%}"
            f"{ema}  {self.pace.rate:.0f} images/s  {clock(self.pace.left(self._share))} left"
        )


def build_engine(config: TrainConfig, feed: Feed) -> Engine:
    """The model, its method and its optimiser as the settings and the data set say."""
    spec = feed.spec
    model = build_model(
        config.model.name,
        spec.classes,
        channels=spec.channels,
        mean=spec.mean,
        std=spec.std,
        seed=config.seed,
        **config.model.options,
    )
    assert config.settings is not None
    method = build_method(config.settings, classes=spec.classes)
    return Engine(config, model, method, make_fabric(config.loop, config.machine))

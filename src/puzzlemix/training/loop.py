"""Training from the start, or from wherever it stopped, to the end."""

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .. import __version__
from ..evaluation.accuracy import Accuracy, accuracy_of, eval_mode, judge
from ..evaluation.attacks import fgsm
from ..methods import Batch, build_method
from ..models import build_model
from ..models.weights import bare, write_weights
from .checkpoint import Checkpoint, load_latest, save_checkpoint
from .config import TrainConfig
from .engine import Engine
from .feed import Feed
from .folder import RunFolder, open_folder
from .log import Console, MetricsLog, NoLog, Quiet, bar, clock
from .outcome import Errors, Outcome, errors_of
from .processes import Team, start
from .running import Pace, Running, mean_loss_and_error
from .schedule import learning_rate
from .seeds import global_state_kept, seed_layers, step_generator
from .sharding import model_state
from .stopping import Stopped, StopSignals


def train(config: TrainConfig, folder: str | Path, console: Console | None = None) -> Outcome:
    """Train in `folder`, going on from its latest checkpoint if there is one; a finished run is only evaluated again.

    Raises `Stopped` where SIGTERM or Ctrl-C ended it early; calling again with the same arguments continues. Started by
    torchrun or SLURM, every process must call it; the first one writes and speaks.
    """
    with StopSignals() as stop, contextlib.ExitStack() as opened:
        team = start(config.loop, config.machine)
        feed = team.first_goes_ahead(lambda: Feed(config, device=team.fabric.device))
        run = team.from_first(lambda: opened.enter_context(open_folder(Path(folder), config)))
        with global_state_kept(team.fabric.device):
            return Trainer(config, feed, run, stop, (console or Console()) if team.first else Quiet(), team).run()


@dataclass
class Position:
    """How far a run is: the epoch, the steps done in it and in all, the seconds they took, the last one's rate."""

    epoch: int = 0
    step: int = 0
    total: int = 0
    seconds: float = 0.0
    rate: float = 0.0


class Trainer:
    """A run under way."""

    def __init__(
        self, config: TrainConfig, feed: Feed, folder: RunFolder, stop: StopSignals, console: Console, team: Team
    ):
        self.config, self.feed, self.folder = config, feed, folder
        self.stop, self.console, self.team = stop, console, team
        self._data = self.feed.data.fingerprint()
        if len(self.feed.data.test) < team.size:
            raise ValueError(
                f"{len(self.feed.data.test)} test images for {team.size} processes: start no more than that"
            )
        self.engine = build_engine(config, self.feed, team)
        self.position = Position()
        self.running = Running(team.fabric.device)
        self.history: list[dict[str, float]] = []
        self._introduce()
        found = team.from_first(lambda: load_latest(folder.checkpoints, console.warn))
        if found is not None:
            self._go_on_from(found)
        self._before = self.position.seconds
        self._saved_at = (self.position.total, 0.0)
        self.pace = Pace(self._share)
        self.log = self._open_log(0 if found is None else found.state["log"])

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
        for _ in self.steps():
            pass
        self._end_epoch()

    def steps(self) -> Iterator[None]:
        """Take the steps that are left of this epoch, one at a time."""
        self.pace.begin_epoch()
        self.engine.net.train()
        at, team = self.position, self.team
        for batch in self.feed.train(at.epoch, at.step, rank=team.rank, world=team.size):
            self._step(batch)
            self._between_steps()
            yield

    def _step(self, batch: Batch) -> None:
        at, seed, rank = self.position, self.config.seed, self.team.rank
        at.rate = self._rate_here()
        seed_layers(self.team.fabric.device, seed, at.epoch, at.step, rank)
        sums = self.engine.step(
            batch, at.rate, at.total + 1, lambda part: step_generator(seed, at.epoch, at.step, rank, part)
        )
        self.running.add(sums)
        self.pace.count(len(batch.images) * self.team.size)
        at.step += 1
        at.total += 1

    def _rate_here(self) -> float:
        epochs = self.config.loop.epochs
        return learning_rate(self.config.schedule, self._share * epochs, epochs)

    def _between_steps(self) -> None:
        """Log, show, heed signals and save, each when it is due."""
        if self.position.total % self.config.machine.log_steps == 0:
            values = {**self._training_so_far(), "lr": self.position.rate, "images_per_second": self.pace.rate}
            self.log.write("step", self.position.total, values)
        if self.console.is_due():
            self.console.draw(self._bar())
        stop, save = self.team.agree(self.stop.received or 0, self._save_is_due())
        self._heed(stop)
        if save:
            self._save()

    def _training_so_far(self) -> dict[str, float]:
        return mean_loss_and_error(self.team.total(self.running.sums))

    def _end_epoch(self) -> None:
        """Evaluate, and only then count the epoch as done."""
        at = self.position
        metrics = {"epoch": at.epoch + 1, "lr": at.rate, "images_per_second": self.pace.rate}
        metrics |= {f"train_{name}": value for name, value in self._training_so_far().items()}
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
        self._report(metrics)
        self._heed(*self.team.agree(self.stop.received or 0))

    # ---- evaluation ----------------------------------------------------------------------------------------------

    def _evaluate(self, prefix: str, net: nn.Module) -> dict[str, float]:
        found = self._judged(net)
        return {
            f"{prefix}_loss": found.loss,
            f"{prefix}_error": 1 - found.top1,
            f"{prefix}_error5": 1 - found.top5,
        }

    def _judged(self, net: nn.Module, change: Callable[[Tensor, Tensor], Tensor] | None = None) -> Accuracy:
        """Judge a network on all test images, as they are or changed; every process on its share."""
        with eval_mode(net), torch.no_grad():
            sums = torch.stack([self._judged_batch(net, *turn, change) for turn in self._turns()]).double().sum(0)
        return accuracy_of(self.team.total(sums))

    def _judged_batch(
        self, net: nn.Module, batch: Batch, counts: bool, change: Callable[[Tensor, Tensor], Tensor] | None
    ) -> Tensor:
        images, labels = batch.images, batch.labels
        return judge(net(images if change is None else change(images, labels)), labels) * counts

    def _turns(self) -> Iterator[tuple[Batch, bool]]:
        """The process's own test batches, which count; then its last one again, uncounted, while others have more.

        So all go the same number of turns: a network that is spread over processes answers only when all of them ask.
        """
        batches = self.feed.test(rank=self.team.rank, world=self.team.size)
        shown = None
        while True:
            batch = next(batches, None)
            stop, more = self.team.agree(self.stop.received or 0, batch is not None)
            self._heed(stop)
            if not more:
                return
            shown = shown if batch is None else self.engine.placed(batch)
            assert shown is not None
            yield shown, batch is not None

    # ---- the end -------------------------------------------------------------------------------------------------

    def _finish(self) -> Outcome:
        engine, folder = self.engine, self.folder
        errors = self._conclude("test", engine.model, engine.net, folder.weights)
        ema_errors = None
        if engine.ema is not None and engine.ema_net is not None:
            ema_errors = self._conclude("ema", engine.ema.model, engine.ema_net, folder.ema_weights)
        outcome = Outcome(errors, ema_errors, self.history, self.position.seconds)
        if self.team.first:
            folder.write_result(outcome.as_dict())
        return outcome

    def _conclude(self, prefix: str, model: nn.Module, net: nn.Module, path: Path) -> Errors:
        """Write the weights, attack them, and read off the epochs' metrics."""
        weights = model_state(bare(model))
        if self.team.first:
            write_weights(weights, path)
        attack = partial(fgsm, net, eps_255=self.config.loop.fgsm_255)
        return errors_of(self.history, 1 - self._judged(net, attack).top1, prefix)

    # ---- stopping and going on -----------------------------------------------------------------------------------

    def _heed(self, stop: int) -> None:
        """End the run if a process was told to; all processes must have agreed about it."""
        if stop:
            if self._saved_at[0] != self.position.total:
                self._save()
            raise Stopped(stop)

    def _save_is_due(self) -> bool:
        machine, (total, seconds) = self.config.machine, self._saved_at
        by_steps = machine.save_steps is not None and self.position.total - total >= machine.save_steps
        return by_steps or (machine.save_seconds is not None and self.pace.seconds - seconds >= machine.save_seconds)

    def _save(self) -> None:
        """All processes must call it: each says what it alone knows, and the first one writes."""
        self._tick()
        state = {
            **self.engine.state_dict(),
            "position": asdict(self.position),
            "running": self.team.gather(self.running.sums.cpu()),
            "history": self.history,
            "log": self.log.position(),
            "fingerprint": self.config.fingerprint(),
            "data": self._data,
            "processes": self.team.size,
            "version": __version__,
        }
        if self.team.first:
            save_checkpoint(self.folder.checkpoints, state, self.position.epoch, self.position.total)
        self._saved_at = (self.position.total, self.pace.seconds)

    def _go_on_from(self, found: Checkpoint) -> None:
        path, state = found
        self._check(path, state)
        self.engine.load_state_dict(state)
        self.position = Position(**state["position"])
        running = state["running"] if state["processes"] == self.team.size else [torch.stack(state["running"]).sum(0)]
        if self.team.rank < len(running):
            self.running.sums.copy_(running[self.team.rank])
        self.history = state["history"]
        self.console.say(f"going on from {path}")

    def _check(self, path: Path, state: dict[str, Any]) -> None:
        """Whether a checkpoint is this run's, and how exactly it can be continued."""
        if state["fingerprint"] != self.config.fingerprint():
            raise ValueError(f"{path} is another run's: remove it, or pass another folder")
        if state["data"] != self._data:
            raise ValueError(f"{self.config.data.name} has changed since {path} was written: pass another folder")
        if state["processes"] != self.team.size:
            self.console.warn(
                f"{path} was written by {state['processes']} process(es), and now there are {self.team.size}: the run "
                "goes on from the same weights and place, but each process draws its own mixes, so it will not end "
                "with the same bits"
            )

    def _tick(self) -> None:
        self.position.seconds = self._before + self.pace.seconds

    def _open_log(self, position: int) -> MetricsLog:
        if not self.team.first:
            return NoLog()
        tensorboard = self.config.machine.tensorboard
        return MetricsLog(self.folder.path, tensorboard=tensorboard, position=position, step=self.position.total)

    # ---- what is said --------------------------------------------------------------------------------------------

    @property
    def _share(self) -> float:
        """How much of the run is done, 0 to 1; an epoch that has ended but is not evaluated counts as done."""
        at, loop = self.position, self.config.loop
        if at.epoch >= loop.epochs:
            return 1.0
        return (at.epoch + at.step / self.feed.steps(at.epoch)) / loop.epochs

    def _introduce(self) -> None:
        config, spec, device = self.config, self.feed.spec, self.team.fabric.device
        weights = sum(p.numel() for p in self.engine.model.parameters())
        together = "" if self.team.size == 1 else f" in {self.team.size} processes ({config.machine.strategy})"
        self.console.say(
            f"{config.method} on {config.data.name} ({self.feed.images:,} images, {spec.classes} classes), "
            f"{config.model.name} ({weights / 1e6:.2f} M weights), {config.loop.epochs} epochs of "
            f"{self.feed.steps(0)} steps, {device.type} {config.loop.precision}{together}, in {self.folder.path}"
        )

    def _bar(self) -> str:
        read, share = self.running.read(), self._share
        return (
            f"epoch {self.position.epoch + 1}/{self.config.loop.epochs} {bar(share)} {share:4.0%}  "
            f"{self.pace.rate:.0f} images/s  loss {read['loss']:.3f}  error {read['error']:.1%}  "
            f"{clock(self.pace.left(share))} left"
        )

    def _report(self, metrics: dict[str, float]) -> None:
        """Say how the epoch went."""
        said = {name: f"{value:.2%}" if "error" in name else f"{value:.3f}" for name, value in metrics.items()}
        ema = f" (average {said['ema_error']})" if "ema_error" in said else ""
        self.console.say(
            f"epoch {self.position.epoch}/{self.config.loop.epochs}  "
            f"train loss {said['train_loss']} error {said['train_error']}  "
            f"test loss {said['test_loss']} error {said['test_error']}{ema}  "
            f"{metrics['images_per_second']:.0f} images/s  {clock(self.pace.left(self._share))} left"
        )
        if not math.isfinite(metrics["train_loss"]):
            self.console.warn("the loss is no finite number any more: start anew with a lower --lr")


def build_engine(config: TrainConfig, feed: Feed, team: Team | None = None) -> Engine:
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
    method = build_method(config.settings, classes=spec.classes, std=spec.std)
    return Engine(config, model, method, team or start(config.loop, config.machine))

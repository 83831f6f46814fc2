"""Times of training steps: every method's on one model, our loop's beside a bare one's, and the input pipeline's."""

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import torch.nn.functional as F
from torch import Tensor
from torch.optim import SGD

from ..methods import METHODS, Batch, LossSettings, PuzzleSettings, VanillaSettings, build_method
from ..training.config import TrainConfig
from ..training.feed import Feed
from ..training.folder import open_folder
from ..training.log import Quiet
from ..training.loop import Trainer, build_engine
from ..training.seeds import global_state_kept, step_generator
from ..training.stopping import StopSignals
from .mixing import finished
from .timing import Effort, Times, average, one_by_one

OURS, BARE, PIPELINE = "our loop", "bare loop", "input pipeline"
REFRESH = 4
BF16, REFRESHED, HALF = "puzzle, bf16 saliency", f"puzzle, saliency every {REFRESH} epochs", "puzzle, p = 0.5"
_COSTLIEST = (16,)  # of the paper's grids: which one is drawn shall not decide
_NEVER_STALE = 2**31 - 1


def step_times(
    config: TrainConfig, effort: Effort, methods: Mapping[str, LossSettings] | None = None
) -> dict[str, Times]:
    """Time a step of each method (by default of all, and of Puzzle Mix's variants) on the config's model and data."""
    bench = Bench(config)
    chosen = _all_methods() if methods is None else methods
    times = one_by_one(effort, {name: bench.step_of(settings) for name, settings in chosen.items()})
    if methods is not None:
        return times
    variants = {name: _put_together(name, times) for name in _VARIANTS}
    return {name: times[name] for name in METHODS} | variants


def puzzle_times(config: TrainConfig, effort: Effort) -> dict[str, tuple[Times, Times]]:
    """Time a step of Puzzle Mix, and of its variants BF16, REFRESHED and HALF, and with each a vanilla one.

    Each is beside vanilla alone, as in a run of its own: steps with other memory in between are slower than either.
    """
    bench, kinds, found = Bench(config), _kinds(), {}
    for name, parts in _VARIANTS.items():
        chosen = {"vanilla": VanillaSettings()} | {kind: kinds[kind] for _, kind in parts}
        times = one_by_one(effort, {kind: bench.step_of(settings) for kind, settings in chosen.items()})
        found[name] = _put_together(name, times), times["vanilla"]
    return found


def loop_times(config: TrainConfig, effort: Effort) -> dict[str, Times]:
    """Time a vanilla step of our loop with its input pipeline (OURS), of a bare loop (BARE), and the PIPELINE alone."""
    bench, config = Bench(config), replace(config, method="vanilla", settings=None)
    with (
        tempfile.TemporaryDirectory() as place,
        open_folder(Path(place), config) as folder,
        global_state_kept(bench.engine.fabric.device),
    ):
        trainer = Trainer(config, bench.feed, folder, StopSignals(), Quiet(), bench.engine.team)
        steps = _endless(trainer)
        functions = {OURS: lambda: next(steps), BARE: bench.bare_step(), PIPELINE: bench.pipeline()}
        times = one_by_one(effort, {name: bench.finished(function) for name, function in functions.items()})
        trainer.log.close()
    return times


def _endless(trainer: Trainer) -> Iterator[None]:
    """The steps of the first epoch, over and over."""
    while True:
        yield from trainer.steps()
        trainer.position.step = 0


def _all_methods() -> dict[str, LossSettings]:
    """Every method as it is by default, and the kinds of Puzzle Mix's steps."""
    return {name: entry.settings() for name, entry in METHODS.items()} | _kinds()


def _kinds() -> dict[str, LossSettings]:
    """The kinds of steps that Puzzle Mix and its cheaper variants are made of."""
    return {
        "puzzle": PuzzleSettings(grids=_COSTLIEST),
        BF16: PuzzleSettings(grids=_COSTLIEST, precision="bf16"),
        "new map kept": PuzzleSettings(grids=_COSTLIEST, refresh=1),
        "map reused": PuzzleSettings(grids=_COSTLIEST, refresh=_NEVER_STALE),
        "unmixed": PuzzleSettings(grids=_COSTLIEST, prob=0.0),
    }


_VARIANTS = {
    "puzzle": ((1, "puzzle"),),
    BF16: ((1, BF16),),
    REFRESHED: ((1, "new map kept"), (REFRESH - 1, "map reused")),
    HALF: ((0.5, "puzzle"), (0.5, "unmixed")),
}


def _put_together(variant: str, times: Mapping[str, Times]) -> Times:
    """The mean time of a variant's steps, out of the kinds of steps that it takes."""
    return average(*((weight, times[kind]) for weight, kind in _VARIANTS[variant]))


class Bench:
    """A model with its optimiser and data, on which different methods take steps.

    The learning rate is 0, so that all of them see the same weights.
    """

    def __init__(self, config: TrainConfig):
        self.config = config
        self.feed = Feed(config)
        self.engine = build_engine(config, self.feed)
        self.engine.net.train()
        self._numbers = itertools.count(1)
        self._stream = self._batches()
        self._batch = next(self._stream)

    def step_of(self, settings: LossSettings) -> Callable[[], object]:
        """A step of a method, on the same batch every time."""
        spec = self.feed.spec
        method = build_method(settings, classes=spec.classes, std=spec.std)

        def step() -> Tensor:
            number = next(self._numbers)
            self.engine.method = method
            return self.engine.step(self._batch, 0.0, number, lambda part: step_generator(0, 0, number, 0, part))

        return self.finished(step)

    def bare_step(self) -> Callable[[], object]:
        """The step one writes by hand, on a batch that is ready."""
        net, batch = self.engine.net, self.engine.placed(self._batch)
        settings = self.config.optimiser
        optimiser = SGD(
            net.parameters(),
            lr=0.0,
            momentum=settings.momentum,
            nesterov=settings.nesterov,
            weight_decay=settings.weight_decay,
        )

        def step() -> None:
            optimiser.zero_grad()
            F.cross_entropy(net(batch.images), batch.labels).backward()
            optimiser.step()

        return step

    def pipeline(self) -> Callable[[], object]:
        """The next batch, and nothing else."""
        return lambda: self.engine.placed(next(self._stream))

    def finished(self, function: Callable[[], object]) -> Callable[[], object]:
        """The function, waiting until the device has done what it was told."""
        return finished(function, self.engine.fabric.device)

    def _batches(self) -> Iterator[Batch]:
        """Epoch after epoch."""
        for epoch in itertools.count():
            yield from self.feed.train(epoch, 0)

"""Times of training steps: every method's on one model, our loop's beside a bare one's, and the input pipeline's.

The learning rate is 0 throughout, so that all of them see the same weights.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping

import torch.nn.functional as F
from torch.optim import SGD

from ..methods import METHODS, Batch, LossSettings, PuzzleSettings, build_method
from ..training.config import TrainConfig
from ..training.feed import Feed
from ..training.loop import build_engine
from ..training.running import Running
from ..training.seeds import seed_layers, step_generator
from .mixing import finished
from .timing import Effort, Times, average, one_by_one

OURS, BARE, PIPELINE = "our loop", "bare loop", "input pipeline"
REFRESH = 4
_COSTLIEST = (16,)  # of the paper's grids: which one is drawn shall not decide
_NEVER_STALE = 2**31 - 1


def step_times(
    config: TrainConfig, effort: Effort, methods: Mapping[str, LossSettings] | None = None
) -> dict[str, Times]:
    """Time a step of each method (by default of all, and of Puzzle Mix's variants) on the config's model and data."""
    bench = Bench(config)
    if methods is not None:
        return one_by_one(effort, {name: bench.step_of(settings) for name, settings in methods.items()})
    times = one_by_one(effort, {name: bench.step_of(settings) for name, settings in _all_methods().items()})
    return _averaged(times)


def loop_times(config: TrainConfig, effort: Effort) -> dict[str, Times]:
    """Time a vanilla step of our loop with its input pipeline (OURS), of a bare loop (BARE), and the PIPELINE alone."""
    bench = Bench(config)
    return one_by_one(effort, {OURS: bench.loop(), BARE: bench.bare_loop(), PIPELINE: bench.pipeline()})


def _all_methods() -> dict[str, LossSettings]:
    """Every method as it is by default, and what Puzzle Mix's cheaper variants are made of."""
    puzzle = PuzzleSettings(grids=_COSTLIEST)
    return {name: entry.settings() for name, entry in METHODS.items()} | {
        "puzzle": puzzle,
        "puzzle, bf16 saliency": PuzzleSettings(grids=_COSTLIEST, precision="bf16"),
        "puzzle, new map kept": PuzzleSettings(grids=_COSTLIEST, refresh=1),
        "puzzle, map reused": PuzzleSettings(grids=_COSTLIEST, refresh=_NEVER_STALE),
        "puzzle, unmixed": PuzzleSettings(grids=_COSTLIEST, prob=0.0),
    }


def _averaged(times: dict[str, Times]) -> dict[str, Times]:
    """Put the variants together out of the kinds of steps they take."""
    new, reused, unmixed = (times.pop(f"puzzle, {kind}") for kind in ("new map kept", "map reused", "unmixed"))
    return times | {
        f"puzzle, saliency every {REFRESH} epochs": average((1, new), (REFRESH - 1, reused)),
        "puzzle, p = 0.5": average((0.5, times["puzzle"]), (0.5, unmixed)),
    }


class Bench:
    """A model with its optimiser and data, on which different methods take steps."""

    def __init__(self, config: TrainConfig):
        self.config = config
        self.feed = Feed(config)
        self.engine = build_engine(config, self.feed)
        self.engine.net.train()
        self.vanilla = build_method("vanilla", classes=self.feed.spec.classes)
        self.running = Running(self.engine.fabric.device)
        self._numbers = itertools.count(1)
        self._stream = self._batches()
        self._batch = next(self._stream)

    def step_of(self, settings: LossSettings) -> Callable[[], object]:
        """A step of a method, on the same batch every time."""
        method = build_method(settings, classes=self.feed.spec.classes)
        return self._finished(lambda: self._step(method, self._batch))

    def loop(self) -> Callable[[], object]:
        """A vanilla step as the training loop takes it, with the next batch."""
        return self._finished(lambda: self._step(self.vanilla, next(self._stream)))

    def pipeline(self) -> Callable[[], object]:
        """The next batch, and nothing else."""
        return self._finished(lambda: self.engine.placed(next(self._stream)))

    def bare_loop(self) -> Callable[[], object]:
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

        return self._finished(step)

    def _step(self, method, batch: Batch) -> None:
        number, seed = next(self._numbers), self.config.seed
        self.engine.method = method
        seed_layers(seed, 0, number)
        self.running.add(self.engine.step(batch, 0.0, number, lambda part: step_generator(seed, 0, number, 0, part)))

    def _batches(self) -> Iterator[Batch]:
        """Epoch after epoch."""
        for epoch in itertools.count():
            yield from self.feed.train(epoch, 0)

    def _finished(self, function: Callable[[], object]) -> Callable[[], object]:
        return finished(function, self.engine.fabric.device)

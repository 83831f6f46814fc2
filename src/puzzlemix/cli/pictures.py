"""The pictures that a run ends with."""

import dataclasses
import itertools
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..drawing import save_figure
from ..drawing.curve import Curve, draw_curve
from ..drawing.gallery import Share, draw_gallery
from ..methods import Batch, Method, build_method
from ..showing import load_run, write_facts
from ..training.feed import Feed
from ..training.seeds import step_generator
from .results import Finished

ROWS, COLUMNS = 4, 8


def draw_run_curve(runs: list[Finished], path: Path) -> None:
    """Draw the first run's errors and losses epoch by epoch, and the others' test error beside."""
    curves = [Curve(run.config.method, run.result["history"]) for run in runs]
    save_figure(draw_curve(curves), path)


def draw_run_samples(run: Finished, path: Path) -> None:
    """Draw what the network is shown: rows of some batches, each with a draw of its own, the most mixed first."""
    config = run.config
    loop = dataclasses.replace(config.loop, batch_size=min(2 * COLUMNS, config.loop.batch_size), phases=())
    feed = Feed(dataclasses.replace(config, loop=loop))
    write_facts(run.folder, feed.spec)
    model = load_run(run.folder).model
    assert config.settings is not None
    method = build_method(config.settings, classes=feed.spec.classes, std=feed.spec.std)
    batches = itertools.islice(itertools.chain.from_iterable(map(feed.train, itertools.count())), 4 * ROWS)
    tried = [shown_batch(model, method, batch, step_generator(config.seed, 0, n)) for n, batch in enumerate(batches)]
    # some of the more mixed half: by chance or by --prob the others may hardly be mixed
    _draw_rows(sorted(tried, key=Shown.unmixed)[: 2 * ROWS : 2], feed.data.class_names, path)


def _draw_rows(rows: list["Shown"], names: tuple[str, ...], path: Path) -> None:
    images = torch.stack([row.images[:COLUMNS] for row in rows])
    shares = [[_shares(target, names) for target in row.targets[:COLUMNS]] for row in rows]
    save_figure(draw_gallery(images, shares), path)


class Shown(NamedTuple):
    """Images (B,C,H,W) as the network sees them, and what it is told of them (B,N)."""

    images: Tensor
    targets: Tensor

    def unmixed(self) -> float:
        """The share of the larger class, on average."""
        return float(self.targets.amax(1).mean())


class _Watched(nn.Module):
    """A network, and the images it was last given."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
        self.seen = torch.empty(0)

    def forward(self, images: Tensor) -> Tensor:
        self.seen = images.detach()
        return self.model(images)


def shown_batch(model: nn.Module, method: Method, batch: Batch, generator: torch.Generator) -> Shown:
    """What a method makes of a batch: of the views that some methods pass on together, the last."""
    watched = _Watched(model)
    step = method.loss(watched, batch, generator)
    return Shown(watched.seen[-len(batch.images) :], step.targets)


def _shares(target_N: Tensor, names: tuple[str, ...]) -> list[Share]:
    """The classes that are in an image, the larger first; at most two can be."""
    found = [(share, names[label]) for label, share in enumerate(target_N.tolist()) if share > 0]
    return [Share(name, share) for share, name in sorted(found, reverse=True)]

"""The paper's figures: measured, drawn, and kept as numbers beside the picture."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import nn

from ..core.params import GRIDS, PuzzleMixConfig
from ..core.saliency import gradient_saliency, input_gradient
from ..drawing import Cell, draw_grid, save_figure
from ..drawing.charts import Chart, Series, draw_charts
from ..files import write_atomically
from ..models import Normalized
from ..showing import Mixing, Pictures, mix_pictures
from ..showing.runs import load_run
from ..training.config import MachineConfig, TrainConfig
from ..training.feed import Feed
from . import assignment, attack_curves, convergence, lambda_curves, published
from .lambda_curves import Pairs, Point

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_SMOOTHNESS = (0.0, 0.4, 0.8, 1.2, 2.4, 4.8)
_SHOWN = 6
_TOGETHER = 25  # pairs: CutMix draws one rectangle for all of them, and many are to be averaged over


@dataclass(frozen=True)
class Source:
    """What figures are made of: network and test images of a finished run, so many pairs; so many trials of costs.

    networks: the folders of finished runs by method, where methods are compared.
    """

    run: Path | None = None
    machine: MachineConfig = field(default_factory=MachineConfig)
    pairs: int = 1000
    trials: int = 100
    seed: int = 0
    networks: Mapping[str, Sequence[Path]] = field(default_factory=dict)

    def __post_init__(self):
        if self.pairs < 2 or self.trials < 1:
            raise ValueError(f"pairs={self.pairs!r}, trials={self.trials!r}: pass at least 2 pairs and 1 trial")

    @cached_property
    def network(self) -> nn.Module:
        """The run's network."""
        return load_run(self._run()).model

    @cached_property
    def feed(self) -> Feed:
        """The run's data, as it lies on this machine."""
        return Feed(replace(TrainConfig.load(self._run()), machine=self.machine))

    def _run(self) -> Path:
        if self.run is None:
            raise ValueError("this figure looks at images through a network: pass the folder of a finished run")
        return self.run

    def generator(self) -> torch.Generator:
        """All randomness of a figure."""
        return torch.Generator().manual_seed(self.seed)

    def batches(self) -> Iterator[Pairs]:
        """Test images, by chance and in any order, with partners of other classes."""
        generator = self.generator()
        chosen = self._chosen(torch.randperm(len(self.feed.data.test), generator=generator)[: self.pairs])
        for images, labels in zip(*(part.split(_TOGETHER) for part in chosen), strict=True):
            if len(labels) > 1:
                partners = lambda_curves.different_pairs(labels, generator)
                yield Pairs(images, labels, self._saliency(images, labels), partners)

    def _chosen(self, samples: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The test images with these numbers, in this order, and their labels."""
        place = torch.full((len(self.feed.data.test),), -1)
        place[samples] = torch.arange(len(samples))
        kept = []
        for batch in self.feed.test():
            at = place[batch.samples]
            kept.append((batch.images[at >= 0], batch.labels[at >= 0], at[at >= 0]))
        images, labels, at = map(torch.cat, zip(*kept, strict=True))
        order = at.argsort()
        return images[order], labels[order]

    def pictures(self, count: int) -> tuple[Pictures, torch.Tensor]:
        """A few images with their names, and their saliency."""
        pairs = next(self.batches())
        names = tuple(self.feed.data.class_names[label] for label in pairs.labels[:count].tolist())
        return Pictures(pairs.images[:count], names), pairs.saliency[:count]

    def _saliency(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        model = self.network
        scale = model.std.flatten() if isinstance(model, Normalized) else None
        return gradient_saliency(input_gradient(model, images, labels), scale)


class Made(NamedTuple):
    """A figure's numbers, a row of named values each (none where it shows images only), and the picture."""

    rows: list[dict[str, Any]]
    picture: "Drawing"


class Figure(NamedTuple):
    """What a figure shows, and how it is made."""

    title: str
    make: Callable[[Source], Made]


def curves(source: Source) -> Made:
    """The paper's five panels against lambda."""
    points = lambda_curves.measure(source.network, source.batches(), source.generator())
    panels = {
        "saliency": "(a) mixed saliency",
        "variation": "(b) total variation",
        "loss": "(c) cross-entropy",
        "top1": "(d) top-1 accuracy",
        "top2": "(e) top-2 accuracy",
    }
    charts = [Chart(title, "lambda", _lines(points, name)) for name, title in panels.items()]
    return Made([point._asdict() for point in points], draw_charts(charts, columns=3))


_CURVES = {
    ("puzzle", "random"): "Puzzle Mix",
    ("input_mixup", ""): "input mixup",
    ("manifold_mixup", ""): "manifold mixup",
    ("cutmix", ""): "CutMix",
    **{("puzzle", str(grid)): f"Puzzle Mix, grid {grid}" for grid in GRIDS},
}


def _lines(points: Sequence[Point], measure: str) -> list[Series]:
    """A line for each method, Puzzle Mix with a random grid and with each."""
    lines = []
    for key, name in _CURVES.items():
        shown = [p for p in points if (p.method, p.grid) == key and getattr(p, measure) is not None]
        if shown:
            lines.append(Series(name, [p.lam for p in shown], [getattr(p, measure) for p in shown]))
    return lines


def attacks(source: Source) -> Made:
    """Accuracies under FGSM of growing reach and PGD of growing length, a line for each method."""
    if not source.networks:
        raise ValueError("this figure compares methods: none of the table's runs is finished, train some first")
    points = attack_curves.measure(source.networks, source.machine)
    attack = attack_curves.PAPER_PGD
    words = f"accuracy in %, PGD: reach {attack.eps_255:g}/255, step {attack.step_255:g}/255"
    charts = [
        Chart("accuracy in %, FGSM", "reach in 1/255", _attack_lines(points, "fgsm")),
        Chart(words, "steps", _attack_lines(points, "pgd")),
    ]
    return Made([point._asdict() for point in points], draw_charts(charts))


def _attack_lines(points: Sequence[attack_curves.Point], attack: str) -> list[Series]:
    shown = [point for point in points if point.attack == attack]
    return [
        Series(name, *zip(*((p.strength, p.accuracy) for p in shown if p.method == name), strict=True))
        for name in dict.fromkeys(point.method for point in shown)
    ]


def transport(source: Source) -> Made:
    """Seconds and relative error of Algorithm 1 beside exact solvers: on random costs, with a network on real ones."""
    rows = assignment.measure(source.trials, source.generator())
    if source.run is not None:
        rows += assignment.measure_real(source.batches(), source.trials, source.generator())
    kinds = list(dict.fromkeys(row.costs for row in rows))
    charts = [
        Chart(f"seconds, {_KINDS[kind]}", "cells", _time_lines(rows, kind), log_x=True, log_y=True) for kind in kinds
    ]
    errors = [Series(f"error, {_KINDS[kind]}", *_line(rows, kind, "error")) for kind in kinds]
    errors.append(Series("error, the paper's", *_published_line("error")))
    charts.append(Chart("relative error of Algorithm 1", "cells", errors, log_x=True))
    picture = draw_charts(charts, columns=2 if len(charts) == 4 else None)
    return Made([row._asdict() | _published(row) for row in rows], picture)


_KINDS = {"raw": "s raw", "sum to 1": "s summing to 1", assignment.REAL: assignment.REAL}
_SOLVERS = {
    "algorithm_1": "Algorithm 1",
    "algorithm_1_alone": "Algorithm 1, one call each",
    "exact": "exact",
    "lap": "lap",
    "lapjv": "lapjv",
    "scipy": "scipy",
}
_PUBLISHED = {"seconds": "Algorithm 1, the paper's", "exact_seconds": "exact, the paper's"}


def _time_lines(rows: Sequence[assignment.Timing], costs: str) -> list[Series]:
    """A line for each solver; with random costs, for those of the paper too."""
    lines = [Series(title, *_line(rows, costs, name)) for name, title in _SOLVERS.items()]
    if costs != assignment.REAL:
        lines += [Series(title, *_published_line(name)) for name, title in _PUBLISHED.items()]
    return [line for line in lines if None not in line.y]


def _line(rows: Sequence[assignment.Timing], costs: str, name: str) -> tuple[list[float], list[Any]]:
    shown = [row for row in rows if row.costs == costs]
    return [row.cells for row in shown], [getattr(row, name) for row in shown]


def _published_line(name: str) -> tuple[list[float], list[float]]:
    return [row.cells for row in published.TRANSPORT], [getattr(row, name) for row in published.TRANSPORT]


def _published(row: assignment.Timing) -> dict[str, float | None]:
    """The paper's numbers of as many cells; none of real maps."""
    known = {theirs.cells: theirs for theirs in published.TRANSPORT} if row.costs != assignment.REAL else {}
    names = ("seconds", "exact_seconds", "error")
    return {f"published_{name}": getattr(known.get(row.cells), name, None) for name in names}


def cycles(source: Source) -> Made:
    """How much further cycles of the alternating minimisation change."""
    rows = convergence.measure(source.batches(), source.generator())
    charts = [
        Chart(f"% of {what} that change, {name}", "xi", _grid_lines(rows, plan, what))
        for plan, name in convergence.PLANS.items()
        for what in ("images", "pixels")
    ]
    return Made([row._asdict() for row in rows], draw_charts(charts, columns=2))


def _grid_lines(rows: Sequence[convergence.Change], plan: str, what: str) -> list[Series]:
    """A line for each grid, in percent."""
    lines = []
    for grid in dict.fromkeys(row.grid for row in rows):
        shown = [row for row in rows if (row.plan, row.grid) == (plan, grid)]
        lines.append(Series(f"grid {grid}", [row.xi for row in shown], [100 * getattr(row, what) for row in shown]))
    return lines


def lambdas(source: Source) -> Made:
    """Mixes of the same pairs with a growing share of the first image; without transport, as the paper's."""
    config = PuzzleMixConfig(transport=None)
    return _rows_of_mixes(source, [(f"λ {k / 10:g}", Mixing(k / 10, 16, config)) for k in range(1, 10)])


def smoothness(source: Source) -> Made:
    """Mixes of the same pairs with growing smoothness of labels and data; without transport, as the paper's.

    gamma is a share of beta here, so that the paper's gamma grows with beta.
    """
    config = PuzzleMixConfig(transport=None)
    mixings = [
        (f"β {beta:g}, γβ {config.gamma * beta:g}", Mixing(0.5, 16, replace(config, beta=beta))) for beta in _SMOOTHNESS
    ]
    return _rows_of_mixes(source, mixings)


def samples(source: Source) -> Made:
    """Pairs and their mixes at every grid."""
    return _rows_of_mixes(source, [(f"grid {grid}", Mixing(0.5, grid)) for grid in (2, 4, 8, 16)])


def _rows_of_mixes(source: Source, mixings: Sequence[tuple[str, Mixing]]) -> Made:
    """A row per pair: both images, then its mixes."""
    pictures, saliency = source.pictures(2 * _SHOWN)
    mixes = [mix_pictures(pictures, saliency, mixing) for _, mixing in mixings]
    rows = []
    for row in range(0, len(pictures.names) - 1, 2):
        titles = ("second", *(title for title, _ in mixings), "first") if row == 0 else ("",) * (len(mixings) + 2)
        panels = ("second", *["mixed"] * len(mixings), "first")
        examples = [mixes[0].example(row), *(mix.example(row) for mix in mixes), mixes[0].example(row)]
        rows.append([Cell(*cell) for cell in zip(examples, panels, titles, strict=True)])
    return Made([], draw_grid(rows, captions=False))


FIGURES = {
    "figure-curves": Figure("mixed saliency, variation, loss and accuracies against lambda", curves),
    "figure-pgd": Figure("accuracy under FGSM and PGD, all finished runs of a table", attacks),
    "figure-transport": Figure(
        "time and error of Algorithm 1 (figures 8 and 9); with --network, on real maps too", transport
    ),
    "figure-convergence": Figure("what changes after the first cycle (Supplementary B.2)", cycles),
    "figure-lambda": Figure("mixes with a growing share of the first image", lambdas),
    "figure-smoothness": Figure("mixes with growing smoothness", smoothness),
    "figure-samples": Figure("pairs and their mixes at every grid", samples),
}


def make(name: str, source: Source, folder: Path) -> list[Path]:
    """Draw a figure as `folder/name.png`, with its numbers as `folder/name.csv` if it has any."""
    made = FIGURES[name].make(source)
    paths = [save_figure(made.picture, folder / f"{name}.png")]
    if made.rows:
        text = io.StringIO()
        writer = csv.DictWriter(text, list(made.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(made.rows)
        path = folder / f"{name}.csv"
        write_atomically(path, text.getvalue().encode())
        paths.append(path)
    return paths

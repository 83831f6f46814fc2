"""How the methods' accuracies fall with the strength of attacks, over finished runs (Supplementary D.2)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from torch import nn

from ..evaluation.attacks import PGD
from ..evaluation.curves import fgsm_curve, pgd_curve
from ..showing.runs import load_run
from ..training.config import MachineConfig
from ..training.feed import Feed
from ..training.processes import find_device

PAPER_PGD = PGD(eps_255=4.0, step_255=2.0, steps=20)
REACHES_255 = (0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)  # of FGSM, up to the paper's

Curves = Mapping[str, Sequence[float]]


class Point(NamedTuple):
    """A method under an attack of some strength (fgsm: the reach in 1/255, pgd: steps): top-1 accuracy in percent.

    accuracy: the mean over seeds, so many runs. deviation: None of one run.
    """

    method: str
    attack: str
    strength: float
    runs: int
    accuracy: float
    deviation: float | None


def curves_of(model: nn.Module, feed: Feed) -> Curves:
    """Accuracies on all test images in percent, by attack: FGSM at every reach, PGD after 0, 1, ... steps."""
    found = fgsm_curve(model, feed.test(), REACHES_255)
    errors = pgd_curve(model, feed.test(), PAPER_PGD)
    return {"fgsm": [100 * one.top1 for one in found], "pgd": [100 * (1 - error) for error in errors]}


def measure(networks: Mapping[str, Sequence[Path]], machine: MachineConfig) -> list[Point]:
    """Attack every run of every method; the points of each method are averaged over its runs."""
    return [
        point
        for method, folders in networks.items()
        for point in _points(method, [_of_run(folder, machine) for folder in folders])
    ]


def _of_run(folder: Path, machine: MachineConfig) -> Curves:
    device, trained = find_device(machine), load_run(folder)
    return curves_of(trained.model.to(device), Feed(replace(trained.config, machine=machine), device=device))


def _points(method: str, found: Sequence[Curves]) -> Iterator[Point]:
    for attack, strengths in _STRENGTHS.items():
        for strength, values in zip(strengths, _by_strength(found, attack), strict=True):
            deviation = stdev(values) if len(values) > 1 else None
            yield Point(method, attack, strength, len(values), mean(values), deviation)


def _by_strength(found: Sequence[Curves], attack: str) -> Iterable[Sequence[float]]:
    """What the runs came to at each strength."""
    return zip(*(curves[attack] for curves in found), strict=True)


_STRENGTHS: Mapping[str, Sequence[float]] = {"fgsm": REACHES_255, "pgd": range(PAPER_PGD.steps + 1)}

"""What judging a model costs: prints a table, and with --record writes records/evaluation.json.

`python benchmarks/evaluation.py` takes some minutes; `--quick` only shows that everything runs. Corruptions work on
1,000 generated images of 32 x 32, on two threads; attacks on a batch of 100 with PreActResNet-18 at width 16.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import recording
import report
import torch
import torch.nn.functional as F
from report import Row
from torch import Tensor, nn

from puzzlemix.bench.timing import QUICK, Effort, one_by_one
from puzzlemix.data.synthetic import draw_scenes
from puzzlemix.evaluation.attacks import PGD, fgsm, pgd
from puzzlemix.evaluation.corruptions import CORRUPTIONS, LEVELS, corrupt
from puzzlemix.models import build_model

WHAT = (
    "Corruptions of 1,000 generated images of 32x32, from float tensors to float tensors, each timed once; attacks on "
    "100 such images with PreActResNet-18 at width 16, best of several interleaved runs in one process"
)
CORRUPTIONS_GOAL, FGSM_GOAL = 60.0, 1.1
_PASS = "forward-backward pass"


def pictures(count: int) -> tuple[Tensor, Tensor]:
    """Generated images in [0, 1] and their classes."""
    scenes = draw_scenes(range(count))
    return (scenes.images / 255).contiguous(), scenes.labels


def corruptions(effort: Effort) -> Iterator[Row]:
    """All 19 corruptions at all 5 severities, and the costliest ones."""
    images, _ = pictures(10 if effort == QUICK else 1000)
    times = {
        name: seconds(lambda name=name: [corrupt(images, name, level) for level in LEVELS]) for name in CORRUPTIONS
    }
    case = f"19 x 5, {len(images):,} images"
    yield Row("corruptions", case, "s", sum(times.values()), judge="value", goal=CORRUPTIONS_GOAL)
    for name in sorted(times, key=lambda name: -times[name])[:5]:
        yield Row("corruption", f"{name}, 5 severities", "s", times[name], judge="value")


def seconds(function: Callable[[], object]) -> float:
    """The time of one call."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def attacks(effort: Effort) -> Iterator[Row]:
    """Attacks beside one pass forwards and backwards to the images."""
    images, labels = pictures(10 if effort == QUICK else 100)
    model = build_model("preact_resnet18", 10, width=16, mean=0.42, std=0.2, seed=0).eval().requires_grad_(False)
    steps, generator = 5, torch.Generator().manual_seed(0)
    settings = PGD(eps_255=8, step_255=2, steps=steps)
    functions = {
        _PASS: lambda: input_pass(model, images, labels),
        "fgsm": lambda: fgsm(model, images, labels, 8),
        "pgd": lambda: pgd(model, images, labels, settings, generator),
    }
    times = {name: 1e3 * time.best for name, time in one_by_one(effort, functions).items()}
    yield Row("FGSM", f"{len(images)} images", "ms", times["fgsm"], {_PASS: times[_PASS]}, "time", FGSM_GOAL)
    yield Row("PGD", f"{steps} steps, per step", "ms", times["pgd"] / steps, {_PASS: times[_PASS]}, "time")


def input_pass(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    """The gradient of the mean loss at the images, written by hand."""
    leaf = images.clone().requires_grad_()
    return torch.autograd.grad(F.cross_entropy(model(leaf), labels), leaf)[0]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round: whether it runs, rather than how fast")
    parser.add_argument("--record", action="store_true", help="write records/evaluation.json")
    asked = parser.parse_args(arguments)
    if asked.quick and asked.record:
        parser.error("leave out --quick: a record is of a whole measurement")
    if not asked.quick:
        torch.set_num_threads(2)
    effort = QUICK if asked.quick else Effort(steps=15)
    rows = [*attacks(effort), *corruptions(effort)]
    print(report.full_table(rows))
    if asked.record:
        recording.save("evaluation", WHAT, rows)


if __name__ == "__main__":
    main()

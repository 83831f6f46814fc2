"""How long a training step takes with each method: prints a table, and with --record writes records/train.json.

`python benchmarks/train.py` takes some minutes; `--quick` only shows that everything runs, `--only loop` measures
one of the parts. Everything runs in this process, interleaved, on two threads.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import recording
import report
import torch
from options import checked, parser_of
from report import Row

from puzzlemix.bench.steps import (
    BARE,
    BF16,
    HALF,
    OURS,
    PIPELINE,
    REFRESHED,
    Bench,
    loop_times,
    puzzle_times,
    step_times,
)
from puzzlemix.bench.timing import QUICK, Effort, Times, one_by_one
from puzzlemix.core.adversarial import Adversarial
from puzzlemix.core.params import PuzzleMixConfig
from puzzlemix.methods import METHODS, Augment, PuzzleSettings, VanillaSettings
from puzzlemix.training.config import DataConfig, LoopConfig, MachineConfig, ModelConfig, TrainConfig

WHAT = (
    "PreActResNet-18 on 100 images of 32x32 per step, in float32 where nothing else is said; Puzzle Mix at its finest "
    "grid, 16; medians of interleaved steps in one process, each variant of it beside vanilla alone"
)
CONFIG = TrainConfig(
    data=DataConfig("synthetic", train_images=2000, test_images=100),
    model=ModelConfig("preact_resnet18"),
    loop=LoopConfig(batch_size=100),
    machine=MachineConfig(device="cpu", tensorboard=False),
)
TINY = replace(
    CONFIG,
    data=DataConfig("synthetic", train_images=40, test_images=10),
    model=ModelConfig("preact_resnet18", width=2),
    loop=LoopConfig(batch_size=10),
)
ROUNDS = {
    "steps": 9,
    "loop": 7,
    "methods": 5,
    "variants": 5,
    "layout": 5,
}  # most for the closest goals; four minutes in all
GOALS = {"puzzle": 1.75, BF16: 1.40, REFRESHED: 1.20}  # the time of a step over a vanilla one's
OTHERS = ("input_mixup", "manifold_mixup", "cutmix", "augmix")
_FINEST = PuzzleSettings(grids=(16,))
VARIANTS = {
    "puzzle (adv)": replace(_FINEST, adversarial=Adversarial()),
    "puzzle (aug)": replace(_FINEST, augment=Augment()),
    "puzzle (binary)": replace(_FINEST, mix=PuzzleMixConfig(labels=2)),
    "puzzle (mask only)": replace(_FINEST, mix=PuzzleMixConfig(transport=None)),
}


def beside(part: str, case: str, ours: Times, peer: str, theirs: Times, goal: float | None = None) -> Row:
    """A row that judges how much of the peer's time ours takes.

    By the median: a step takes a second, and the luckiest of a few says less than what most of them take.
    """
    best = {"ours": 1e3 * ours.best, peer: 1e3 * theirs.best}
    return Row(part, case, "ms", 1e3 * ours.median, {peer: 1e3 * theirs.median}, "time", goal, best=best)


def steps(config: TrainConfig, effort: Effort) -> Iterator[Row]:
    """A step of Puzzle Mix and of its cheaper variants, beside a vanilla one."""
    times = puzzle_times(config, effort)
    for name in (*GOALS, HALF):
        ours, vanilla = times[name]
        yield beside("step", name, ours, "vanilla", vanilla, GOALS.get(name))


def methods(config: TrainConfig, effort: Effort) -> Iterator[Row]:
    """A step of every other method beside a vanilla one."""
    times = step_times(config, effort, {name: METHODS[name].settings() for name in ("vanilla", *OTHERS)})
    for name in OTHERS:
        yield beside("step", name, times[name], "vanilla", times["vanilla"])


def variants(config: TrainConfig, effort: Effort) -> Iterator[Row]:
    """A step of what the paper varies about Puzzle Mix, each beside a vanilla one alone."""
    bench = Bench(config)
    vanilla = bench.step_of(VanillaSettings())
    for name, settings in VARIANTS.items():
        times = one_by_one(effort, {name: bench.step_of(settings), "vanilla": vanilla})
        yield beside("step", name, times[name], "vanilla", times["vanilla"])


def loop(config: TrainConfig, effort: Effort) -> Iterator[Row]:
    """The training loop beside a bare one, and what of its step goes into the input pipeline."""
    times = loop_times(config, effort)
    yield beside("vanilla training", "a step of the loop", times[OURS], BARE, times[BARE], goal=1.05)
    share = 100 * times[PIPELINE].median / times[OURS].median
    yield Row("vanilla training", PIPELINE, "% of a step", share, judge="value", goal=5)


def layout(config: TrainConfig, effort: Effort) -> Iterator[Row]:
    """Steps with tensors laid out channels last beside steps with them as they are."""
    both = {"vanilla": VanillaSettings(), "puzzle": PuzzleSettings(grids=(16,))}
    plain, last = Bench(config), Bench(replace(config, loop=replace(config.loop, channels_last=True)))
    functions = {name: plain.step_of(settings) for name, settings in both.items()}
    functions |= {f"{name}, channels last": last.step_of(settings) for name, settings in both.items()}
    times = one_by_one(effort, functions)
    for name in both:
        yield beside("layout", f"{name}, channels last", times[f"{name}, channels last"], name, times[name])


PARTS: dict[str, Callable[[TrainConfig, Effort], Iterator[Row]]] = {
    "steps": steps,
    "loop": loop,
    "methods": methods,
    "variants": variants,
    "layout": layout,
}


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options(arguments)
    torch.set_num_threads(1 if options.quick else 2)
    rows = []
    for part in options.only:
        print(f"measuring: {part}", file=sys.stderr)
        rows += PARTS[part](*((TINY, QUICK) if options.quick else (CONFIG, Effort(steps=ROUNDS[part]))))
    print(report.full_table(rows), end="")
    if options.record:
        recording.save("train", WHAT, rows)


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    return checked(parser_of("train", "How long a training step takes with each method.", PARTS), arguments, PARTS)


if __name__ == "__main__":
    main()

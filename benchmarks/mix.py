"""How fast the mix is, and beside what: prints a table, and with --record writes records/mix.json.

`python benchmarks/mix.py` takes some minutes; `--quick` only shows that everything runs. `--only mask,large` measures
some of the parts. Everything runs in this process, interleaved, on two threads; starting up and peak memory are
measured in processes of their own (`fresh.py`).
"""

import argparse
import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Literal

import fresh
import numpy as np
import recording
import report
import torch
import torch.nn.functional as F
import usual_way
from options import checked, parser_of
from report import Row
from torch import Tensor, nn

from puzzlemix import Draw, PuzzleMix, PuzzleMixConfig, draw
from puzzlemix.bench.mixing import Scenery, mix, mixup, scenes
from puzzlemix.bench.timing import QUICK, Effort, Times, side_by_side
from puzzlemix.core.blocks import layout_for
from puzzlemix.core.energy import MaskEnergy, cell_faces, data_seams, mask_energy
from puzzlemix.core.mask import solve_mask
from puzzlemix.core.params import GRIDS
from puzzlemix.core.shares import saliency_shares
from puzzlemix.core.transport import solve_transport, transport_problem
from puzzlemix.models import build_model

WHAT = (
    "100 images of 32x32, 3 labels, transport by Algorithm 1, lam 0.5, from float tensors and saliency maps to mixed "
    "images; best of several interleaved runs in one process"
)
SPEEDUPS = {2: 10, 4: 10, 8: 40, 16: 200}  # the goals, by grid
USUAL = "the usual way"

Judge = Literal["speedup", "time"]


def timed(part: str, case: str, times: dict[str, Times], goal: float | None = None, judge: Judge = "speedup") -> Row:
    """A row out of the times of "ours" and of others."""
    best, medians = ({name: 1e3 * time[n] for name, time in times.items()} for n in (0, 1))
    return Row(part, case, "ms", best.pop("ours"), best, judge, goal, medians)


# ---- the parts ---------------------------------------------------------------------------------------------------


def whole_mix(effort: Effort, anchor: Callable | None) -> Iterator[Row]:
    """The whole mix at the paper's four grids."""
    batch = scenes(100)
    peers = ({USUAL: usual_way.usual_mix} if usual_way.gco else {}) | ({"another script": anchor} if anchor else {})
    for side in GRIDS:
        functions: dict[str, Callable] = {"ours": partial(mix, batch, side)}
        for name, peer in peers.items():
            functions[name] = partial(peer, batch.images, batch.saliency, batch.partner, side, 0.5)
        yield timed("whole mix", f"grid {side}", side_by_side(effort, functions), SPEEDUPS[side])


def energy_of(batch: Scenery, side: int) -> MaskEnergy:
    """The mask's objective for images of 32 x 32, as tensors."""
    config, layout = PuzzleMixConfig(), layout_for(32, 32, side, side)
    shares = saliency_shares(batch.saliency, layout)
    faces = cell_faces(batch.images, layout, config.neighbours)
    seams = data_seams(faces, faces.of(batch.partner), None)
    lam = torch.full((len(batch.partner),), 0.5)
    return mask_energy((shares, shares[batch.partner]), seams, lam, layout, config)


def mask_alone(effort: Effort, _: Callable | None) -> Iterator[Row]:
    """From energies to labels."""
    energy = energy_of(scenes(100), 16)
    functions = {"ours": lambda: solve_mask(energy.problem())}
    if usual_way.gco:
        functions["gco, image by image"] = lambda: usual_way.graph_cuts(usual_way.Terms._make(energy))
    yield timed("mask alone", "16x16", side_by_side(effort, functions), goal=30)


def transport_alone(effort: Effort, _: Callable | None) -> Iterator[Row]:
    """From costs to plans: ours need no cost matrices, the others are given theirs."""
    batch = scenes(100)
    share = saliency_shares(batch.saliency, layout_for(32, 32, 16, 16))
    weight = 2 - solve_mask(energy_of(batch, 16).problem())
    problem = transport_problem(share, weight, 0.8, "visible", 2)
    costs = problem.cost().double().numpy()
    dense = {"Algorithm 1 on dense matrices": lambda: usual_way.dense_plans(share, weight > 0)}
    solvers = {name: partial(solve_each, solve, costs) for name, solve in assignment_solvers().items()}
    for name, peers in (("paper", dense | solvers), ("exact", solvers)):
        functions = {"ours": partial(solve_transport, problem, name), **peers}
        yield timed("transport alone", f'16x16, "{name}"', side_by_side(effort, functions))


def assignment_solvers() -> dict[str, Callable]:
    """Solvers of one dense assignment problem: scipy's, and lap's where it is installed."""
    from scipy.optimize import linear_sum_assignment

    found: dict[str, Callable] = {"scipy": linear_sum_assignment}
    if importlib.util.find_spec("lap"):
        found["lap"] = importlib.import_module("lap").lapjv
    return found


def solve_each(solve: Callable, costs: np.ndarray) -> None:
    """Image after image."""
    for cost in costs:
        solve(cost)


def large_images(effort: Effort, _: Callable | None) -> Iterator[Row]:
    """A batch as for ImageNet, beside plain input mixup."""
    batch = scenes(128, 224)
    longer = effort._replace(turn=5 * effort.turn)  # calls of about 0.1 s: else only a few would fit into a round
    times = side_by_side(longer, {"ours": partial(mix, batch, 16), "plain input mixup": partial(mixup, batch)})
    yield timed("128 images of 224x224", "grid 16", times, goal=2, judge="time")
    if sys.platform == "linux":
        peers = {"plain input mixup": fresh.ask("memory-mixup")}
        peak = fresh.ask("memory-mix")
        yield Row("128 images of 224x224", "peak extra memory", "batches", peak, peers, judge="value", goal=2)


def starting_up(effort: Effort, _: Callable | None) -> Iterator[Row]:
    """What a process pays once."""
    imports = [fresh.ask("import") for _ in range(effort.processes)]
    yield seconds("import beyond torch's own", imports, 0.3)
    with tempfile.TemporaryDirectory() as cache:
        compiling = [fresh.ask("first-mix", NUMBA_CACHE_DIR=cache)]
        later = [fresh.ask("first-mix", NUMBA_CACHE_DIR=cache) for _ in range(effort.processes)]
    yield seconds("first mix ever, with compilation", compiling, 15)
    yield seconds("first mix of a later process", later, 1)


def seconds(case: str, times: list[float], goal: float) -> Row:
    """The best of several processes."""
    return Row("starting up", case, "s", min(times), judge="value", goal=goal, medians={"ours": median(times)})


class Unrun(nn.Module):
    """A network with all its modules and weights that does not run: what is left is the overhead around its pass."""

    def __init__(self, model: nn.Module, classes: int):
        super().__init__()
        self.model = model
        self.head = nn.Linear(3, classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B,3,H,W) -> (B,classes), at next to no cost."""
        return self.head(images.mean((2, 3)))


def training_step(effort: Effort, _: Callable | None) -> Iterator[Row]:
    """What the drop-in adds to a step besides its saliency pass through the network, as a share of the plain step."""
    batch, labels = scenes(100), torch.arange(100) % 100
    model = build_model("preact_resnet18", 100, seed=0)
    step = side_by_side(effort._replace(rounds=effort.steps, turn=0), {"step": plain_step(model, batch.images, labels)})
    drop_in, generator = PuzzleMix(Unrun(model, 100), num_classes=100), torch.Generator().manual_seed(0)

    def overhead(side: int) -> Tensor:
        draw(generator, 100)  # timed, but not used: the best of many draws would be the easiest to solve
        return drop_in(batch.images, labels, draw=Draw(batch.partner, 0.5, side))[0]

    times = side_by_side(effort, {f"grid {side}": partial(overhead, side) for side in GRIDS})
    shares = [100 * time.best / step["step"].best for time in times.values()]
    yield Row("drop-in overhead", "mean of the four grids", "% of a step", mean(shares), judge="value", goal=1.5)
    yield Row("drop-in overhead", "grid 16", "% of a step", shares[-1], judge="value")
    yield Row("drop-in overhead", "the step itself", "ms", 1e3 * step["step"].best, judge="value")


def plain_step(model: nn.Module, images: Tensor, labels: Tensor) -> Callable[[], None]:
    """One step of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()

    return step


PARTS: dict[str, Callable[[Effort, Callable | None], Iterator[Row]]] = {
    "whole": whole_mix,
    "mask": mask_alone,
    "transport": transport_alone,
    "large": large_images,
    "start": starting_up,
    "step": training_step,
}


# ---- the command -------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options(arguments)
    torch.set_num_threads(2)
    anchor = load_anchor(options.anchor) if options.anchor else None
    if usual_way.gco is None:
        print("gco is not installed (pip install gco-wrapper; for research only): the usual way is left out\n")
    rows = []
    for part in options.only:
        print(f"measuring: {part}", file=sys.stderr)
        rows += PARTS[part](QUICK if options.quick else Effort(), anchor)
    print(report.full_table(rows), end="")
    if options.record:
        recording.save("mix", WHAT, rows)


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = parser_of("mix", "How fast the mix is, and beside what.", PARTS)
    parser.add_argument("--anchor", type=Path, help="a script whose `anchor_mix` is to be timed as well")
    return checked(parser, arguments, PARTS)


def load_anchor(path: Path) -> Callable:
    """The function `anchor_mix(images, saliency, index, side, lam)` of a script."""
    spec = importlib.util.spec_from_file_location("anchor", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python script")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.anchor_mix


if __name__ == "__main__":
    main()

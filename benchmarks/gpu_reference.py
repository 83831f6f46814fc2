"""Problems for `gpu_check.py`, with what the CPU makes of them: a machine with a GPU need not have what the CPU uses.

A reference is one dictionary of tensors, numbers and names, stored by `torch.save`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from puzzlemix import PuzzleMixConfig, puzzle_mix
from puzzlemix.bench.mixing import Scenery, scenes
from puzzlemix.core.blocks import layout_for
from puzzlemix.core.energy import cell_faces, data_seams, mask_energy
from puzzlemix.core.mask import MaskProblem, solve_mask
from puzzlemix.core.shares import saliency_shares
from puzzlemix.core.transport import TransportProblem, solve_transport, transport_problem

Case = dict[str, Any]
SIZES = ((1, 1), (2, 2), (1, 16), (16, 1), (3, 5), (4, 4), (8, 8), (12, 20), (16, 16), (32, 32))
TINY_SIZES = ((2, 2), (3, 5))
MIXES: dict[str, tuple[tuple[int, ...], int, dict[str, Any]]] = {  # size of an image, grid, options of the mix
    "grid 2": ((3, 32, 32), 2, {}),
    "grid 4": ((3, 32, 32), 4, {}),
    "grid 8": ((3, 32, 32), 8, {}),
    "grid 16": ((3, 32, 32), 16, {}),
    "grid 32": ((3, 32, 32), 32, {}),
    "2 labels": ((3, 32, 32), 16, {"labels": 2}),
    "exact plans": ((3, 32, 32), 16, {"transport": "exact"}),
    "no transport": ((3, 32, 32), 16, {"transport": None}),
    "finer blocks": ((3, 32, 32), 4, {"transport_block": 4}),
    "padding": ((3, 33, 31), 8, {}),
    "two cycles": ((3, 32, 32), 8, {"cycles": 2}),
    "signals": ((3, 100), 16, {}),
}


def prepare(path: Path, tiny: bool = False) -> None:
    """Solve everything on the CPU and store it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save(reference(tiny), path)


def reference(tiny: bool) -> Case:
    """Problems and solutions."""
    count = 4 if tiny else 128
    sizes, mixes = (TINY_SIZES, ("grid 4", "padding")) if tiny else (SIZES, tuple(MIXES))
    batch = scenes(count)
    return {
        "scenes": batch._asdict(),
        "masks": [_solved_mask(name, problem) for name, problem in _masks(batch, sizes)],
        "plans": [_solved_plans(name, problem) for name, problem in _plans(batch, sizes)],
        "mixes": [_mixed(name, *MIXES[name], count=min(count, 32)) for name in mixes],
        "hostile": [_solved_mask(name, problem) for name, problem in _hostile(sizes)],
    }


# ---- masks -------------------------------------------------------------------------------------------------------


def _masks(batch: Scenery, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, MaskProblem]]:
    for rows, cols in sizes:
        yield f"noise {rows}x{cols}", noise(16, rows, cols, top=2, spread=10**6)
        yield f"ties {rows}x{cols}", noise(16, rows, cols, top=2, spread=3)
    for labels in range(2, 9):
        yield f"{labels} labels", noise(16, 8, 8, top=labels - 1, spread=10**5)
    for side in {rows for rows, cols in sizes if rows == cols > 1}:
        yield f"pictures {side}x{side}", mask_of(batch, side)


def noise(count: int, rows: int, cols: int, top: int, spread: int) -> MaskProblem:
    """Convex problems out of random integers."""
    generator = torch.Generator().manual_seed(rows * cols + top)

    def draw(least: int, *shape: int) -> Tensor:
        return torch.randint(least, spread + 1, (count, *shape), generator=generator, dtype=torch.int32)

    steps = draw(-spread, rows, cols, top).sort(-1).values
    return MaskProblem(steps // top**2, draw(0, rows - 1, cols) // 4, draw(0, rows, cols - 1) // 4)


def mask_of(batch: Scenery, side: int, labels: int = 3) -> MaskProblem:
    """The problems that mixing pictures at a grid poses."""
    config = PuzzleMixConfig(labels=labels)
    layout = layout_for(batch.images.shape[2], batch.images.shape[3], side, side)
    shares = saliency_shares(batch.saliency, layout)
    faces = cell_faces(batch.images, layout, config.neighbours)
    seams = data_seams(faces, faces.of(batch.partner), None)
    lam = torch.full((len(batch.partner),), 0.5, device=batch.images.device)
    return mask_energy((shares, shares[batch.partner]), seams, lam, layout, config).problem()


def _hostile(sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, MaskProblem]]:
    """Long ways for the flow: between alternating extremes, and from corner to corner through a snake."""
    for rows, cols in sizes[-2:]:
        row, col = torch.meshgrid(torch.arange(rows), torch.arange(cols), indexing="ij")
        ends = 1.0 * (row + col == 0) - 1.0 * (row + col == rows + cols - 2)
        turns = (col == torch.where(row % 2 == 0, cols - 1, 0))[:-1]
        ways = {"extremes": ((-1.0) ** (row + col), torch.ones(rows - 1, cols)), "snake": (ends, turns)}
        for name, (steps, down) in ways.items():
            for top, weight in ((1, 10), (7, 10), (7, 10**5)):
                problem = MaskProblem(
                    (500_000 * steps).int()[None, ..., None].repeat(1, 1, 1, top),
                    (weight * down).int()[None],
                    (weight * torch.ones(rows, cols - 1)).int()[None],
                )
                yield f"{name} {rows}x{cols}, {top + 1} labels, weight {weight}", problem


def _solved_mask(name: str, problem: MaskProblem) -> Case:
    return {"name": name, "problem": tuple(problem), "labels": solve_mask(problem)}


# ---- plans -------------------------------------------------------------------------------------------------------


def _plans(batch: Scenery, sizes: tuple[tuple[int, int], ...]) -> Iterator[tuple[str, TransportProblem]]:
    for rows, cols in sizes:
        generator = torch.Generator().manual_seed(rows * cols)
        gain, level = (torch.randint(most, (16, rows * cols), generator=generator) for most in (6, 4))
        yield f"ties {rows}x{cols}", TransportProblem(gain, level, 2, rows, cols)
        share = torch.rand(16, rows, cols, generator=generator) ** 3
        weight = torch.randint(0, 3, share.shape, generator=generator)
        yield f"noise {rows}x{cols}", transport_problem(share / share.sum((1, 2), True), weight, 0.8, "weight", 2)
    few = Scenery(batch.images[:32], batch.saliency[:32], torch.arange(min(32, len(batch.images))).flip(0))
    for side in {rows for rows, cols in sizes if rows == cols > 1}:
        yield f"pictures {side}x{side}", plans_of(few, side, solve_mask(mask_of(few, side)))


def plans_of(batch: Scenery, side: int, labels: Tensor) -> TransportProblem:
    """The problems that mixing pictures by masks poses, for the first and the second images."""
    layout = layout_for(batch.images.shape[2], batch.images.shape[3], side, side)
    shares = saliency_shares(batch.saliency, layout)
    weight = torch.cat([2 - labels, labels]).long()
    return transport_problem(torch.cat([shares, shares[batch.partner]]), weight, 0.8, "visible", 2)


def _solved_plans(name: str, problem: TransportProblem) -> Case:
    exact = problem.evaluate(solve_transport(problem, "exact"))
    return {"name": name, "problem": tuple(problem), "paper": solve_transport(problem), "exact cost": exact}


# ---- mixes -------------------------------------------------------------------------------------------------------


def _mixed(name: str, size: tuple[int, ...], grid: int, options: dict[str, Any], count: int) -> Case:
    generator = torch.Generator().manual_seed(len(name))
    images = torch.rand(count, *size, generator=generator)
    saliency = torch.rand(count, *size[1:], generator=generator) ** 4
    index = torch.randperm(count, generator=generator)
    config = PuzzleMixConfig(**options)
    mixed = puzzle_mix(images, saliency, index=index, lam=0.4, grid=grid, config=config)
    given = {"images": images, "saliency": saliency, "index": index}
    return {"name": name, "given": given, "grid": grid, "options": options, "mask": mixed.mask, "mixed": mixed.images}

"""Hands a batch of mask problems to the GPU kernel, one program per image."""

from dataclasses import asdict, dataclass, replace

import torch
from torch import Tensor

from ..triton_support import launch, power_of_two, require_solved

CELLS = 1024  # how many cells the kernel takes: the CPU solves finer grids
ROUNDS = 20_000  # after so many, some seconds, the GPU gives up; long winding ways for the flow take a hundred or two


@dataclass(frozen=True)
class Launch:
    """How the kernel runs. Labels do not depend on it, only the time does.

    num_warps: how many warps of 32 threads share an image; pushes: how often all cells push between two relabellings;
    relaxations: how many steps a relabelling takes between two looks at whether it is done.
    """

    num_warps: int
    pushes: int = 16
    relaxations: int = 2

    def options(self) -> dict[str, int]:
        """What the kernel calls these."""
        return {name if name == "num_warps" else name.upper(): value for name, value in asdict(self).items()}


def width_for(cells: int) -> int:
    """How many cells a program handles side by side: as many as a warp at least."""
    return max(32, power_of_two(cells))


def launch_for(cells: int) -> Launch:
    """The launch for a grid: a thread for each cell, but at most 16 warps, which are slow enough to wait for."""
    return Launch(num_warps=min(16, width_for(cells) // 32))


def variants(cells: int) -> list[Launch]:
    """Launches worth timing for a grid: the one in use first, then those that differ from it in one number."""
    chosen = launch_for(cells)
    widest = width_for(cells) // 32
    warps = [replace(chosen, num_warps=count) for count in (1, 2, 4, 8, 16, 32) if widest // 4 <= count <= widest]
    pushes = [replace(chosen, pushes=count) for count in (8, 32)]
    relaxations = [replace(chosen, relaxations=count) for count in (1, 4)]
    return list(dict.fromkeys([chosen, *warps, *pushes, *relaxations]))


def solve_on_gpu(
    steps: Tensor, down: Tensor, across: Tensor, launched: Launch | None = None, rounds: int = ROUNDS
) -> Tensor:
    """The labels (B,R,K) of a problem with at most CELLS cells per image, found within `rounds` rounds."""
    from .exact_gpu_kernel import solve_image

    images, rows, cols, top = steps.shape
    launched = launched or launch_for(rows * cols)
    labels = torch.empty(steps.shape[:-1], dtype=torch.int32, device=steps.device)
    solved_B = torch.empty(images, dtype=torch.int32, device=steps.device)
    problem = (tensor.contiguous() for tensor in (steps, down, across))
    geometry = (rows, cols, top, rounds)
    options = {"CELLS": width_for(rows * cols), **launched.options()}
    launch(solve_image, images, *problem, labels, solved_B, *geometry, **options)
    require_solved(solved_B, "mask")
    return labels

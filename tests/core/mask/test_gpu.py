from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from puzzlemix.core.mask import SOLVERS, gpu

NUMBERS = dict.fromkeys(("rows", "cols", "top", "limit"), "i32")
POINTERS = dict.fromkeys(("steps", "down", "across", "labels", "solved"), "*i32")
WIDTHS = sorted({gpu.width_for(cells) for cells in range(1, gpu.CELLS + 1)})


def test_the_kernel_finds_the_cpus_labels(interpreted):
    interpreted(Path(__file__).with_name("gpu_kernel.py"))


def compiled_usage(machine_code, capability, cells, launched):
    from puzzlemix.core.mask.exact_gpu_kernel import solve_image

    constants = {"CELLS": gpu.width_for(cells), **launched.options()}
    warps = constants.pop("num_warps")
    return machine_code(capability, solve_image, POINTERS | NUMBERS, constants, warps)


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize("cells", WIDTHS)
def test_the_kernel_compiles_ahead_of_time(machine_code, capability, cells):
    used = compiled_usage(machine_code, capability, cells, gpu.launch_for(cells))
    if cells <= 256:
        assert used.stack == 0, "up to 16x16 nothing may spill"


@pytest.mark.slow
@pytest.mark.parametrize("cells", WIDTHS)
def test_all_variants_compile(machine_code, cells):
    for launched in gpu.variants(cells):
        compiled_usage(machine_code, 90, cells, launched)


@pytest.mark.parametrize("cells", [*WIDTHS, 1, 33, 1000])
def test_variants_are_many_and_the_one_in_use_comes_first(cells):
    found = gpu.variants(cells)
    assert found[0] == gpu.launch_for(cells)
    assert len(set(found)) == len(found) >= 5
    assert all(32 * launched.num_warps <= gpu.width_for(cells) for launched in found)


@pytest.mark.parametrize("solver", SOLVERS)
def test_on_cuda_nothing_waits_for_the_device(solver):
    with FakeTensorMode():
        problem = [torch.empty(3, *shape, dtype=torch.int32, device="cuda") for shape in ((8, 8, 2), (7, 8), (8, 7))]
        labels = SOLVERS[solver](*problem)
    assert labels.device.type == "cuda"
    assert labels.shape == (3, 8, 8)

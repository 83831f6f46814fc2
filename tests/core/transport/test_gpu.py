from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from puzzlemix.core.transport import SOLVERS, exact, gpu, paper

NUMBERS = {"distance": "i64", "rows": "i32", "cols": "i32", "limit": "i32"}
POINTERS = {"gain": "*i64", "level": "*i64", "source": "*i64", "solved": "*i32", "price": "*i64"}
LANES = [32 << double for double in range(8)]


def test_kernels_find_the_cpus_plans(interpreted):
    interpreted(Path(__file__).with_name("gpu_kernels.py"))


def shapes():
    """Every kernel and number of lanes that can be picked."""
    for cells in (1, 64, 128, 256, 512, 1024, 2048, gpu.CELLS):
        lanes = gpu.lanes_for(cells)
        yield "exact", lanes, gpu.warps_for(lanes, exact.LANES_PER_WARP)
        if lanes <= paper.MOST_LANES:
            yield "paper", lanes, gpu.warps_for(lanes, paper.LANES_PER_WARP)


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize(("solver", "lanes", "warps"), list(shapes()))
def test_kernels_compile_ahead_of_time(machine_code, capability, solver, lanes, warps):
    from puzzlemix.core.transport.exact_gpu_kernel import assign_image
    from puzzlemix.core.transport.paper_gpu_kernel import match_image

    kernel = assign_image if solver == "exact" else match_image
    used = machine_code(capability, kernel, POINTERS | NUMBERS, {"LANES": lanes}, warps)
    if lanes == 256:
        assert used.stack == 0, "at 16x16 nothing may spill"


@pytest.mark.parametrize("solver", SOLVERS)
def test_on_cuda_nothing_waits_for_the_device(solver):
    with FakeTensorMode():
        given = torch.empty(3, 64, dtype=torch.int64, device="cuda")
        plan = SOLVERS[solver](given, given, 5, 8, 8)
    assert plan.device.type == "cuda"
    assert plan.shape == (3, 64)

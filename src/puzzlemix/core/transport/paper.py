"""The paper's Algorithm 1, run to its limit: cells propose, contested cells keep the cheapest proposal."""

from torch import Tensor

from ..operators import define
from . import gpu
from .board import solve_images
from .problem import empty_plan

MOST_LANES = 128  # on the GPU; where there are more cells, each lane sees to several
LANES_PER_WARP = 32
TURNS = 1 << 22  # after so many, some seconds, the GPU gives up; problems of all kinds take fewer than a thousand


def _on_cpu(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    from .paper_kernel import match_images

    return solve_images(match_images, gain_BN, level_BN, distance, rows, cols)


def _on_cuda(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    if rows * cols > gpu.CELLS:
        return NotImplemented
    from .paper_gpu_kernel import match_image

    lanes = gpu.lanes_for(rows * cols, MOST_LANES)
    problem = gain_BN, level_BN, distance, rows, cols
    return gpu.plan_on_gpu(match_image, problem, TURNS, LANES=lanes, num_warps=gpu.warps_for(lanes, LANES_PER_WARP))


transport_paper = define(
    "transport_paper(Tensor gain, Tensor level, SymInt distance, SymInt rows, SymInt cols) -> Tensor",
    _on_cpu,
    empty_plan,
    _on_cuda,
)

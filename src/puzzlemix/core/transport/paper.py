"""The paper's Algorithm 1, run to its limit: cells propose, contested cells keep the cheapest proposal."""

from torch import Tensor

from ..operators import define
from .board import solve_images
from .problem import empty_plan


def _on_cpu(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    from .paper_kernel import match_images

    return solve_images(match_images, gain_BN, level_BN, distance, rows, cols)


transport_paper = define(
    "transport_paper(Tensor gain, Tensor level, SymInt distance, SymInt rows, SymInt cols) -> Tensor",
    _on_cpu,
    empty_plan,
)

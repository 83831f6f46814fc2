"""The paper's alpha-beta swap: a local optimum of any problem, by one minimum cut for each pair of labels."""

from torch import Tensor

from ..operators import define
from .problem import unsolved


def _on_cpu(steps: Tensor, down: Tensor, across: Tensor) -> Tensor:
    from .groups import solve_in_groups
    from .swap_kernel import solve_groups

    return solve_in_groups(solve_groups, steps, down, across)


solve_swap = define("mask_swap(Tensor steps, Tensor down, Tensor across) -> Tensor", _on_cpu, unsolved)

"""The exact mask: the global optimum of a convex problem, by one warm-started minimum cut per label."""

from torch import Tensor

from ..operators import define
from . import gpu
from .problem import unsolved


def _on_cpu(steps: Tensor, down: Tensor, across: Tensor) -> Tensor:
    from .exact_kernel import solve_groups
    from .groups import solve_in_groups

    return solve_in_groups(solve_groups, steps, down, across)


def _on_cuda(steps: Tensor, down: Tensor, across: Tensor) -> Tensor:
    if steps.shape[1] * steps.shape[2] > gpu.CELLS:
        return NotImplemented
    return gpu.solve_on_gpu(steps, down, across)


solve_exact = define("mask_exact(Tensor steps, Tensor down, Tensor across) -> Tensor", _on_cpu, unsolved, _on_cuda)

"""The paper's Algorithm 1, run to its limit: cells propose, contested cells keep the cheapest proposal."""

import torch
from torch import Tensor

from ..compiled import run_over
from ..operators import define
from .board import board_of

CELLS_PER_THREAD = 4096  # fewer are solved sooner than another thread wakes up


def _on_cpu(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    from .paper_kernel import match_images

    source_BN = torch.empty_like(gain_BN, memory_format=torch.contiguous_format)
    given = (gain_BN.contiguous().numpy(), level_BN.contiguous().numpy(), source_BN.numpy())
    least = 1 + CELLS_PER_THREAD // (rows * cols)
    run_over(match_images, len(gain_BN), *given, distance, board_of(rows, cols), least=least)
    return source_BN


def _fake(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    return torch.empty_like(gain_BN, memory_format=torch.contiguous_format)


transport_paper = define(
    "transport_paper(Tensor gain, Tensor level, SymInt distance, SymInt rows, SymInt cols) -> Tensor", _on_cpu, _fake
)

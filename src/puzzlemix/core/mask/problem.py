"""The mask as an integer problem: what every solver solves, and what every labelling is judged by."""

from typing import NamedTuple

import torch
from torch import Tensor

LABELS = range(2, 9)  # how many labels the solvers take
BUDGET = 1 << 27  # no cell's cost or flow passes this, times labels: it keeps 32-bit solvers from overflowing


class MaskProblem(NamedTuple):
    """Minimise m^2 sum_i sum_{t < k_i} steps_i(t) + sum_ij w_ij (k_i - k_j)^2 over labels k in 0..m, all in integers.

    steps (B,R,K,M) int32: the cost of raising a cell from label t to t + 1; down (B,R-1,K) and across (B,R,K-1)
    int32: the weights of the edges to the cell below and to the right.
    """

    steps: Tensor
    down: Tensor
    across: Tensor

    @property
    def top(self) -> int:
        """The largest label, m."""
        return self.steps.shape[-1]

    def evaluate(self, labels_BRK: Tensor) -> Tensor:
        """Cost of each image's labelling: (B,) int64."""
        labels = labels_BRK.long()
        taken = torch.arange(self.top, device=labels.device) < labels[..., None]
        raised = (self.steps.long() * taken).sum((1, 2, 3))
        down = (self.down * labels.diff(dim=1) ** 2).sum((1, 2))
        across = (self.across * labels.diff(dim=2) ** 2).sum((1, 2))
        return self.top**2 * raised + down + across

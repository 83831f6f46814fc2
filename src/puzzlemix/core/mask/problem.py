"""The mask as an integer problem: what every solver solves, and what every labelling is judged by."""

from typing import NamedTuple

import torch
from torch import Tensor

LABELS = range(2, 9)  # how many labels the solvers take
CELLS = 1 << 16  # how many cells they take: an image of 256 x 256 pixels, one by one

# An energy is scaled so that m^2 |step| + 8 weight <= BUDGET / labels, and the solvers accept up to twice as much.
# Why 32 bits then suffice: let m^2 |step| <= A and weight <= w. The excess of a cell is what raising it costs, plus the
# flow over its four edges. In the exact solver an edge costs up to 2 m w and carries up to w, which makes at most
# A + (8 m + 4) w. A swap of labels a < b costs up to (b - a) A by itself; an edge to a cell that holds a third label k
# costs up to w |(b - k)^2 - (a - k)^2| < m^2 w, any other carries up to w (b - a)^2 <= m^2 w: at most m A + 4 m^2 w.
# With A = 2 BUDGET / labels, w = BUDGET / (4 labels) and 8 labels both stay below 8 BUDGET = 2^30.
BUDGET = 1 << 27


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


def unsolved(steps: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Labels (B,R,K) int32 without values: what a solver returns while it is only traced."""
    return torch.empty(steps.shape[:-1], dtype=torch.int32, device=steps.device)

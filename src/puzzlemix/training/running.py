"""What is counted while a run goes on: its loss and error so far, and its pace."""

import math
import time

import torch
from torch import Tensor


class Running:
    """Loss and error of an epoch so far, added up where the model is and read only when somebody looks."""

    def __init__(self, device: torch.device | str = "cpu"):
        # MPS has no float64
        kind = torch.float32 if torch.device(device).type == "mps" else torch.float64
        self.sums = torch.zeros(3, dtype=kind, device=device)

    def add(self, sums: Tensor) -> None:
        """Add a step's summed loss, its hits (shares of the true labels that were named) and its images: (3,)."""
        self.sums += sums

    def read(self) -> dict[str, float]:
        """What `mean_loss_and_error` makes of the sums so far."""
        return mean_loss_and_error(self.sums)

    def reset(self) -> None:
        """Begin anew."""
        self.sums.zero_()


def mean_loss_and_error(sums: Tensor) -> dict[str, float]:
    """Out of sums (3,): the mean loss and the error, a share from 0 to 1; NaN where nothing was counted."""
    loss, hits, images = sums.tolist()
    if not images:
        return {"loss": math.nan, "error": math.nan}
    return {"loss": loss / images, "error": 1 - hits / images}


class Pace:
    """How fast a run goes in this process, and how long the rest will take."""

    def __init__(self, share: float):
        """Start at this share of the run, 0 to 1."""
        self._began, self._share = time.monotonic(), share
        self._epoch_began, self._images = self._began, 0

    def begin_epoch(self) -> None:
        """Measure the rate from here on."""
        self._epoch_began, self._images = time.monotonic(), 0

    def count(self, images: int) -> None:
        """Count images that were learned from."""
        self._images += images

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    @property
    def rate(self) -> float:
        """Images per second since the epoch began."""
        return self._images / max(time.monotonic() - self._epoch_began, 1e-9)

    def left(self, share: float) -> float:
        """Seconds that the rest will take, where this share of the run is done."""
        return self.seconds * (1 - share) / max(share - self._share, 1e-9)

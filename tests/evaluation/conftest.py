"""Classifiers whose every answer is known by construction, and one that was trained a little."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzlemix.data.synthetic import draw_scenes


class Table(nn.Module):
    """Says about an image whose first pixel holds number i / 255 what stands in row i of its table."""

    def __init__(self, logits: Tensor):
        super().__init__()
        self.register_buffer("logits", logits)

    def forward(self, images: Tensor) -> Tensor:
        rows = (images[:, 0, 0, 0] * 255).round().long()
        return self.logits[rows]


@pytest.fixture(scope="session")
def table_of():
    return Table


@pytest.fixture(scope="session")
def numbered_images():
    """Images of which number i holds i / 255 everywhere."""
    return lambda count, size=4: (torch.arange(count) / 255)[:, None, None, None].expand(-1, 3, size, size).clone()


class Trained:
    """A small network with batch-norm and dropout, taught to tell generated pictures apart, and some of them."""

    def __init__(self):
        scenes = draw_scenes(range(400), size=16)
        self.images, self.labels = (scenes.images / 255).contiguous(), scenes.labels
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.net = nn.Sequential(
                nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Dropout(0.1),
                nn.Linear(256, 10),
            )  # fmt: skip
            optimiser = torch.optim.Adam(self.net.parameters(), 0.01)
            for _ in range(40):
                optimiser.zero_grad()
                F.cross_entropy(self.net(self.images), self.labels).backward()
                optimiser.step()
        self.net.zero_grad()
        self.net.eval().requires_grad_(False)


@pytest.fixture(scope="session")
def trained():
    return Trained()

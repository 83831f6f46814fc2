import pytest
import torch
from torch import nn

from puzzlemix.core.saliency_cache import View
from puzzlemix.methods import Batch

CLASSES = 5


class Net(nn.Module):
    """Small, and in stages."""

    def __init__(self):
        super().__init__()
        self.layer1 = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU())
        self.layer2 = nn.Sequential(nn.Conv2d(6, 8, 3, padding=1, stride=2), nn.ReLU())
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, CLASSES))

    def forward(self, images):
        return self.head(self.layer2(self.layer1(images)))


def make_net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Net()


def make_batch(count=8, size=16):
    """Random images whose class is to be seen: the brighter, the higher."""
    generator = torch.Generator().manual_seed(1)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    images = torch.rand(count, 3, size, size, generator=generator) / CLASSES + labels[:, None, None, None] / CLASSES
    zero = torch.zeros(count, dtype=torch.int64)
    return Batch(images, labels, torch.arange(count), View(zero, zero, flip=zero.bool()))


@pytest.fixture(autouse=True)
def one_thread(threads):
    """Everything here is small: threads would only wait for each other."""
    threads(1)


@pytest.fixture
def net():
    return make_net()


@pytest.fixture
def nets():
    """As many equal ones as wanted."""
    return make_net


@pytest.fixture
def batch():
    return make_batch()


@pytest.fixture
def batches():
    """Of any size."""
    return make_batch


@pytest.fixture
def seeded():
    return lambda number=3: torch.Generator().manual_seed(number)

"""The whole mix on CUDA tensors that are only traced: whatever looked at a value of one would fail.

A copy between host and device is no such look, but it waits all the same: those are counted.
"""

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from puzzlemix import Draw, PuzzleMix, PuzzleMixConfig, gradient_saliency, puzzle_mix

STATISTICS = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.2, 0.3]}


class Copies(TorchDispatchMode):
    """Notes every copy between devices that waits."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        if "copy" in str(function) and not kwargs.get("non_blocking", False):
            tensors = [leaf for leaf in tree_leaves((args, result)) if isinstance(leaf, torch.Tensor)]
            if len({tensor.device.type for tensor in tensors}) > 1:
                self.found.append(str(function))
        return result


@pytest.fixture
def copies():
    with FakeTensorMode(), Copies() as copies:
        yield copies
    assert copies.found == []


def batch(size=(3, 32, 32)):
    images = torch.empty(8, *size, device="cuda")
    return images, torch.empty(8, *size[1:], device="cuda"), torch.empty(8, dtype=torch.int64, device="cuda")


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"transport": "exact", "transport_block": 1, "transport_gain": "weight"},
        {"transport": None, "labels": 2},
        {"mask_solver": "swap", "data_smoothness": "paper", "cycles": 2},
    ],
)
@pytest.mark.parametrize("size", [(3, 32, 32), (3, 33, 31), (3, 50)])
@pytest.mark.parametrize("statistics", [{}, STATISTICS])
def test_a_mix(copies, config, size, statistics):
    images, saliency, index = batch(size)
    mixed = puzzle_mix(images, saliency, index=index, lam=0.3, grid=8, config=PuzzleMixConfig(**config), **statistics)
    assert mixed.images.shape == images.shape
    assert {mixed.images.device.type, mixed.mask.device.type, mixed.ratio.device.type} == {"cuda"}


@pytest.mark.parametrize("statistics", [{}, STATISTICS])
@pytest.mark.parametrize("scale", [None, STATISTICS["std"]])
def test_the_drop_in_once_it_has_a_gradient(copies, statistics, scale):
    images, _, index = batch()
    mixup = PuzzleMix(nn.Identity(), 10, saliency=lambda images, _: gradient_saliency(images, scale), **statistics)
    labels = torch.empty(8, dtype=torch.int64, device="cuda")
    mixed, targets = mixup(images, labels, draw=Draw(index, 0.3, 8))
    assert mixed.device.type == targets.device.type == "cuda"
    assert targets.shape == (8, 10)

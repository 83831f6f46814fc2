"""The whole mix by the GPU's kernels, in Triton's interpreter. `test_on_device.py` runs this in its own process."""

import sys

import pytest
import torch

from puzzlemix import PuzzleMixConfig, puzzle_mix
from puzzlemix.core import blend, mask, pose, shares, transport, triton_support, visible

CONFIGS = {
    "as published": {},
    "fine tiles": {"transport_block": 2, "transport": "exact", "labels": 5, "cycles": 2},
    "mask only": {"transport": None, "labels": 2},
}


def as_on_cuda(operator):
    """The operator as CUDA tensors would reach it."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
    return lambda *arguments: operator.redispatch(keys, *arguments)


@pytest.fixture
def on_cuda(monkeypatch):
    """Send what the mix poses, solves and blends to the CUDA kernels, and let nobody import numba."""
    for solvers in (mask.SOLVERS, transport.SOLVERS):
        for name, operator in solvers.items():
            monkeypatch.setitem(solvers, name, as_on_cuda(operator))
    for module, name in ((blend, "_blend"), (pose, "_pose"), (shares, "_share"), (visible, "_show")):
        monkeypatch.setattr(module, name, as_on_cuda(getattr(module, name)))
    monkeypatch.setattr(triton_support, "serves", lambda tensor: True)
    assert "numba" not in sys.modules
    monkeypatch.setitem(sys.modules, "numba", None)
    return monkeypatch


def test_the_mix_is_the_cpus_and_needs_no_numba(on_cuda):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(3, 3, 18, 15, generator=generator)
    saliency = torch.rand(3, 18, 15, generator=generator) ** 3
    given = {"index": torch.tensor([1, 2, 0]), "lam": 0.4, "grid": (4, 5)}
    configs = [PuzzleMixConfig(**config) for config in CONFIGS.values()]
    found = [puzzle_mix(images, saliency, **given, config=config) for config in configs]
    on_cuda.undo()
    for mixed, config in zip(found, configs, strict=True):
        expected = puzzle_mix(images, saliency, **given, config=config)
        assert torch.equal(mixed.mask, expected.mask)
        assert torch.equal(mixed.ratio, expected.ratio)
        torch.testing.assert_close(mixed.images, expected.images, atol=1e-6, rtol=0)

"""The whole mix where the images are. What is traced on CUDA without a value being looked at: `test_no_waiting.py`."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from puzzlemix import PuzzleMixConfig, puzzle_mix

STATISTICS = {"mean": [0.5, 0.4, 0.3], "std": [0.2, 0.2, 0.3]}


def test_the_gpu_kernels_make_the_cpus_mix_without_numba(interpreted):
    interpreted(Path(__file__).with_name("gpu_mix.py"))


WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from puzzlemix import PuzzleMix, PuzzleMixConfig, puzzle_mix

with FakeTensorMode():
    images, saliency = torch.empty(4, 3, 32, 32, device="cuda"), torch.empty(4, 32, 32, device="cuda")
    index = torch.empty(4, dtype=torch.int64, device="cuda")
    for transport in ("paper", "exact", None):
        config = PuzzleMixConfig(transport=transport)
        mixed = puzzle_mix(images, saliency, index=index, lam=0.3, grid=16, config=config)
        print(mixed.images.device.type, tuple(mixed.mask.shape))
"""


def test_the_package_works_where_numba_cannot_be_imported():
    command = [sys.executable, "-W", "error", "-c", WITHOUT_NUMBA]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.stdout == "cuda (4, 16, 16)\n" * 3, done.stderr


@pytest.mark.parametrize(
    ("size", "config"),
    [
        ((3, 32, 32), {}),
        ((3, 33, 50), {"transport": "exact", "transport_block": 4, "cycles": 2, "mask_solver": "swap"}),
        ((3, 64), {"transport": None}),
    ],
)
def test_it_compiles_without_a_break(size, config):
    """Once compiled, other values give what they give without."""
    generator = torch.Generator().manual_seed(0)
    batches = [(torch.rand(5, *size, generator=generator), torch.rand(5, *size[1:], generator=generator)) for _ in "12"]
    index = torch.tensor([1, 2, 0, 3, 4])
    config = PuzzleMixConfig(**config)

    def mix(images, saliency, lam):
        mixed = puzzle_mix(images, saliency, index=index, lam=lam, grid=8, config=config, **STATISTICS)
        return mixed.images, mixed.mask, mixed.ratio, mixed.apply(torch.ones_like(saliency))

    torch.compiler.reset()
    compiled = torch.compile(mix, backend="aot_eager", fullgraph=True)
    for (images, saliency), lam in zip(batches, (0.3, 0.8), strict=True):
        found, expected = (call(images, saliency, torch.tensor(lam)) for call in (compiled, mix))
        assert all(map(torch.equal, found, expected))

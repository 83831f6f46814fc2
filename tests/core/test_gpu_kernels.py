"""The kernels that pose the problems of a mix on a GPU: run in Triton's interpreter, compiled ahead, kept to torch's
rules; and how few operators a whole mix takes."""

from pathlib import Path

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from puzzlemix import Draw, PuzzleMix, PuzzleMixConfig, puzzle_mix
from puzzlemix.core import pose, shares, targets, visible
from puzzlemix.core.blocks import layout_for
from puzzlemix.core.mask import gpu as mask_gpu

CAPABILITIES = pytest.mark.parametrize("capability", [80, 90, 100])
FLOATS = ("saliency", "shares", "first_shares", "second_shares", "lam", "std", "mask", "ratio", "mixed")
LONGS = ("index", "gain", "level", "targets")
INTS = ("steps", "down", "across", "fine", "labels")
REALS = ("beta_down", "beta_across", "gamma", "eta", "unit", "kept", "spread")
POINTERS = dict.fromkeys(FLOATS, "*fp32") | dict.fromkeys(LONGS, "*i64") | dict.fromkeys(INTS, "*i32")


def types_of(kernel, constants, **others):
    """What the kernel's arguments are; all that is not named above is a number."""
    known = POINTERS | dict.fromkeys(REALS, "fp32") | others
    return {name: known.get(name, "i32") for name in kernel.arg_names if name not in constants}


def test_the_kernels_pose_the_plain_versions_problems(interpreted):
    interpreted(Path(__file__).with_name("gpu_kernels.py"))


@CAPABILITIES
@pytest.mark.parametrize("tiles", sorted({shares.tiles_for(tiles) for tiles in range(1, 300)}))
def test_sharing_compiles_ahead_of_time(machine_code, capability, tiles):
    from puzzlemix.core.shares_gpu_kernel import share_image

    constants = {"TILES": tiles, "PIXELS": shares.LANES // tiles}
    types = types_of(share_image, constants)
    assert machine_code(capability, share_image, types, constants, shares.WARPS).stack == 0


def posing():
    """Widths, images' types and options: all widths, then the rest at 16x16."""
    widths = sorted({mask_gpu.width_for(cells) for cells in range(1, mask_gpu.CELLS + 1)})
    yield from ((cells, "fp32", True, False, False) for cells in widths)
    yield from ((256, kind, True, True, False) for kind in ("fp32", "bf16", "fp16", "fp64"))
    yield from ((256, "fp32", False, True, False), (256, "fp32", True, False, True))


@CAPABILITIES
@pytest.mark.parametrize(("cells", "kind", "curved", "scaled", "moved"), list(posing()))
def test_posing_compiles_ahead_of_time(machine_code, capability, cells, kind, curved, scaled, moved):
    from puzzlemix.core.pose_gpu_kernel import pose_pair

    lanes = {"CELLS": cells, "SAMPLES": pose.LANES // cells}
    constants = {"CURVED": curved, "SCALED": scaled, "MOVED": moved, **lanes}
    types = types_of(pose_pair, constants, first=f"*{kind}", second=f"*{kind}", step_image="i64")
    used = machine_code(capability, pose_pair, types, constants, pose.WARPS)
    if cells == 256:
        assert used.stack == 0, "at 16x16 nothing may spill"


@CAPABILITIES
@pytest.mark.parametrize("graded", [False, True])
def test_showing_compiles_ahead_of_time(machine_code, capability, graded):
    from puzzlemix.core.visible_gpu_kernel import show_image

    constants = {"GRADED": graded, "LANES": visible.LANES}
    types = types_of(show_image, constants)
    assert machine_code(capability, show_image, types, constants, visible.WARPS).stack == 0


@CAPABILITIES
def test_mixing_targets_compiles_ahead_of_time(machine_code, capability):
    from puzzlemix.core.targets_gpu_kernel import mix_target

    constants = {"LANES": targets.LANES}
    assert machine_code(capability, mix_target, types_of(mix_target, constants), constants, targets.WARPS).stack == 0


def test_the_operators_keep_torchs_rules():
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(3, 2, 9, 8, generator=generator)
    saliency = torch.rand(3, 9, 8, generator=generator)
    index, lam = torch.tensor([1, 2, 0]), torch.tensor([0.3, 0.5, 0.9])
    numbers = layout_for(9, 8, 4, 2, 2).numbers
    operators = torch.ops.puzzlemix
    of_tiles = operators.share_saliency(saliency, numbers)
    options = None, numbers, [1.2, 0.5, 0.2], 2, 4, True, False
    labels = torch.randint(0, 3, (3, 4, 2), generator=generator, dtype=torch.int32)
    torch.library.opcheck(operators.share_saliency.default, (saliency, numbers))
    torch.library.opcheck(operators.pose_mask.default, (images, images, of_tiles, of_tiles, index, lam, *options))
    torch.library.opcheck(operators.show_labels.default, (labels, of_tiles, index, numbers, 2, 0.8, True))
    torch.library.opcheck(operators.mix_classes.default, (index, index, lam, 5, 0.1))


FREE = ("view", "expand", "slice", "select", "squeeze", "permute", "detach", "alias", "unbind", "empty", "prim.")


class Launches(TorchDispatchMode):
    """Counts the operators that do some work on the device."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not any(name in str(function) for name in FREE):
            self.found.append(str(function))
        return function(*args, **(kwargs or {}))


@pytest.fixture
def launches():
    pytest.importorskip("triton", reason="Triton is missing")
    with FakeTensorMode(), Launches() as launches:
        yield launches


def on_cuda(size=(3, 32, 32)):
    images, saliency = torch.empty(8, *size, device="cuda"), torch.empty(8, *size[1:], device="cuda")
    index = torch.empty(8, dtype=torch.int64, device="cuda")
    return images, saliency, index


@pytest.mark.parametrize("config", [{}, {"transport": None}, {"transport_block": 1}, {"transport": "exact"}])
@pytest.mark.parametrize("statistics", [{}, {"mean": [0.5] * 3, "std": [0.2] * 3}])
def test_a_mix_takes_few_operators(launches, config, statistics):
    images, saliency, index = on_cuda((3, 33, 31))
    launches.found.clear()
    puzzle_mix(images, saliency, index=index, lam=0.3, grid=8, config=PuzzleMixConfig(**config), **statistics)
    assert len(launches.found) <= 15, launches.found


def test_the_drop_in_adds_three(launches):
    images, saliency, index = on_cuda()
    mixup = PuzzleMix(nn.Identity(), 10, label_smoothing=0.1)
    launches.found.clear()
    puzzle_mix(images, saliency, index=index, lam=0.3, grid=8)
    alone = len(launches.found)
    mixup(images, index, saliency=saliency, draw=Draw(index, 0.3, 8))
    assert len(launches.found) == 2 * alone + 3, launches.found


def test_a_grid_too_fine_for_the_kernel_is_posed_by_torch(launches):
    images, saliency, index = on_cuda((3, 40, 40))
    mixed = puzzle_mix(images, saliency, index=index, lam=0.3, grid=40)
    assert "puzzlemix.pose_mask.default" not in launches.found
    assert mixed.mask.shape == (8, 40, 40)


def test_moved_images_are_posed_by_the_kernel_too(launches):
    images, saliency, index = on_cuda()
    puzzle_mix(images, saliency, index=index, lam=0.3, grid=8, config=PuzzleMixConfig(cycles=2))
    assert launches.found.count("puzzlemix.pose_mask.default") == 2

"""What poses problems on a GPU beside the plain version, in Triton's interpreter. `test_gpu_kernels.py` runs this."""

import pytest
import torch

from puzzlemix import PuzzleMixConfig
from puzzlemix.core import pose, shares, targets, visible
from puzzlemix.core.blocks import layout_for
from puzzlemix.core.mask import gpu as mask_gpu

pytestmark = [  # some maps are of no use; numpy, which interprets, finds the logarithm of 0 worth mentioning
    pytest.mark.filterwarnings("ignore:a saliency map is all zero"),
    pytest.mark.filterwarnings("ignore:divide by zero"),
    pytest.mark.filterwarnings("ignore:invalid value"),
    pytest.mark.filterwarnings("ignore:overflow"),
]
UNITS = {torch.float32: 8, torch.float64: 8, torch.bfloat16: 1e-3, torch.float16: 1e-3}  # or a share of the largest
CASES = {  # size of an image, cells, options of the mix
    "as published": ((3, 32, 32), (16, 16), {}),
    "one cell": ((3, 5, 7), (1, 1), {}),
    "padding": ((3, 33, 31), (8, 8), {}),
    "cells of nothing but padding": ((2, 7, 7), (5, 5), {"transport_block": 1, "labels": 2}),
    "signal": ((4, 1, 50), (1, 8), {}),
    "upright": ((3, 21, 2), (7, 1), {"neighbours": 1}),
    "finer tiles": ((3, 32, 32), (4, 4), {"transport_block": 4, "transport_gain": "weight"}),
    "large tiles": ((3, 40, 36), (2, 2), {"transport_block": 10, "labels": 8}),
    "the paper's seams": ((1, 20, 12), (5, 3), {"labels": 5, "data_smoothness": "paper"}),
    "many channels": ((9, 24, 24), (4, 2), {"neighbours": 2}),
    "finest": ((3, 32, 32), (32, 32), {}),
}
EACH = pytest.mark.parametrize("name", CASES)


def batch(name, count=4, dtype=torch.float32):
    """Images, saliency maps, one of them of no use, and how they are cut."""
    size, (rows, cols), options = CASES[name]
    generator = torch.Generator().manual_seed(len(name))
    images = torch.rand(count, *size, generator=generator).to(dtype)
    saliency = torch.rand(count, *size[1:], generator=generator) ** 4
    saliency[1:2] = 0
    config = PuzzleMixConfig(**options)
    return images, saliency, layout_for(*size[1:], rows, cols, config.transport_block), config


@EACH
def test_shares(name):
    _, saliency, layout, _ = batch(name)
    found = shares._on_cuda(saliency, layout.numbers)
    torch.testing.assert_close(found, shares._shares_plain(saliency, layout), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("broken", [-1.0, torch.inf, torch.nan])
def test_a_map_that_cannot_guide_becomes_uniform(broken):
    _, saliency, layout, _ = batch("padding")
    saliency[2, 20, 30] = broken
    found = shares._on_cuda(saliency, layout.numbers)
    torch.testing.assert_close(found, shares._shares_plain(saliency, layout), rtol=1e-5, atol=1e-8)
    assert len(found[2][found[2] > 0].unique()) == 1


def pose_both(name, dtype=torch.float32, std=None, moved=False, change=None):
    """The integers of the kernel, and those of the plain version."""
    images, saliency, layout, config = batch(name, dtype=dtype)
    images = images if change is None else change(images)
    of_tiles = shares._shares_plain(saliency, layout)
    second, second_shares = (images.flip(0), of_tiles.flip(0)) if moved else (images, of_tiles)
    given = images, second, of_tiles, second_shares, torch.tensor([1, 2, 0, 3]), torch.tensor([0.3, 1.0, 0.0, 0.6])
    coefficients = [config.beta, config.gamma, config.eta]
    settings = config.top, config.neighbours, config.data_smoothness != "paper", moved
    return (
        call(*given, std, layout.numbers, coefficients, *settings) for call in (pose._pose_on_cuda, pose._pose_plain)
    )


def assert_alike(found, expected, dtype=torch.float32):
    """Up to rounding of the floats before; half precision may also round a pooled pixel to its neighbour."""
    *problem, fine = found
    assert fine.all()
    largest = max(int(part.abs().max()) for part in expected if part.numel())
    units = UNITS[dtype] if UNITS[dtype] > 1 else UNITS[dtype] * largest
    for part, right in zip(problem, expected, strict=False):
        torch.testing.assert_close(part.double(), right.double(), rtol=0, atol=units)


@EACH
@pytest.mark.parametrize("moved", [False, True])
def test_mask_problems(name, moved):
    assert_alike(*pose_both(name, moved=moved))


@pytest.mark.parametrize("dtype", UNITS)
def test_mask_problems_of_normalised_images(dtype):
    assert_alike(*pose_both("padding", dtype, torch.tensor([0.2, 0.3, 0.25])), dtype)


@pytest.mark.parametrize("name", ["as published", "padding", "signal"])
def test_mask_problems_of_images_of_any_layout(name):
    found, expected = pose_both(name)
    for change in (
        lambda images: images.to(memory_format=torch.channels_last),
        lambda images: images.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0),
        lambda images: images.repeat_interleave(2, 0)[::2],
    ):
        for part, right in zip(pose_both(name, change=change), (found, expected), strict=True):
            assert all(map(torch.equal, part, right))


@pytest.mark.parametrize("broken", [torch.nan, torch.inf, -torch.inf, 1e30])
def test_a_broken_pixel_stays_where_it_is(broken):
    def break_one(images):
        images[0, 1, 3, 3] = broken
        return images

    assert_alike(*pose_both("as published", change=break_one))


@pytest.mark.parametrize(
    ("index", "lam", "fine"),
    [
        ([1, 2, 3, 0], [0.0, 1.0, 0.5, 0.5], [1, 1, 1, 1]),
        ([1, 4, -1, 0], [0.5] * 4, [1, 0, 0, 1]),
        ([1, 2, 3, 0], [-0.1, 1.1, torch.nan, 0.5], [0, 0, 0, 1]),
    ],
)
def test_what_is_out_of_range_is_noted(index, lam, fine):
    images, saliency, layout, _ = batch("as published")
    of_tiles = shares._shares_plain(saliency, layout)
    given = images, images, of_tiles, of_tiles, torch.tensor(index), torch.tensor(lam), None, layout.numbers
    for call in (pose._pose_on_cuda, pose._pose_plain):
        assert call(*given, [1.2, 0.5, 0.2], 2, 4, True, False)[-1].tolist() == fine


def test_one_lam_for_all():
    images, saliency, layout, _ = batch("signal")
    of_tiles = shares._shares_plain(saliency, layout)
    given = images, images, of_tiles, of_tiles, torch.tensor([1, 2, 3, 0])
    options = None, layout.numbers, [1.2, 0.5, 0.2], 2, 4, True, False
    found = pose._pose_on_cuda(*given, torch.tensor(0.3).expand(4), *options)
    assert all(map(torch.equal, found, pose._pose_on_cuda(*given, torch.full((4,), 0.3), *options)))


@EACH
@pytest.mark.parametrize("gain", ["visible", "weight"])
def test_what_labels_show(name, gain):
    """From whole numbers, so to the last bit."""
    _, saliency, layout, config = batch(name)
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, config.labels, (4, layout.rows, layout.cols), generator=generator, dtype=torch.int32)
    given = labels, shares._shares_plain(saliency, layout), torch.tensor([1, 2, 3, 0])
    settings = layout.numbers, config.top, config.xi, gain == "weight"
    found, expected = (call(*given, *settings) for call in (visible._show_on_cuda, visible._show_plain))
    assert all(map(torch.equal, found, expected))


@pytest.mark.parametrize("classes", [2, 10, 1000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_mixed_classes(classes, smoothing):
    given = torch.tensor([0, 1, classes - 1, 1]), torch.tensor([1, 2, 0, 3]), torch.tensor([0.3, 0.0, 1.0, 0.5])
    found, expected = (call(*given, classes, smoothing) for call in (targets._mix_on_cuda, targets._mix_plain))
    torch.testing.assert_close(found[0], expected[0])
    assert found[1].tolist() == expected[1].tolist() == [1, 1, 1, 1]


def test_what_is_no_class_is_noted():
    given = torch.tensor([0, 10, -1]), torch.tensor([0, 0, 0]), torch.ones(3)
    for call in (targets._mix_on_cuda, targets._mix_plain):
        assert call(*given, 10, 0.0)[1].tolist() == [1, 0, 0]


def test_nothing_to_pose():
    images, saliency, layout, config = batch("as published", count=0)
    none = torch.zeros(0, dtype=torch.long)
    of_tiles = shares._on_cuda(saliency, layout.numbers)
    options = None, layout.numbers, [1.2, 0.5, 0.2], 2, 4, True, False
    steps, *_ = pose._pose_on_cuda(images, images, of_tiles, of_tiles, none, torch.zeros(0), *options)
    mask, *_ = visible._show_on_cuda(steps[..., 0], of_tiles, none, layout.numbers, 2, config.xi, False)
    assert mask.shape == (0, 16, 16)


def test_every_width_is_compiled_for():
    """The programs' sizes are powers of two, whatever the number of cells and tiles."""
    assert {pose.LANES // mask_gpu.width_for(cells) for cells in (1, 33, 100, 1000, 1024)} <= {1, 2, 4, 8, 16, 32}
    assert {shares.tiles_for(tiles) for tiles in (1, 17, 100, 200, 5000)} == {16, 32, 128, 256}

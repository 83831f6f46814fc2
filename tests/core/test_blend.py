from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from puzzlemix.core import blend as module
from puzzlemix.core.blend import blend

POINTERS = {"index": "*i64", "weight": "*fp32", "first_source": "*i64", "second_source": "*i64"}
NUMBERS = dict.fromkeys(("planes", "height", "width", "channels", "rows", "cols", "high", "wide"), "i32")
GRID, TILE = (3, 2), (4, 5)


def inputs(dtype=torch.float32, count=3, size=(11, 9), device="cpu"):
    """Images that end within the last tiles."""
    generator = torch.Generator().manual_seed(0)
    images = [torch.rand(count, 2, *size, generator=generator).to(dtype) for _ in range(2)]
    weight = torch.tensor([[1.0, 0.5], [0.0, 0.25], [0.75, 1.0]]).expand(count, *GRID)
    sources = [torch.stack([torch.randperm(6, generator=generator) for _ in range(count)]) for _ in range(2)]
    return [part.to(device) for part in (*images, torch.arange(count).flip(0), weight, *sources)]


def by_hand(first, second, index, weight, *sources):
    """Pixel by pixel, by the definition."""
    mixed = torch.empty(first.shape, dtype=torch.float64)
    for b, y, x in torch.cartesian_prod(*(torch.arange(first.shape[dim]) for dim in (0, 2, 3))).tolist():
        row, col = y // TILE[0], x // TILE[1]
        shown = []
        for images, image, source in ((first, b, sources[0]), (second, int(index[b]), sources[1])):
            from_row, from_col = divmod(int(source[b, row * GRID[1] + col]), GRID[1])
            at_y = min(from_row * TILE[0] + y % TILE[0], first.shape[2] - 1)
            at_x = min(from_col * TILE[1] + x % TILE[1], first.shape[3] - 1)
            shown.append(images[image, :, at_y, at_x].double())
        share = weight[b, row, col].double()
        mixed[b, :, y, x] = share * shown[0] + (1 - share) * shown[1]
    return mixed


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_every_pixel_by_hand(dtype, layout):
    first, second, *plan = inputs(dtype)
    first, second = (images.to(memory_format=layout) for images in (first, second))
    for blended in (blend, module._blend_plain):
        mixed = blended(first, second, *plan, *([TILE] if blended is blend else TILE))
        assert mixed.dtype == dtype
        assert mixed.is_contiguous(memory_format=layout)
        torch.testing.assert_close(
            mixed.double(), by_hand(first, second, *plan), atol=3 * torch.finfo(dtype).eps, rtol=0
        )


def test_eight_bit_floats_are_blended_too():
    given = inputs(torch.float8_e4m3fn)
    mixed = blend(*given, TILE)
    assert mixed.dtype == torch.float8_e4m3fn
    torch.testing.assert_close(mixed.double(), by_hand(*given), atol=0.04, rtol=0)


def test_gradients_reach_both_images():
    first, second, *plan = inputs(torch.float64)
    first, second = first.requires_grad_(), second.requires_grad_()
    assert torch.autograd.gradcheck(lambda one, other: blend(one, other, *plan, TILE), (first, second))


def test_the_operator_keeps_torchs_rules():
    torch.library.opcheck(torch.ops.puzzlemix.blend.default, (*inputs(), *TILE))


@pytest.mark.parametrize("installed", [True, False])
def test_on_cuda_it_stays_there_whether_triton_is_installed_or_not(installed, monkeypatch):
    monkeypatch.setattr(module.triton_support, "INSTALLED", installed)
    used = []
    monkeypatch.setattr(module, "_blend", lambda first, *_: used.append("kernel") or torch.empty_like(first))
    with FakeTensorMode(allow_non_fake_inputs=True):
        mixed = blend(*(torch.empty_like(part, device="cuda") for part in inputs()), TILE)
    assert mixed.device.type == "cuda"
    assert used == ["kernel"] * installed


def test_the_gpu_kernel_blends_the_same_pixels(interpreted):
    interpreted(Path(__file__).with_name("blend_gpu_kernel.py"))


@pytest.mark.parametrize("capability", [80, 90, 100])
@pytest.mark.parametrize(
    ("patch", "dtype"),
    [(module.PATCH, "fp32"), (module.PATCH, "bf16"), (module.PATCH, "fp64"), (module.PATCH_OF_SIGNAL, "fp32")],
)
def test_the_gpu_kernel_compiles_ahead_of_time(machine_code, capability, patch, dtype):
    from puzzlemix.core.blend_gpu_kernel import blend_patch

    images = dict.fromkeys(("first", "second", "mixed"), f"*{dtype}")
    constants = {"DOWN": patch[0], "ACROSS": patch[1], "EXACT": dtype == "fp64"}
    used = machine_code(capability, blend_patch, images | POINTERS | NUMBERS, constants, module.WARPS)
    assert used.stack == 0

"""The GPU blend beside the CPU's, in Triton's interpreter. `test_blend.py` runs this in a process of its own."""

import pytest
import torch

from puzzlemix.core import blend as module

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
CUTS = {  # image, grid, tile: tiles that fit, that reach beyond the image, that are whole images; signals
    "fits": ((6, 8), (3, 2), (2, 4)),
    "reaches beyond": ((35, 37), (5, 8), (8, 5)),
    "one tile": ((3, 5), (1, 1), (3, 5)),
    "signal": ((1, 21), (1, 5), (1, 5)),
}


def inputs(size, grid, count=2, channels=3, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    cells = grid[0] * grid[1]
    images = [torch.rand(count, channels, *size, generator=generator).to(dtype) for _ in range(2)]
    index = torch.randperm(count, generator=generator)
    weight = torch.randint(0, 5, (count, *grid), generator=generator) / 4
    plans = [torch.stack([torch.randperm(cells, generator=generator) for _ in range(count)]) for _ in range(2)]
    return (*images, index, weight, *plans)


def tolerance(dtype):
    return {"atol": 2 * torch.finfo(dtype).eps, "rtol": 0}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("name", CUTS)
def test_every_pixel_is_the_plain_versions(name, layout, dtype):
    size, grid, tile = CUTS[name]
    first, second, *plan = inputs(size, grid, dtype=dtype)
    first, second = (images.to(memory_format=layout) for images in (first, second))
    found = module._blend_on_cuda(first, second, *plan, *tile)
    torch.testing.assert_close(found, module._blend_plain(first, second, *plan, *tile), **tolerance(dtype))
    assert found.is_contiguous(memory_format=layout)


def test_images_of_any_layout():
    first, second, *plan = inputs((6, 8), (3, 2))
    views = [images.permute(0, 1, 3, 2).contiguous().permute(0, 1, 3, 2) for images in (first, second)]
    found = module._blend_on_cuda(*views, *plan, 2, 4)
    torch.testing.assert_close(found, module._blend_plain(first, second, *plan, 2, 4), **tolerance(first.dtype))


def test_a_hidden_image_cannot_leak():
    first, second, index, weight, *sources = inputs((6, 8), (3, 2))
    found = module._blend_on_cuda(first, second.fill_(torch.nan), index, torch.ones_like(weight), *sources, 2, 4)
    assert found.isfinite().all()
    found = module._blend_on_cuda(second, first, index, torch.zeros_like(weight), *sources, 2, 4)
    assert found.isfinite().all()


@pytest.mark.parametrize(("count", "channels"), [(0, 3), (2, 0)])
def test_nothing_is_mixed_to_nothing(count, channels):
    size, grid, tile = CUTS["fits"]
    first, second, *plan = (part[:count] for part in inputs(size, grid, channels=channels))
    assert module._blend_on_cuda(first, second, *plan, *tile).shape == first.shape

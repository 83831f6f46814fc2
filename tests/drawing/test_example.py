import numpy as np
import pytest
import torch

from puzzlemix.core import blocks
from puzzlemix.drawing import read_example

CASES = {
    "square": {},
    "fine": {"size": (32, 32), "grid": 32},
    "one cell": {"grid": 1},
    "not square": {"size": (18, 30), "grid": (3, 5)},
    "padded": {"size": (13, 22), "grid": (4, 8)},
    "no transport": {"transport": None},
    "exact transport": {"transport": "exact", "labels": 2},
    "fine transport": {"transport_block": 2, "labels": 5},
    "signal": {"size": (40,), "grid": 7},
    "grey": {"channels": 1},
    "with itself": {"index": (0, 1, 2)},
}


@pytest.fixture(params=CASES)
def batch(request, batch_of):
    return batch_of(**CASES[request.param])


def pixels(weight_RK, layout):
    """A value per cell as one per pixel, the long way."""
    down, across = layout.block
    return np.kron(weight_RK, np.ones((down, across)))[: layout.height, : layout.width]


def test_the_two_sides_make_up_the_mix(batch):
    for sample in range(3):
        example = batch.example(sample)
        first, second = (pixels(side.weight, example.layout) for side in (example.first, example.second))
        first, second = (first, second) if example.is_signal else (first[..., None], second[..., None])
        mixed = first * example.first.moved + second * example.second.moved
        np.testing.assert_allclose(example.mixed, mixed, atol=1e-6)


def test_the_sides_are_the_images_and_the_mask_is_the_mix_s(batch):
    for sample, partner in enumerate(batch.mixed.index.tolist()):
        example = batch.example(sample)
        for side, place in ((example.first, sample), (example.second, partner)):
            expected = batch.images[place].numpy()
            drawn = side.image if example.is_signal else side.image.transpose(2, 0, 1)
            np.testing.assert_array_equal(drawn, np.broadcast_to(expected, drawn.shape))
        np.testing.assert_array_equal(example.first.weight, batch.mixed.mask[sample].numpy())
        assert example.ratio == float(batch.mixed.ratio[sample])


def test_moves_are_those_of_visible_tiles_that_moved(batch):
    layout = batch.mixed.layout
    seen = blocks.visible_pixels(layout, layout.tile, torch.device("cpu")).flatten() > 0
    for sample in range(3):
        example = batch.example(sample)
        for side, source in (
            (example.first, batch.mixed.first_source),
            (example.second, batch.mixed.second_source),
        ):
            weight = blocks.repeat_to_tiles(torch.from_numpy(side.weight)[None], layout).flatten()
            visible = [j for j in range(len(weight)) if weight[j] > 0 and seen[j]]
            origins = range(len(weight)) if source is None else source[sample].tolist()
            assert side.moves.tolist() == [[origins[j], j] for j in visible if origins[j] != j]
            assert side.seen == len(visible)


def test_shares_are_the_pooled_saliency(batch):
    example = batch.example(1)
    for side, place in ((example.first, 1), (example.second, int(batch.mixed.index[1]))):
        saliency = batch.saliency[place].reshape(1, 1, -1, batch.saliency.shape[-1])
        pooled = blocks.pool(blocks.pad(saliency, example.layout)[:, 0], example.layout.tile)[0]
        np.testing.assert_allclose(side.shares, pooled / pooled.sum(), rtol=1e-5)


def test_some_tiles_do_move(batch_of):
    assert len(batch_of(grid=8).example().first.moves) > 0


def test_nothing_is_written_to(batch_of):
    batch = batch_of(grid=8)
    kept = [tensor.clone() for tensor in (batch.images, batch.saliency, batch.mixed.mask)]
    example = batch.example()
    for array in (example.mixed, example.first.image, example.first.saliency, example.first.weight):
        array[...] = 7
    for before, after in zip(kept, (batch.images, batch.saliency, batch.mixed.mask), strict=True):
        assert torch.equal(before, after)


def test_half_precision_images(batch_of):
    batch = batch_of(dtype=torch.bfloat16)
    assert batch.example().mixed.dtype == np.float32
    np.testing.assert_array_equal(batch.example().first.image, batch.images[0].float().permute(1, 2, 0).numpy())


@pytest.mark.parametrize(("channels", "shown"), [(1, (0, 0, 0)), (3, (0, 1, 2)), (5, (0, 1, 2))])
def test_channels_become_colours(batch_of, channels, shown):
    batch = batch_of(channels=channels)
    np.testing.assert_array_equal(batch.example().first.image, batch.images[0, list(shown)].permute(1, 2, 0).numpy())


def test_two_channels_become_their_mean(batch_of):
    batch = batch_of(channels=2)
    for channel in range(3):
        np.testing.assert_allclose(batch.example().first.image[..., channel], batch.images[0].mean(0), atol=1e-6)


def test_normalised_images_are_shown_as_they_were(batch_of):
    batch = batch_of()
    expected = batch.images[0].permute(1, 2, 0).numpy()
    mean, std = (0.4, 0.5, 0.6), (0.2, 0.3, 0.25)
    shape = (1, 3, 1, 1)
    batch.images = (batch.images - torch.tensor(mean).view(shape)) / torch.tensor(std).view(shape)
    np.testing.assert_allclose(batch.example(mean=mean, std=std).first.image, expected, atol=1e-6)


def test_normalised_images_without_statistics_keep_their_order(batch_of):
    batch = batch_of()
    bright = batch.images[0].permute(1, 2, 0).numpy()
    batch.images = batch.images * 9 - 4
    drawn = batch.example().first.image
    assert 0 <= drawn.min() <= drawn.max() <= 1
    assert np.corrcoef(drawn.ravel(), bright.ravel())[0, 1] > 0.9999


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_map_that_cannot_guide_is_uniform(batch_of, value):
    batch = batch_of()
    batch.saliency[0] = 0 if value == 0 else batch.saliency[0]
    batch.saliency[0, 3, 3] = value
    side = batch.example().first
    np.testing.assert_array_equal(side.saliency, np.ones((24, 24)))
    np.testing.assert_allclose(side.shares, np.full((4, 4), 1 / 16))


def test_errors_name_the_value_and_the_remedy(batch_of):
    batch = batch_of()
    mixed, images, saliency = batch.mixed, batch.images, batch.saliency
    for arguments, options, message in (
        ((mixed, images[:2], saliency), {}, r"images have shape \(2, 3, 24, 24\).*pass"),
        ((mixed, images, saliency[:, 1:]), {}, r"saliency has shape \(3, 23, 24\).*\(3, 24, 24\)"),
        ((mixed, images, saliency, 3), {}, "sample 3 .* from 0 to 2"),
        ((mixed, images, saliency, -1), {}, "sample -1 .* from 0 to 2"),
        ((mixed, images, saliency), {"names": ["cat"]}, "1 names for 3 images"),
        ((mixed, images, saliency), {"mean": (0.5, 0.5, 0.5)}, "std is missing"),
    ):
        with pytest.raises(ValueError, match=message):
            read_example(*arguments, **options)

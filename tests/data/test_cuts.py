import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import ks_2samp
from torchvision.transforms import RandomResizedCrop
from torchvision.transforms.v2 import functional as v2

from puzzlemix.data.cuts import cut_out, rescaled, shifted, streams_of, zoom, zoomed


def drawn(samples=range(300), seed=0, epoch=0, padding=2, flip=True):
    return shifted(streams_of(seed, epoch, np.asarray(samples)), (12, 10), padding, flip=flip)


def test_each_image_is_padded_cropped_and_flipped_as_the_cut_says():
    images = np.random.default_rng(0).integers(0, 256, (50, 3, 12, 10), dtype=np.uint8)
    cut = drawn(range(50))
    ours = torch.from_numpy(cut_out(images, cut, 2))
    for row in range(50):
        top, left, height, width, flip = (int(values[row]) for values in cut)
        theirs = v2.crop(v2.pad(torch.from_numpy(images[row]), [2]), top + 2, left + 2, height, width)
        assert torch.equal(ours[row], v2.horizontal_flip(theirs) if flip else theirs)


def test_all_places_come_equally_often():
    cut = drawn(range(20_000))
    for places in (cut.top, cut.left):
        counts = (places + 2).bincount(minlength=5)
        assert len(counts) == 5
        assert (counts - 4000).abs().max() < 300
    assert abs(int(cut.flip.sum()) - 10_000) < 400
    assert abs(float(torch.corrcoef(torch.stack([cut.top, cut.left, cut.flip]).float())[0, 1])) < 0.03


def test_no_padding_and_no_flip_leave_images_alone():
    cut = drawn(padding=0, flip=False)
    images = np.random.default_rng(0).integers(0, 256, (300, 1, 12, 10), dtype=np.uint8)
    assert (cut_out(images, cut, 0) == images).all()


def test_a_cut_follows_from_seed_epoch_and_sample_alone():
    whole, part = drawn(range(100)), drawn([40, 7])
    assert all(torch.equal(values[[40, 7]], values_of_part) for values, values_of_part in zip(whole, part, strict=True))
    for other in (drawn(range(100), seed=1), drawn(range(100), epoch=1)):
        assert any(not torch.equal(*pair) for pair in zip(whole, other, strict=True))


def drawn_zooms(size, scale=(0.08, 1.0), count=1000):
    return [zoomed(streams_of(0, 0, np.array([sample])), size, scale, flip=True) for sample in range(count)]


def test_zooms_are_spread_as_torchvisions():
    scale, image = (0.08, 1.0), torch.zeros(1, 300, 400)
    ours = np.array([[int(values) for values in cut[:4]] for cut in drawn_zooms((300, 400), scale)])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        rule = RandomResizedCrop(16, scale)
        theirs = np.array([rule.get_params(image, list(rule.scale), list(rule.ratio)) for _ in ours])
    for place in range(4):
        assert ks_2samp(ours[:, place], theirs[:, place]).pvalue > 0.01
    assert ks_2samp(ours[:, 2] * ours[:, 3], theirs[:, 2] * theirs[:, 3]).pvalue > 0.01
    assert ks_2samp(ours[:, 2] / ours[:, 3], theirs[:, 2] / theirs[:, 3]).pvalue > 0.01
    top, left, height, width = ours.T
    assert min(top.min(), left.min()) >= 0
    assert (top + height).max() <= 300
    assert (left + width).max() <= 400


@pytest.mark.parametrize(
    ("size", "expected"),
    [((10, 1000), (0, 493, 10, 13)), ((1000, 10), (493, 0, 13, 10)), ((1, 1), (0, 0, 1, 1))],
)
def test_images_too_narrow_for_any_try_give_their_middle(size, expected):
    for cut in drawn_zooms(size, (0.9, 1.0), 5):
        assert tuple(int(values) for values in cut[:4]) == expected


def test_a_zoom_is_cut_scaled_and_flipped_as_it_says():
    pixels = np.random.default_rng(0).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    for cut in drawn_zooms((40, 60), count=20):
        top, left, height, width, flip = (int(values) for values in cut)
        theirs = v2.resized_crop(image, top, left, height, width, [16, 16])
        assert (np.asarray(zoom(image, cut, 16)) == np.asarray(v2.horizontal_flip(theirs) if flip else theirs)).all()


@pytest.mark.parametrize("size", [8, 13, 32])
def test_batches_are_scaled_by_area(size):
    images = torch.rand(3, 3, 16, 16)
    scaled = rescaled(images, size)
    assert scaled.shape == (3, 3, size, size)
    assert (scaled.mean((2, 3)) - images.mean((2, 3))).abs().max() < 0.03
    assert rescaled(images, 16) is images

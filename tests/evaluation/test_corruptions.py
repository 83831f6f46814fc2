"""Corruptions follow their definitions, image by image, and do what others' implementations do with the same draws."""

import io
import sys
import types
import warnings

import numpy as np
import pytest
import torch
from PIL import Image
from scipy import ndimage, stats

from puzzlemix.data.synthetic import draw_scenes
from puzzlemix.evaluation.corruptions import (
    COMMON,
    CORRUPTIONS,
    DEFINITIONS,
    LEVELS,
    NOT_COMPARABLE,
    corrupt,
    corrupted,
)
from puzzlemix.evaluation.corruptions.jpeg import jpeg_compression
from puzzlemix.evaluation.corruptions.operators import sampled, truncated
from puzzlemix.evaluation.corruptions.severities import SEVERITIES, definition_for
from puzzlemix.evaluation.dice import Dice

WITHOUT_CHANCE = (
    "defocus_blur", "zoom_blur", "brightness", "contrast", "pixelate", "jpeg_compression", "gaussian_blur", "saturate",
)  # fmt: skip
EVERYTHING = [(name, severity) for name in CORRUPTIONS for severity in LEVELS]


@pytest.fixture(scope="module")
def pictures():
    return (draw_scenes(range(8), size=32).images / 255).contiguous()


def levels_of(images):
    """(B,C,H,W) in [0, 1] as (B,H,W,C) uint8."""
    return (images * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()


# ---- of all of them ----------------------------------------------------------------------------------------------


def test_there_are_nineteen_of_five_levels_in_three_sizes():
    assert len(CORRUPTIONS) == 19
    assert len(COMMON) == 15
    assert set(NOT_COMPARABLE) == {"frost"}
    for definition in DEFINITIONS:
        assert SEVERITIES[definition].keys() == CORRUPTIONS.keys()
        assert all(len(levels) == 5 for levels in SEVERITIES[definition].values())


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_befalls_an_image_is_its_own(pictures, name):
    before, state = pictures.clone(), torch.get_rng_state()
    whole = corrupt(pictures, name, 3, seed=1)
    assert torch.equal(pictures, before)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(corrupt(pictures, name, 3, seed=1), whole)
    for samples in (torch.tensor([6, 2]), torch.tensor([5])):
        part = corrupt(pictures[samples], name, 3, seed=1, samples=samples)
        # sums may be taken in another order in another batch: then by a hair, so that a level may differ
        torch.testing.assert_close(part, whole[samples], atol=1.01 / 255, rtol=0)
        assert (part != whole[samples]).float().mean() < 1e-3
    assert torch.equal(corrupt(pictures, name, 3, seed=2), whole) == (name in WITHOUT_CHANCE)


@pytest.mark.parametrize(("name", "severity"), EVERYTHING)
def test_any_size_and_any_channels(name, severity):
    generator = torch.Generator().manual_seed(0)
    for shape in ((1, 3, 40, 27), (2, 1, 32, 32), (1, 2, 9, 30), (1, 3, 4, 3)):
        images = torch.rand(shape, generator=generator)
        found = corrupt(images, name, severity)
        assert found.shape == images.shape
        assert found.min() >= 0
        assert found.max() <= 1
        torch.testing.assert_close(found * 255, (found * 255).round(), atol=1e-4, rtol=0)


# of the others the levels differ in kind
@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - {"saturate", "elastic_transform", "spatter"}))
def test_severities_grow(pictures, name):
    distances = torch.tensor([(corrupt(pictures, name, severity) - pictures).abs().mean() for severity in LEVELS])
    assert distances[0] > 0
    assert distances[4] > distances[0]
    assert (distances.diff() > -0.35 * distances.max()).all()


def test_black_white_and_flat_images_stay_finite():
    for value in (0.0, 1.0, 0.5):
        images = torch.full((2, 3, 16, 16), value)
        for name, severity in EVERYTHING:
            assert corrupt(images, name, severity).isfinite().all()


def test_dtypes_and_empty_batches(pictures):
    assert corrupt(pictures.double(), "snow", 2).dtype == torch.float64
    torch.testing.assert_close(corrupt(pictures.double(), "snow", 2).float(), corrupt(pictures, "snow", 2))
    assert corrupt(pictures[:0], "spatter", 1).shape == (0, 3, 32, 32)


def test_autocast_changes_nothing(pictures):
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(corrupt(pictures, "zoom_blur", 3), corrupt(pictures, "zoom_blur", 3))
        found = corrupt(pictures, "defocus_blur", 3)
    assert torch.equal(found, corrupt(pictures, "defocus_blur", 3))


def test_batches_are_numbered_on_or_bring_their_numbers(pictures):
    labels, whole = torch.arange(8), corrupt(pictures, "gaussian_noise", 2, seed=4)
    plain = [(pictures[:5], labels[:5]), (pictures[5:], labels[5:])]
    numbered = [(pictures[part], labels[part], torch.tensor(part), None) for part in ([1, 3], [0])]
    found = list(corrupted(plain, "gaussian_noise", 2, seed=4))
    assert torch.equal(torch.cat([images for images, _ in found]), whole)
    assert torch.equal(torch.cat([labels for _, labels in found]), labels)
    found = list(corrupted(numbered, "gaussian_noise", 2, seed=4))
    assert torch.equal(torch.cat([images for images, _ in found]), whole[[1, 3, 0]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "rain"}, "there is no corruption 'rain'"),
        ({"severity": 0}, "severity=0"),
        ({"definition": "mnist"}, "definition='mnist'"),
        ({"images": torch.zeros(3, 8, 8)}, r"pass floats \(B,C,H,W\)"),
        ({"images": torch.zeros(1, 3, 8, 8, dtype=torch.uint8)}, "uint8"),
        ({"images": torch.full((1, 3, 8, 8), 2.0)}, "before they are normalised"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        corrupt(**{"images": torch.zeros(1, 3, 8, 8), "name": "fog", "severity": 1, **arguments})


def test_the_nearest_published_size_counts():
    sizes = {(32, 32): "cifar", (28, 28): "cifar", (64, 64): "tiny-imagenet", (224, 224): "imagenet", (224, 64): None}
    assert [definition_for(*size) for size in sizes] == [name or "tiny-imagenet" for name in sizes.values()]


# ---- the random ones by their distributions ----------------------------------------------------------------------


@pytest.mark.parametrize("photons", [500, 50, 3])
def test_photons_are_poisson(photons):
    values = torch.tensor([0.0, 7, 128, 255]) / 255
    images = values[None, None, :, None].expand(1, 1, -1, 5000)
    dice = Dice.of_samples("test", samples=torch.tensor([0]))
    counts = (CORRUPTIONS["shot_noise"](images, photons, dice)[0, 0] * photons).round().numpy()
    assert (counts[0] == 0).all()
    for value, row in zip(values[1:].tolist(), counts[1:], strict=True):
        mean = value * photons
        edges = np.unique(stats.poisson(mean).ppf([0, 0.1, 0.3, 0.5, 0.7, 0.9, 1 - 1e-12]))
        expected = np.diff(stats.poisson(mean).cdf(edges), prepend=0)
        seen = np.histogram(row, np.concatenate([[-1], edges]) + 0.5)[0]
        keep = expected > 1e-3
        assert stats.chisquare(seen[keep], expected[keep] / expected[keep].sum() * seen[keep].sum()).pvalue > 0.001


def test_impulses_hit_their_share_half_of_them_white():
    found = corrupt(torch.full((20, 3, 32, 32), 100 / 255), "impulse_noise", 5)
    white, black = (found == 1).float().mean(), (found == 0).float().mean()
    assert abs(white - 0.035) < 0.003
    assert abs(black - 0.035) < 0.003
    assert ((found * 255).round().unique() == torch.tensor([0, 100, 255])).all()
    assert ((found == 1).any(1) & ~(found == 1).all(1)).any()  # channel by channel


# ---- beside Pillow, scipy and imagecorruptions -------------------------------------------------------------------


@pytest.mark.parametrize("size", [(32, 32), (64, 48), (33, 50)])
@pytest.mark.parametrize("quality", [80, 40, 7])
def test_jpeg_is_libjpegs(size, quality):
    images = (draw_scenes(range(20), size=64).images[:, :, : size[0], : size[1]] / 255).contiguous()
    found, theirs = levels_of(jpeg_compression(images, quality, None)).astype(int), []
    for image in levels_of(images):
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality)
        theirs.append(np.asarray(Image.open(file)).astype(int))
    # a number that is nearly half between two multiples may go to the other one, which a block of 8 x 8 shows
    apart = np.abs(np.stack(theirs) - found)
    assert apart.mean() < 0.45
    assert np.median(apart.reshape(20, -1).mean(1)) < 0.45
    assert (apart > 3).mean() < 0.02


@pytest.mark.parametrize("severity", LEVELS)
@pytest.mark.parametrize("definition", DEFINITIONS)
def test_pixels_are_pillows(pictures, definition, severity):
    found = levels_of(corrupt(pictures, "pixelate", severity, definition=definition))
    share = SEVERITIES[definition]["pixelate"][severity - 1]
    for image, ours in zip(levels_of(pictures), found, strict=True):
        small = Image.fromarray(image).resize((int(32 * share),) * 2, Image.Resampling.BOX)
        theirs = np.asarray(small.resize((32, 32), Image.Resampling.BOX)).astype(int)
        assert np.abs(theirs - ours).max() <= 1


def test_sampling_is_scipys(generator):
    images = torch.rand(1, 1, 9, 7, generator=generator)
    y, x = (torch.rand(1, 40, 40, generator=generator) * 40 - 15 for _ in range(2))
    for border in ("reflect", "mirror", "nearest"):
        theirs = ndimage.map_coordinates(images[0, 0].numpy(), [y[0].numpy(), x[0].numpy()], order=1, mode=border)
        np.testing.assert_allclose(sampled(images, y, x, border)[0, 0].numpy(), theirs, atol=1e-5)


class Tape:
    """Dice that remember what they gave."""

    def __init__(self, count):
        self._dice = Dice.of_samples("tape", samples=torch.arange(count))
        self.drawn = []

    def __getattr__(self, name):
        def draw(*shape, **limits):
            self.drawn.append(getattr(self._dice, name)(*shape, **limits))
            return self.drawn[-1]

        return draw


class Replay:
    """Stands in for numpy.random: gives one image's draws again."""

    def __init__(self, tape, sample, margin):
        self._draws = [drawn[sample].double().numpy() for drawn in tape.drawn]
        self._margin = margin
        self._moves = None

    def uniform(self, low, high, size=()):
        return self._next(size)

    def normal(self, size, loc=0.0, scale=1.0):
        return loc + scale * self._next(size)

    def randint(self, low, high, size):
        if self._moves is None:
            self._moves = self._next_moves(high)
        return next(self._moves)

    def _next(self, size):
        drawn = self._draws.pop(0)
        return (drawn.transpose(1, 2, 0) if drawn.ndim == 3 else drawn).reshape(size)

    def _next_moves(self, reach):
        while self._draws:
            right, down = (self._draws.pop(0).reshape(self._margin) for _ in range(2))
            for row in range(self._margin[0] - reach, reach, -1):
                for column in range(self._margin[1] - reach, reach, -1):
                    yield int(right[row, column]), int(down[row, column])


class NumPy:
    """NumPy as it was when imagecorruptions was written, with other random numbers."""

    float_ = np.float64

    def __init__(self, random):
        self.random = random

    def __getattr__(self, name):
        return getattr(np, name)


@pytest.fixture(scope="module")
def imagecorruptions():
    """The package, brought to life with today's NumPy, scikit-image and setuptools."""
    pytest.importorskip("cv2", exc_type=ImportError)
    filters = pytest.importorskip("skimage.filters", exc_type=ImportError)
    old = types.ModuleType("pkg_resources")
    old.resource_filename = lambda package, path: path
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setitem(sys.modules, "pkg_resources", old)
        module = pytest.importorskip("imagecorruptions.corruptions", exc_type=ImportError)

    def gaussian(image, sigma, multichannel=False, **options):
        return filters.gaussian(image, sigma, channel_axis=-1 if multichannel else None, **options)

    module.gaussian = gaussian
    return module


# those whose draws can be replayed, or that draw nothing; elastic_transform is another one there
REPLAYED = [name for name in CORRUPTIONS if name not in ("frost", "shot_noise", "impulse_noise", "elastic_transform")]


@pytest.mark.parametrize("severity", LEVELS)
@pytest.mark.parametrize("name", REPLAYED)
def test_it_is_imagecorruptions(imagecorruptions, monkeypatch, name, severity):
    count, size = 2, 72  # a multiple of every zoom: it cuts a corner where the definition cuts the middle
    images = (draw_scenes(range(count), size=size).images / 255).contiguous()
    tape = Tape(count)
    ours = truncated(CORRUPTIONS[name](images, SEVERITIES["imagenet"][name][severity - 1], tape))
    for sample, image in enumerate(levels_of(images)):
        monkeypatch.setattr(imagecorruptions, "np", NumPy(Replay(tape, sample, (size, size))))
        theirs = np.uint8(getattr(imagecorruptions, name)(Image.fromarray(image), severity))
        apart = np.abs(levels_of(ours)[sample].astype(int) - theirs)
        if name == "jpeg_compression":
            assert apart.mean() < 1
        else:
            assert (apart > 1).mean() < 0.005
            # it does not round snow before motion, nor anything after, so that half of the levels are one lower
            assert apart.mean() < (0.55 if name == "motion_blur" else 0.25)


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("severity", LEVELS)
def test_elastic_is_its_definition(definition, severity):
    """Three corners of a square move, and with them the image; then every pixel by blurred noise."""
    size = 64
    cv2 = pytest.importorskip("cv2", exc_type=ImportError)
    images = (draw_scenes(range(2), size=size).images / 255).contiguous()
    tape = Tape(2)
    level = SEVERITIES[definition]["elastic_transform"][severity - 1]
    ours = CORRUPTIONS["elastic_transform"](images, level, tape).permute(0, 2, 3, 1).numpy()
    alpha, sigma = (share * size for share in level[:2])
    for sample, image in enumerate(images.permute(0, 2, 3, 1).numpy()):
        corners, *noises = (drawn[sample].numpy() for drawn in tape.drawn)
        middle, half = size // 2, size // 3
        before = np.float32([[middle + half, middle + half], [middle + half, middle - half], [middle - half] * 2])
        matrix = cv2.getAffineTransform(before, before + corners)
        y, x = np.mgrid[:size, :size].astype(np.float64)
        back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))
        source = np.tensordot(back, np.stack([x, y, np.ones_like(x)]), axes=1)
        right, down = (alpha * ndimage.gaussian_filter(noise[0], sigma, mode="reflect", truncate=3) for noise in noises)
        for channel in range(3):
            warped = ndimage.map_coordinates(image[..., channel], source[[1, 0]], order=1, mode="mirror")
            theirs = ndimage.map_coordinates(warped, [y + down, x + right], order=1, mode="reflect")
            assert np.abs(ours[sample, ..., channel] - theirs).max() < 2e-3

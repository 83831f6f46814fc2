"""AugMix: its operations against torchvision's and by hand, its blend and its loss by their formulas."""

import math

import pytest
import torch
import torch.nn.functional as F
from torchvision.transforms.v2 import functional as TF

from puzzlemix.methods import Augment, AugMix, AugMixSettings, augment
from puzzlemix.methods.augment import OPERATIONS, AugmentDraw, apply, operate
from puzzlemix.methods.augmix import AugMixDraw, jensen_shannon


def bytes_of(count=6, height=16, width=20, channels=3, low=20, high=230):
    generator = torch.Generator().manual_seed(2)
    return torch.randint(low, high, (count, channels, height, width), dtype=torch.uint8, generator=generator)


def run(name, images, *levels):
    """One operation on all images, at one level each."""
    number = OPERATIONS.index(name)
    return operate(images, torch.full((len(images),), number), torch.tensor(levels).expand(len(images)))


def assert_bytes(result, expected):
    assert torch.equal((result * 255).round().to(torch.uint8), expected)


# ---- operations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(16, 20), (64, 48)])
def test_equalize_is_torchvisions(size):
    images = bytes_of(3, *size)
    images[0, 0] = 7  # a single value
    images[1] = images[1] // 64 * 64  # few
    assert_bytes(run("equalize", images / 255, 1.0), TF.equalize(images))


def test_autocontrast_is_torchvisions():
    images = bytes_of()
    images[0, 1] = 99
    torch.testing.assert_close(run("autocontrast", images / 255, 1.0), TF.autocontrast(images / 255))


@pytest.mark.parametrize(("level", "bits"), [(0.1, 4), (2.49, 4), (2.6, 3), (-2.6, 3), (9.9, 1)])
def test_posterize_is_torchvisions(level, bits):
    images = bytes_of()
    assert_bytes(run("posterize", images / 255, level), TF.posterize(images, bits))


@pytest.mark.parametrize(("level", "threshold"), [(0.01, 256), (2.0, 205), (-10.0, 0)])
def test_solarize_is_torchvisions(level, threshold):
    images = bytes_of()
    expected = torch.where(images.int() >= threshold, 255 - images, images)
    assert_bytes(run("solarize", images / 255, level), expected)
    if threshold < 256:
        assert torch.equal(expected, TF.solarize(images, threshold))


@pytest.mark.parametrize("level", [2.9, -2.9])
def test_rotate_is_torchvisions(level):
    images = bytes_of() / 255
    degrees = int(level * 3)
    expected = TF.rotate(images, -degrees, TF.InterpolationMode.BILINEAR)
    other_way = TF.rotate(images, degrees, TF.InterpolationMode.BILINEAR)
    result = run("rotate", images, level)
    assert min((result - turned).abs().max() for turned in (expected, other_way)) < 1e-4


def test_translations_shift_whole_pixels():
    images = bytes_of() / 255
    shifted = run("translate_x", images, 3.0)  # int(3 / 10 * 20 / 3) = 2 columns
    torch.testing.assert_close(shifted[..., :-2], images[..., 2:], atol=1e-5, rtol=0)
    assert (shifted[..., -2:] == 0).all()
    shifted = run("translate_y", images, -4.0)  # int(4 / 10 * 16 / 3) = 2 rows
    torch.testing.assert_close(shifted[:, :, 2:], images[:, :, :-2], atol=1e-5, rtol=0)
    assert (shifted[:, :, :2].abs() < 1e-5).all()


@pytest.mark.parametrize("name", ["shear_x", "shear_y"])
@pytest.mark.parametrize("level", [3.0, -3.0])
def test_shears_slant_rows_and_columns(name, level):
    images = bytes_of() / 255
    result, source = run(name, images, level), images
    if name == "shear_y":
        result, source = result.mT, source.mT
    height, width = source.shape[2:]
    expected = torch.zeros_like(source)
    for y in range(height):
        for x in range(width):
            place = x + level * 0.03 * (y + 0.5)
            left, share = math.floor(place), place % 1
            for column, weight in ((left, 1 - share), (left + 1, share)):
                if 0 <= column < width:
                    expected[:, :, y, x] += weight * source[:, :, y, column]
    torch.testing.assert_close(result, expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("level", [0.1, -3.0, 10.0])
def test_operations_stay_in_range_and_write_to_nothing(name, level):
    images = torch.rand(4, 3, 16, 16).contiguous(memory_format=torch.channels_last)
    before = images.clone()
    result = run(name, images, level)
    assert result.min() >= 0
    assert result.max() <= 1 + 1e-6
    assert result.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(images, before)


def test_each_image_has_an_operation_of_its_own():
    images = bytes_of(len(OPERATIONS) + 1) / 255
    operations = torch.arange(-1, len(OPERATIONS))
    levels = torch.linspace(-3, 3, len(operations))
    result = operate(images, operations, levels)
    assert torch.equal(result[0], images[0])
    for number, name in enumerate(OPERATIONS, start=1):
        assert torch.equal(result[number], run(name, images[number : number + 1], levels[number])[0])


# ---- the blend -----------------------------------------------------------------------------------------------------


def test_augment_by_its_formula():
    images = bytes_of(2) / 255
    rotate, solarize = OPERATIONS.index("rotate"), OPERATIONS.index("solarize")
    drawn = AugmentDraw(
        operations=torch.tensor([[[rotate, solarize], [solarize, -1]], [[-1, -1], [rotate, rotate]]]),
        levels=torch.full((2, 2, 2), 3.0),
        weights=torch.tensor([[0.2, 0.8], [0.5, 0.5]]),
        share=torch.tensor([0.6, 0.9]),
    )
    one = 0.2 * run("solarize", run("rotate", images, 3.0), 3.0) + 0.8 * run("solarize", images, 3.0)
    other = 0.5 * images + 0.5 * run("rotate", run("rotate", images, 3.0), 3.0)
    expected = torch.stack([0.4 * images[0] + 0.6 * one[0], 0.1 * images[1] + 0.9 * other[1]])
    torch.testing.assert_close(apply(images, drawn), expected)


def test_augment_is_a_function_of_the_generator(seeded):
    images = bytes_of() / 255
    before, state = images.clone(), torch.get_rng_state()
    first = augment(images, seeded())
    assert torch.equal(first, augment(images, seeded()))
    assert not torch.equal(first, augment(images, seeded(4)))
    assert torch.equal(images, before)
    assert torch.equal(torch.get_rng_state(), state)
    assert first.min() >= 0
    assert first.max() <= 1


def test_each_image_is_augmented_on_its_own(seeded):
    images = bytes_of() / 255
    drawn = Augment().draw(seeded(), 6)
    together = apply(images, drawn)
    for b in range(6):
        alone = apply(images[b : b + 1], AugmentDraw(*(part[b : b + 1] for part in drawn)))
        torch.testing.assert_close(alone[0], together[b])
    same = apply(images[:1].expand(6, -1, -1, -1), drawn)
    assert not torch.equal(same[0], same[1])


def test_half_precision_grey_and_empty_batches(seeded):
    images = torch.rand(4, 1, 9, 7)
    assert augment(images.bfloat16(), seeded()).dtype == torch.bfloat16
    assert augment(images[:0], seeded()).shape == (0, 1, 9, 7)


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_draws_keep_their_promises(seeded, alpha):
    drawn = Augment(alpha=alpha).draw(seeded(), 2000)
    assert drawn.operations.shape == drawn.levels.shape == (2000, 3, 3)
    torch.testing.assert_close(drawn.weights.sum(1), torch.ones(2000))
    assert abs(drawn.share.mean() - 0.5) < 0.03
    expected = 1 / math.sqrt(4 * (2 * alpha + 1))  # of Beta(alpha, alpha)
    assert abs(drawn.share.std() - expected) < 0.02
    used = drawn.operations >= 0
    assert not (used[..., 1:] & ~used[..., :-1]).any()
    lengths = used.sum(2).flatten().bincount() / 6000
    torch.testing.assert_close(lengths, torch.tensor([0, 1 / 3, 1 / 3, 1 / 3]), atol=0.03, rtol=0)
    shares = drawn.operations[used].bincount() / used.sum()
    torch.testing.assert_close(shares, torch.full((9,), 1 / 9), atol=0.02, rtol=0)
    assert 0.1 <= drawn.levels.abs().min() < 0.11
    assert 2.99 < drawn.levels.abs().max() <= 3
    assert abs((drawn.levels > 0).float().mean() - 0.5) < 0.02


@pytest.mark.parametrize(
    ("options", "words"),
    [({"width": 0}, "width=0"), ({"depth": 1.5}, "depth=1.5"), ({"alpha": -1}, "alpha=-1"), ({"severity": 11}, "11")],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        Augment(**options)


def test_bad_images_are_named(seeded):
    with pytest.raises(ValueError, match="uint8"):
        augment(bytes_of(), seeded())


# ---- the loss ------------------------------------------------------------------------------------------------------


def test_jensen_shannon_by_its_formula():
    logits = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    shares = logits.softmax(2)
    average = shares.mean(0)
    expected = sum(F.kl_div(average.log(), share, reduction="batchmean") for share in shares) / 3
    torch.testing.assert_close(jensen_shannon(*logits), expected)
    assert jensen_shannon(logits[0], logits[0], logits[0]).abs() < 1e-6


def test_jensen_shannon_of_sure_models_is_finite():
    logits = (1e4 * torch.eye(3)[:, None]).requires_grad_()
    divergence = jensen_shannon(*logits)
    torch.testing.assert_close(divergence, torch.tensor(math.log(3)))
    divergence.backward()
    assert logits.grad.isfinite().all()
    assert jensen_shannon(*logits.detach().half()).dtype == torch.float32


def test_augmix_by_its_formula(nets, batch, seeded):
    method = AugMix(5, AugMixSettings(weight=7.0))
    drawn = method.draw(seeded(), 8)
    step = method.apply(nets(), batch, drawn)
    logits = nets()(torch.cat([batch.images, apply(batch.images, drawn.first), apply(batch.images, drawn.second)]))
    clean, first, second = logits.split(8)
    expected = F.cross_entropy(clean, batch.labels) + 7.0 * jensen_shannon(clean, first, second)
    torch.testing.assert_close(step.loss, expected)
    torch.testing.assert_close(step.logits, clean)
    assert torch.equal(step.targets, F.one_hot(batch.labels, 5).float())


def test_the_two_views_differ(seeded):
    drawn = AugMix(5).draw(seeded(), 8)
    assert isinstance(drawn, AugMixDraw)
    assert not torch.equal(drawn.first.share, drawn.second.share)


def test_a_bad_weight_is_named():
    with pytest.raises(ValueError, match="weight=-1"):
        AugMixSettings(weight=-1)

"""Draws are spread as they should be, and are each image's own."""

import numpy as np
import pytest
import torch
from scipy import stats

from puzzlemix.data.draws import Streams, hashed
from puzzlemix.evaluation.dice import Dice

SAMPLES = torch.tensor([0, 5, 17, 2**40])


@pytest.fixture
def dice():
    return Dice.of_samples("test", 1, samples=torch.arange(50))


def test_uniform_numbers_are_uniform(dice):
    drawn = dice.uniform(40, 50, low=-3, high=5)
    assert drawn.shape == (50, 40, 50)
    assert drawn.dtype == torch.float32
    assert stats.kstest(drawn.flatten().numpy(), stats.uniform(-3, 8).cdf).pvalue > 0.01


def test_normal_numbers_are_normal_and_finite(dice):
    drawn = dice.normal(2000)
    assert drawn.isfinite().all()
    assert stats.kstest(drawn.flatten().numpy(), "norm").pvalue > 0.01
    assert drawn.abs().max() > 3.8  # of 100,000


def test_integers_take_every_value_evenly(dice):
    counts = torch.bincount(dice.integers(2000, low=-2, high=3).flatten() + 2)
    assert len(counts) == 5
    assert stats.chisquare(counts.numpy()).pvalue > 0.01


def test_rows_columns_and_draws_are_unrelated(dice):
    first, second = dice.uniform(2000).numpy(), dice.uniform(2000).numpy()
    related = np.corrcoef(np.concatenate([first[:10], second[:10]])) - np.eye(20)
    assert np.abs(related).max() < 0.1
    assert abs(np.corrcoef(first[:, :-1].ravel(), first[:, 1:].ravel())[0, 1]) < 0.02


def test_an_image_draws_the_same_in_any_batch():
    whole = Dice.of_samples("test", 1, samples=SAMPLES)
    parts = [Dice.of_samples("test", 1, samples=part) for part in SAMPLES.split(1)]
    for _ in range(2):
        assert torch.equal(whole.normal(3, 2), torch.cat([part.normal(3, 2) for part in parts]))
    assert not torch.equal(
        Dice.of_samples("test", 2, samples=SAMPLES).uniform(3), Dice.of_samples("test", 1, samples=SAMPLES).uniform(3)
    )


def test_the_words_are_those_of_the_data_sets():
    """Torch's signed integers do what numpy's unsigned ones do."""
    keys = hashed("scene", 3, SAMPLES.numpy())
    theirs = Streams(keys + np.uint64(0x9E3779B97F4A7C15)).uniform(100)  # ours begins at the next counter
    ours = Dice(torch.from_numpy(keys.view("int64"))).uniform(100).numpy()
    np.testing.assert_allclose(ours, theirs, atol=2**-23)


def test_a_generator_gives_other_dice_every_time(generator):
    images = torch.zeros(3, 1, 2, 2)
    first, second = (Dice.of_generator(generator, images).uniform(4) for _ in range(2))
    assert not torch.equal(first, second)
    assert torch.equal(Dice.of_generator(generator.manual_seed(0), images).uniform(4), first)

import numpy as np
import pytest
import torch
from scipy.stats import binom

from puzzlemix import PuzzleMixConfig
from puzzlemix.showing import Mixing, Pictures, energy_terms, mix_pictures, plan_cost, saliency_kept

LAM, SIZE, GRID = 0.4, 30, 5


def mixed_by(sample_count=3, lam=LAM, grid=GRID, **config):
    generator = torch.Generator().manual_seed(3)
    images = torch.rand(sample_count, 3, SIZE, SIZE, generator=generator)
    saliency = torch.rand(sample_count, SIZE, SIZE, generator=generator) ** 5
    mixing = Mixing(lam, grid, PuzzleMixConfig(**{"xi": 0.1, **config}))
    return mix_pictures(Pictures(images, ("a", "b", "c")[:sample_count]), saliency, mixing), mixing


@pytest.fixture(scope="module")
def found():
    return mixed_by(labels=4)


def second_weight(mix, sample):
    return 1 - mix.mixed.mask[sample].double().numpy()


def shares_of(mix, sample):
    pooled = mix.saliency[sample].double().reshape(GRID, SIZE // GRID, GRID, SIZE // GRID).mean((1, 3)).numpy()
    return pooled / pooled.sum()


@pytest.mark.parametrize("sample", [0, 2])
def test_hidden_saliency_is_each_pictures_where_the_other_is_shown(found, sample):
    mix, mixing = found
    z = second_weight(mix, sample)
    first, second = (shares_of(mix, place) for place in (sample, int(mix.mixed.index[sample])))
    assert energy_terms(mix, mixing, sample).saliency == pytest.approx((z * first + (1 - z) * second).sum(), rel=1e-5)


def test_label_smoothness_is_of_all_neighbours(found):
    mix, mixing = found
    z = second_weight(mix, 0)
    wanted = mixing.mix.beta / (16 * GRID) * sum((np.diff(z, axis=axis) ** 2).sum() for axis in (0, 1))
    assert energy_terms(mix, mixing).label_smoothness == pytest.approx(wanted, rel=1e-4)


def test_the_prior_is_binomial(found):
    mix, mixing = found
    top = mixing.mix.top
    wanted = -mixing.mix.eta / GRID**2 * binom.logpmf(np.rint(second_weight(mix, 0) * top), top, 1 - LAM).sum()
    assert energy_terms(mix, mixing).prior == pytest.approx(wanted, rel=1e-4)


def test_terms_without_weight_are_nothing():
    assert energy_terms(*mixed_by(gamma=0.0, eta=0.0))[2:] == pytest.approx((0, 0), abs=1e-9)
    assert energy_terms(*mixed_by(beta=0.0))[1:3] == pytest.approx((0, 0), abs=1e-9)


def test_the_mask_that_is_found_has_the_least_sum(found):
    mix, mixing = found
    other, _ = mixed_by(labels=4, beta=0.0, eta=0.0)
    assert sum(energy_terms(mix, mixing)) < sum(energy_terms(other, mixing))


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_a_mix_of_one_picture_alone_has_terms_too(lam):
    saliency, label_smoothness, data_smoothness, prior = energy_terms(*mixed_by(lam=lam))
    assert (saliency, label_smoothness, prior) == pytest.approx((1, 0, 0), abs=1e-5)
    assert data_smoothness > 0  # of the one picture with itself


@pytest.mark.parametrize("transport", ["paper", "exact", None])
@pytest.mark.parametrize("grid", [5, 7])
def test_saliency_is_kept_where_it_can_be_seen(transport, grid):
    mix, _ = mixed_by(transport=transport, grid=grid)
    maps = mix.saliency[:, None]
    nothing = torch.zeros_like(maps)
    first, second = mix.mixed.apply(maps, nothing)[0].sum(), mix.mixed.apply(nothing, maps)[0].sum()
    totals = maps.sum((1, 2, 3))
    wanted = float(first / totals[0]), float(second / totals[int(mix.mixed.index[0])])
    assert saliency_kept(mix) == pytest.approx(wanted, rel=0.05 if grid == 7 else 1e-4)  # 7 does not divide 30


def test_moving_shows_more_than_staying():
    mix, _ = mixed_by(xi=0.0)
    assert sum(saliency_kept(mix)) > sum(saliency_kept(mix, still=True))
    unmoved, _ = mixed_by(transport=None)
    assert saliency_kept(unmoved) == saliency_kept(unmoved, still=True)


def test_the_cost_of_the_plans_is_distance_less_what_is_gained(found):
    mix, mixing = found
    wanted = 0.0
    z = second_weight(mix, 0).ravel()
    sides = ((0, 1 - z, mix.mixed.first_source), (int(mix.mixed.index[0]), z, mix.mixed.second_source))
    for place, weight, source in sides:
        share, origin = shares_of(mix, place).ravel(), source[0].numpy()
        for target in range(GRID**2):
            away = np.subtract(divmod(origin[target], GRID), divmod(target, GRID))
            wanted += mixing.mix.xi * (away**2).sum() / (GRID - 1) ** 2 - share[origin[target]] * (weight[target] > 0)
    assert plan_cost(mix, mixing) == pytest.approx(wanted, rel=1e-4)


def test_without_transport_there_is_no_cost():
    assert plan_cost(*mixed_by(transport=None)) is None

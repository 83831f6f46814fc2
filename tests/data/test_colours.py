import numpy as np
import pytest
import torch
from torchvision.transforms.v2 import functional as v2

from puzzlemix.data.colours import Colours, drawn_colours, recoloured

SAMPLES = np.arange(3000)
CHANGES = (v2.adjust_brightness, v2.adjust_contrast, v2.adjust_saturation)


@pytest.fixture
def images(generator):
    """Neither bright nor dark, so that nothing is cut off on the way."""
    return torch.rand(6, 3, 9, 7, generator=generator) * 0.4 + 0.3


def test_jitter_is_torchvisions_in_the_order_drawn(images):
    colours = drawn_colours(0, 0, np.arange(6), 0.4, 0.0)
    changed = recoloured(images, colours)
    for row, image in enumerate(images):
        for kind in colours.order[row].tolist():
            image = CHANGES[kind](image, float(colours.factors[row, kind]))
        assert (changed[row] - image).abs().max() < 2e-3  # its weights of grey have four digits


def test_lighting_shifts_all_pixels_alike(images):
    still = Colours(torch.ones(6, 3), torch.arange(3).expand(6, 3), torch.linspace(-0.1, 0.1, 18).view(6, 3))
    assert torch.allclose(recoloured(images, still), images + still.shift[:, :, None, None])


def test_images_stay_in_their_range_and_are_not_written_to(images):
    before = images.clone()
    extreme = Colours(torch.full((6, 3), 3.0), torch.arange(3).expand(6, 3), torch.zeros(6, 3))
    changed = recoloured(images, extreme)
    assert float(changed.min()) >= 0
    assert float(changed.max()) == 1
    assert torch.equal(images, before)


def test_draws_are_spread_as_they_should_be():
    colours = drawn_colours(0, 0, SAMPLES, 0.4, 0.1)
    assert 0.6 <= float(colours.factors.min()) < 0.61
    assert 1.39 < float(colours.factors.max()) <= 1.4
    assert (colours.factors.mean(0) - 1).abs().max() < 0.02
    assert len(colours.order.unique(dim=0)) == 6
    assert colours.order.sort(1).values.unique(dim=0).tolist() == [[0, 1, 2]]
    # shifts are normal with the covariance of the colours of photographs, 0.1 of their spread
    covariance = colours.shift.double().T.cov()
    spreads, directions = torch.linalg.eigh(covariance)
    assert torch.allclose(spreads.sqrt().flip(0) * 10, torch.tensor([0.2175, 0.0188, 0.0045]).double(), rtol=0.06)
    assert abs(abs(float(directions[:, 2] @ torch.tensor([0.5675, 0.5808, 0.5836]).double())) - 1) < 1e-3
    fourth = ((colours.shift[:, 0] / colours.shift[:, 0].std()) ** 4).mean()
    assert abs(float(fourth) - 3) < 0.4


def test_a_draw_follows_from_seed_epoch_and_sample_alone():
    whole, part = drawn_colours(0, 0, SAMPLES, 0.4, 0.1), drawn_colours(0, 0, SAMPLES[[40, 7]], 0.4, 0.1)
    assert all(torch.allclose(values[[40, 7]], few) for values, few in zip(whole, part, strict=True))
    for other in (drawn_colours(1, 0, SAMPLES, 0.4, 0.1), drawn_colours(0, 1, SAMPLES, 0.4, 0.1)):
        assert not torch.equal(whole.factors, other.factors)

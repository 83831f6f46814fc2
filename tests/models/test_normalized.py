"""Normalisation as the first layer."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from puzzlemix.models import Normalized, build_model

MEAN, STD = (0.507, 0.487, 0.440), (0.267, 0.256, 0.276)


@pytest.fixture
def images():
    return torch.rand(4, 3, 16, 16, generator=torch.Generator().manual_seed(0))


def test_it_is_normalisation_by_hand(images):
    inner = build_model("preact_resnet18", 10, width=4, seed=0).eval()
    by_hand = (images - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)
    assert torch.equal(Normalized(inner, MEAN, STD)(images), inner(by_hand))


def test_gradients_are_taken_before_the_normalisation(images):
    """Chain rule: the gradient at images in [0, 1] is the one at normalised images divided by std."""
    inner = build_model("preact_resnet18", 10, width=4, seed=0).eval()
    model = Normalized(inner, MEAN, STD)
    outside = images.clone().requires_grad_()
    inside = ((images - model.mean) / model.std).requires_grad_()
    model(outside).sum().backward()
    inner(inside).sum().backward()
    assert outside.grad is not None
    assert inside.grad is not None
    assert_close(outside.grad * model.std, inside.grad)


@pytest.mark.parametrize("mean", [0.5, [0.5], torch.tensor(0.5), torch.full((3,), 0.5), (0.5, 0.5, 0.5)])
def test_one_number_or_one_per_channel(images, mean):
    assert_close(Normalized(nn.Identity(), mean, 0.5)(images), 2 * images - 1)


def test_a_single_number_fits_any_number_of_channels():
    grey = torch.rand(2, 1, 8, 8)
    assert_close(Normalized(nn.Identity(), 0.5, 0.5)(grey), 2 * grey - 1)


@pytest.mark.parametrize("shape", [(3, 3, 5), (2, 3, 1, 5), (2, 3, 4, 5), (2, 3, 2, 4, 5)])
def test_channels_are_the_second_dimension(shape):
    """Of signals too, and where the batch is as large as the channels are many."""
    inputs = torch.rand(shape)
    by_hand = [(inputs[:, channel] - MEAN[channel]) / STD[channel] for channel in range(3)]
    assert_close(Normalized(nn.Identity(), MEAN, STD)(inputs), torch.stack(by_hand, dim=1))


def test_the_state_dict_has_only_the_networks_names():
    inner = build_model("preact_resnet18", 10, width=4)
    model = Normalized(inner, MEAN, STD)
    assert list(model.state_dict()) == [f"model.{name}" for name in inner.state_dict()]


def test_buffers_follow_the_model(images):
    model = copy.deepcopy(Normalized(nn.Identity(), MEAN, STD)).to(torch.float64)
    assert model.mean.dtype == torch.float64
    assert model(images.double()).dtype == torch.float64
    assert Normalized(nn.Identity(), 0.5, 0.5).to("meta").mean.device.type == "meta"


def test_images_are_not_written_to(images):
    before = images.clone()
    Normalized(nn.Identity(), MEAN, STD)(images)
    assert torch.equal(images, before)


@pytest.mark.parametrize(
    ("mean", "std", "message"),
    [
        ((0.5, 0.5), (0.5, 0.5, 0.5), "differ in length"),
        ((), (), "differ in length"),
        (0.5, 0.0, "not positive"),
        (0.5, -1.0, "not positive"),
        (0.5, float("nan"), "not positive"),
        (0.5, float("inf"), "not positive"),
        (float("nan"), 0.5, "not finite"),
    ],
)
def test_wrong_numbers(mean, std, message):
    with pytest.raises(ValueError, match=message):
        Normalized(nn.Identity(), mean, std)


def test_wrong_images():
    model = Normalized(nn.Identity(), MEAN, STD)
    with pytest.raises(ValueError, match=r"\(2, 1, 8, 8\) have 1 channels, mean and std have 3"):
        model(torch.rand(2, 1, 8, 8))
    with pytest.raises(TypeError, match=r"torch\.uint8.*/ 255"):
        model(torch.zeros(2, 3, 8, 8, dtype=torch.uint8))


def test_it_prints_its_numbers():
    assert "mean=[0.5], std=[0.25]" in repr(Normalized(nn.Identity(), 0.5, 0.25))

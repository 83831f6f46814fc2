import pytest
import torch
from torch import nn

from puzzlemix.training.optimiser import OptimiserConfig, build_optimiser, set_rate


@pytest.fixture
def model():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Sequential(nn.Linear(4, 2), nn.LayerNorm(2)))


def decays(model, config):
    optimiser = build_optimiser(model, config, 0.1)
    names = {parameter: name for name, parameter in model.named_parameters()}
    return {names[p]: group["weight_decay"] for group in optimiser.param_groups for p in group["params"]}


def test_every_weight_decays(model):
    found = decays(model, OptimiserConfig(weight_decay=0.5))
    assert found == dict.fromkeys(dict(model.named_parameters()), 0.5)


def test_or_all_but_those_of_normalisation(model):
    found = decays(model, OptimiserConfig(weight_decay=0.5, norm_decay=False))
    assert {name for name, decay in found.items() if not decay} == {"1.weight", "1.bias", "2.1.weight", "2.1.bias"}


def test_frozen_weights_stay_out(model):
    model[0].weight.requires_grad_(False)
    assert "0.weight" not in decays(model, OptimiserConfig())


def test_a_step_is_that_of_the_formula():
    weight = nn.Parameter(torch.tensor([1.0]))
    model = nn.Module()
    model.weight = weight
    optimiser = build_optimiser(model, OptimiserConfig(0.9, nesterov=True, weight_decay=0.1), 1.0)
    set_rate(optimiser, 0.5)
    velocity, expected = 0.0, 1.0
    for gradient in (1.0, -2.0):
        weight.grad = torch.tensor([gradient])
        optimiser.step()
        pull = gradient + 0.1 * expected
        velocity = 0.9 * velocity + pull
        expected -= 0.5 * (pull + 0.9 * velocity)
    assert weight.item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"momentum": 1}, "momentum=1"),
        ({"momentum": 0}, "--no-nesterov"),
        ({"weight_decay": -1e-4}, "weight_decay=-0.0001"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        OptimiserConfig(**fields)

"""States of models whose weights are spread are plain, whole and exchangeable with those of other models."""

import copy

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.optim import SGD

from puzzlemix.training import sharding


class Staged(nn.Module):
    stage_names = ("first", "second")

    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4)), nn.Linear(4, 2)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, rows):
        return self.head(self.norm(self.second(self.first(rows))))


@pytest.fixture
def mesh(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield init_device_mesh("cpu", (1,), mesh_dim_names=("data_parallel",))
    torch.distributed.destroy_process_group()


@pytest.fixture
def plain():
    torch.manual_seed(0)
    return Staged()


def learn(model, steps=3):
    optimiser = SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(steps):
        optimiser.zero_grad()
        model(torch.rand(6, 4, generator=torch.Generator().manual_seed(step))).square().sum().backward()
        optimiser.step()
    return optimiser


def assert_equal(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        assert type(tensor) is torch.Tensor
        torch.testing.assert_close(tensor, theirs[name], rtol=1e-6, atol=1e-7)


def test_every_stage_and_the_rest_are_spread(mesh, plain):
    spread = sharding.shard(copy.deepcopy(plain), mesh)
    assert all(hasattr(parameter, "full_tensor") for parameter in spread.parameters())
    assert all(type(module).__name__.startswith("FSDP") for module in (spread, spread.first, spread.second))
    assert not type(spread.head).__name__.startswith("FSDP")


def test_states_go_from_spread_models_to_whole_ones_and_back(mesh, plain):
    spread, other = (sharding.shard(copy.deepcopy(plain), mesh) for _ in range(2))
    ours, theirs = learn(spread), learn(plain)
    states = sharding.model_state(spread), sharding.optimiser_state(ours)
    assert_equal(states[0], sharding.model_state(plain))
    for number, values in states[1]["state"].items():
        assert_equal(values, sharding.optimiser_state(theirs)["state"][number])

    resumed = SGD(other.parameters(), lr=0.1, momentum=0.9)
    sharding.load_model_state(other, sharding.model_state(plain))
    sharding.load_optimiser_state(resumed, sharding.optimiser_state(theirs))
    assert_equal(sharding.model_state(other), states[0])
    momenta = [values["momentum_buffer"] for values in resumed.state_dict()["state"].values()]
    assert len(momenta) == 8
    assert all(hasattr(momentum, "full_tensor") for momentum in momenta)


def test_a_model_without_known_stages_is_spread_as_one(mesh):
    spread = sharding.shard(nn.Sequential(nn.Linear(2, 2)), mesh)
    assert hasattr(spread[0].weight, "full_tensor")


def test_plain_tensors_are_left_as_they_are():
    weight = nn.Parameter(torch.ones(2))
    assert sharding.local(weight) is weight
    assert not sharding.whole(weight).requires_grad
    tensor = torch.zeros(2)
    assert sharding.part_like(tensor, weight) is tensor

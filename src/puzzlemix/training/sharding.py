"""Models whose weights are spread over processes (FSDP), and their tensors as a whole."""

import contextlib
from typing import Any

import torch
from torch import Tensor, nn

from ..models import stages


def shard(module: nn.Module, mesh: Any) -> nn.Module:
    """Spread the weights of every stage, where stages are known by name, and of the rest; done in place."""
    from torch.distributed.fsdp import fully_shard

    names = []
    with contextlib.suppress(ValueError):
        names = stages(module)
    for part in (*map(module.get_submodule, names), module):
        fully_shard(part, mesh=mesh["data_parallel"])
    return module


def whole(tensor: Tensor) -> Tensor:
    """The tensor without its autograd history; all of it where every process holds a part: then all must call."""
    tensor = tensor.detach()
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor  # pyright: ignore


def part_like(tensor: Tensor, model: Tensor) -> Tensor:
    """What this process holds of a whole tensor, if `model` is spread."""
    if not hasattr(model, "full_tensor"):
        return tensor
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(model, DTensor)
    placed = tensor.to(model.device)
    # every process has all of it: nothing needs to travel
    return distribute_tensor(placed, model.device_mesh, model.placements, src_data_rank=None)


def local(tensor: Tensor) -> Tensor:
    """The part of a spread tensor that this process holds, to be worked on in place; any other tensor as it is."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor  # pyright: ignore


def model_state(model: nn.Module) -> dict[str, Tensor]:
    """A state dict of whole tensors."""
    return {name: whole(tensor) for name, tensor in model.state_dict().items()}


def load_model_state(model: nn.Module, state: dict[str, Tensor]) -> None:
    """Go on from a `model_state`."""
    own = model.state_dict()
    model.load_state_dict({name: part_like(tensor, own.get(name, tensor)) for name, tensor in state.items()})


def optimiser_state(optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    """A state dict of whole tensors."""
    state = optimiser.state_dict()
    return state | {"state": {number: _each(whole, values) for number, values in state["state"].items()}}


def load_optimiser_state(optimiser: torch.optim.Optimizer, state: dict[str, Any]) -> None:
    """Go on from an `optimiser_state`."""
    weights = [weight for group in optimiser.param_groups for weight in group["params"]]
    parts = {
        number: _each(lambda tensor, weight=weights[number]: part_like(tensor, weight), values)
        for number, values in state["state"].items()
    }
    optimiser.load_state_dict(state | {"state": parts})


def _each(change: Any, values: dict[str, Any]) -> dict[str, Any]:
    return {name: change(value) if isinstance(value, Tensor) else value for name, value in values.items()}

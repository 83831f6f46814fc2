"""Weights to and from files: safetensors, and checkpoints laid out like the authors' `.pth.tar`."""

import os
import pickle
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from ..files import write_atomically
from .extras import require

# The network inside each kind of wrapper. By class name, so that none of their packages has to be imported.
_INSIDE = {
    "Normalized": "model",
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "OptimizedModule": "_orig_mod",
    "_FabricModule": "module",
}
_PREFIXES = ("module.", "_orig_mod.", "model.")
_SHOWN = 4


def save_weights(model: nn.Module, path: str | os.PathLike) -> None:
    """Write the network's parameters and buffers as safetensors; a file of that name is replaced at once or not at all.

    The names are those of the network itself, without the prefixes of wrappers (normalisation, DataParallel,
    `torch.compile`, Fabric).
    """
    write_weights(bare(model).state_dict(), path)


def write_weights(state: Mapping[str, Tensor], path: str | os.PathLike) -> None:
    """Write a network's state dict as safetensors; a file of that name is replaced at once or not at all."""
    to_bytes = require("safetensors.torch").save
    # Clones, because safetensors refuses tensors that share memory, as tied weights do.
    tensors = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in state.items()}
    write_atomically(Path(path), to_bytes(tensors, metadata={"format": "pt"}))


def load_weights(model: nn.Module, path: str | os.PathLike) -> None:
    """Load a safetensors file or a PyTorch checkpoint into the model, all of it or nothing.

    A checkpoint is a state dict, or a dict that holds one as `state_dict` or `model` beside anything else. It is read
    with `weights_only`: a file whose pickle calls for other than tensors and plain values is refused, and none of it
    runs. Prefixes of wrappers are dropped. What does not fit raises a ValueError that lists it.
    """
    network = bare(model)
    expected = network.state_dict()
    found = _without_prefixes(_read(Path(path)), expected)
    _check_fit(found, expected, f"{path} does not fit {type(network).__name__}")
    network.load_state_dict(found)


def bare(model: nn.Module) -> nn.Module:
    """The network itself, out of all wrappers."""
    while (attribute := _INSIDE.get(type(model).__name__)) is not None:
        model = getattr(model, attribute)
    return model


def _read(path: Path) -> dict[str, Tensor]:
    with open(path, "rb") as file:
        # A safetensors file starts with the length of its header in 8 bytes, and the header is JSON.
        is_safetensors = file.read(9)[8:] == b"{"
    content = _read_safetensors(path) if is_safetensors else _state_dict(_read_checkpoint(path))
    if not _is_state_dict(content):
        raise ValueError(
            f"{path} holds no weights: pass a state dict of dense tensors, or a dict with one as 'state_dict'"
        )
    return content


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    safetensors = require("safetensors.torch")
    try:
        return safetensors.load_file(path)
    except require("safetensors").SafetensorError as error:
        raise ValueError(f"{path} is damaged ({error}): copy or download it again") from error


def _read_checkpoint(path: Path):
    try:
        with torch.serialization.safe_globals(_IGNORED):
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # a damaged file can raise nearly anything, OSError too
        if isinstance(error, pickle.UnpicklingError) and (culprit := re.search(r"GLOBAL (\S+)", str(error))):
            # Not chained: torch's message goes on to advise switching the protection off.
            raise ValueError(
                f"{path} is refused, none of it was run: it asks for {culprit[1]}, and a weights file may hold only "
                "tensors and plain values: save its state dict alone, best as safetensors"
            ) from None
        raise ValueError(f"{path} is no PyTorch checkpoint, or a damaged one: copy or download it again") from error


def _state_dict(checkpoint):
    if isinstance(checkpoint, dict):
        for key in ("state_dict", "model"):
            if isinstance(checkpoint.get(key), dict):
                return checkpoint[key]
    return checkpoint


def _is_state_dict(content) -> bool:
    """Whether it maps names to tensors, at least one."""
    return (
        isinstance(content, dict)
        and len(content) > 0
        and all(isinstance(name, str) for name in content)
        and all(isinstance(tensor, Tensor) and _is_plain(tensor) for tensor in content.values())
    )


def _is_plain(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.device.type == "cpu" and not tensor.is_quantized


def _without_prefixes(found: dict[str, Tensor], expected: dict[str, Tensor]) -> dict[str, Tensor]:
    """Drop the wrappers' prefixes that all names of the file carry and the network's own names do not."""
    for prefix in _PREFIXES * 2:  # twice, as wrappers nest in either order
        everywhere = all(name.startswith(prefix) for name in found)
        if everywhere and not any(name.startswith(prefix) for name in expected):
            found = {name.removeprefix(prefix): tensor for name, tensor in found.items()}
    return found


def _check_fit(found: dict[str, Tensor], expected: dict[str, Tensor], complaint: str) -> None:
    problems = {
        "missing": [name for name in expected if name not in found],
        "unexpected": [name for name in found if name not in expected],
        "wrong shape": [
            f"{name} (file {tuple(found[name].shape)}, model {tuple(tensor.shape)})"
            for name, tensor in expected.items()
            if name in found and found[name].shape != tensor.shape
        ],
    }
    listed = "; ".join(f"{len(names)} {problem}: {_first(names)}" for problem, names in problems.items() if names)
    if listed:
        raise ValueError(f"{complaint}: {listed}. Build the model as the file's was: same name, classes and options")


def _first(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


class _Ignored:
    """Stands in for an object that is of no use here: it takes whatever the file says of it and keeps nothing."""

    def __init__(self, *arguments) -> None:
        pass

    def __new__(cls, *arguments):
        return super().__new__(cls)

    def __setstate__(self, state) -> None:
        pass


def _ignored(path: str) -> type[_Ignored]:
    module, _, name = path.rpartition(".")
    return type(name, (_Ignored,), {"__module__": module})


# The authors' CIFAR and Tiny-ImageNet checkpoints also hold a `recorder`: a class of their scripts around NumPy arrays
# of the training curve. These names, and no others, load as nothing. (Classes of the same name, not (class, name)
# pairs, which need torch 2.7.)
_IGNORED: list[Callable | tuple[Callable, str]] = [
    _ignored(path)
    for path in (
        "logger.RecorderMeter",
        "utils.RecorderMeter",
        "numpy.core.multiarray._reconstruct",
        "numpy._core.multiarray._reconstruct",
        "numpy.core.multiarray.scalar",
        "numpy._core.multiarray.scalar",
        "numpy.ndarray",
        "numpy.dtype",
    )
]

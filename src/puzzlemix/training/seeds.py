"""All randomness of a run as a function of (seed, epoch, step, rank): nothing depends on what was drawn before."""

import contextlib
from collections.abc import Iterator

import torch

from ..data.draws import generator_of, seed_of


def step_generator(seed: int, epoch: int, step: int, rank: int = 0, part: int = 0) -> torch.Generator:
    """A new CPU generator for one step (and one part of it, where gradients are accumulated)."""
    return generator_of("step", seed, epoch, step, rank, part)


def seed_layers(device: torch.device, seed: int, epoch: int, step: int, rank: int = 0) -> None:
    """Seed torch's global generators, which dropout and its like draw from and which cannot be passed to them."""
    number = seed_of("layers", seed, epoch, step, rank)
    # not torch.manual_seed: where there is no accelerator, it formats a whole stack trace each time
    torch.default_generator.manual_seed(number)
    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).manual_seed(number)


@contextlib.contextmanager
def global_state_kept(device: torch.device) -> Iterator[None]:
    """Give torch's global generators, the CPU's and the device's, their state back afterwards."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        yield

"""The processes of a run, as torchrun or SLURM started them: how many there are, and what they tell each other.

Gradients and weights travel by the strategy's own means. What is said here goes between the hosts, in a process group
of its own: it never waits for an accelerator, and is never mistaken for anything else.
"""

import inspect
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

import torch
import torch.distributed as dist
from lightning.fabric import Fabric
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from lightning.fabric.plugins.precision.amp import MixedPrecision
from lightning.fabric.plugins.precision.precision import Precision
from lightning.fabric.strategies.ddp import DDPStrategy
from lightning.fabric.strategies.model_parallel import ModelParallelStrategy
from lightning.fabric.strategies.single_device import SingleDeviceStrategy
from lightning.fabric.strategies.strategy import Strategy
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from .config import LoopConfig, MachineConfig
from .sharding import shard

Value = TypeVar("Value")

# Batch-norm's statistics are averaged after every step, by the engine. DistributedDataParallel would send those of the
# first process to the others; what switches that off has another name in newer versions of torch.
_BUFFERS = ("forward_sync_buffers", "broadcast_buffers")
_KNOWN = inspect.signature(DistributedDataParallel).parameters
_NO_BUFFERS: dict[str, Any] = {next(name for name in _BUFFERS if name in _KNOWN): False}
_FABRIC_NAMES = {"bf16": "bf16-mixed", "fp16": "16-mixed"}


class Count(NamedTuple):
    """How many processes there are on each machine, and how many machines."""

    devices: int
    nodes: int


def find_device(machine: MachineConfig) -> str:
    """The kind of device to train on."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if machine.device == "auto":
        return next(name for name, found in there.items() if found)
    if not there[machine.device]:
        raise ValueError(f"device={machine.device!r}: torch finds none here, pass --device auto")
    return machine.device


def count_processes() -> Count:
    """As many as torchrun or SLURM's srun started; else one."""
    if TorchElasticEnvironment.detect():
        devices = int(os.environ["LOCAL_WORLD_SIZE"])
        return Count(devices, int(os.environ["WORLD_SIZE"]) // devices)
    # a batch script, too, is told how many tasks there may be; only steps of srun have a number
    if "SLURM_STEP_ID" in os.environ and SLURMEnvironment.detect():
        nodes = int(os.environ.get("SLURM_NNODES", "1"))
        return Count(int(os.environ["SLURM_NTASKS"]) // nodes, nodes)
    return Count(1, 1)


def make_fabric(loop: LoopConfig, machine: MachineConfig) -> Fabric:
    """Lightning Fabric for the run's devices and precision; its processes meet when it is launched."""
    device, count = find_device(machine), count_processes()
    if loop.precision == "fp16" and machine.strategy == "fsdp":
        raise ValueError("precision='fp16' does not go with strategy='fsdp': pass --precision bf16")
    return Fabric(
        accelerator=device,
        devices=count.devices,
        num_nodes=count.nodes,
        strategy=_strategy(machine, count, device),
        plugins=[_precision(loop, device)],
    )


def _strategy(machine: MachineConfig, count: Count, device: str) -> Strategy:
    timeout = timedelta(seconds=machine.timeout)
    if count == (1, 1):
        return SingleDeviceStrategy(torch.device("cpu") if device == "cpu" else torch.device(device, 0))
    if machine.strategy == "fsdp":
        processes = count.devices * count.nodes
        return ModelParallelStrategy(shard, data_parallel_size=processes, tensor_parallel_size=1, timeout=timeout)
    return DDPStrategy(timeout=timeout, **_NO_BUFFERS)


def _precision(loop: LoopConfig, device: str) -> Precision:
    if loop.precision == "fp32":
        return Precision()
    return MixedPrecision(_FABRIC_NAMES[loop.precision], device)  # pyright: ignore[reportArgumentType]


class Team:
    """A process among those of a run; where it is the only one, nothing here costs anything."""

    def __init__(self, fabric: Fabric, timeout: float = 1800.0):
        """Join in: the fabric must have been launched."""
        self.fabric = fabric
        self.rank, self.size = fabric.global_rank, fabric.world_size
        self._group: Any = None
        if self.size > 1:
            self._group = dist.new_group(backend="gloo", timeout=timedelta(seconds=timeout))

    @property
    def first(self) -> bool:
        """Whether this is the process that writes and speaks."""
        return self.rank == 0

    def agree(self, *numbers: int) -> list[int]:
        """The largest of each number that any process said."""
        if self.size == 1:
            return list(numbers)
        heard = torch.tensor(numbers)
        dist.all_reduce(heard, dist.ReduceOp.MAX, group=self._group)
        return heard.tolist()

    def total(self, values: Tensor) -> Tensor:
        """The sum of all processes' values, on the CPU."""
        values = values.detach().cpu()
        if self.size > 1:
            values = values.clone()
            dist.all_reduce(values, group=self._group)
        return values

    def gather(self, value: Any) -> list[Any]:
        """The values of all processes, in all of them."""
        if self.size == 1:
            return [value]
        values = [None] * self.size
        dist.all_gather_object(values, value, group=self._group)
        return values

    def from_first(self, function: Callable[[], Value]) -> Value:
        """Call it in the first process: all have what it gives, or fail with its error."""
        if self.size == 1:
            return function()
        said: list[Any] = [None, None]
        error = None
        if self.first:
            try:
                said[0] = function()
            except Exception as failure:
                error, said[1] = failure, str(failure)
        dist.broadcast_object_list(said, src=0, group=self._group)
        if error is not None:
            raise error
        if said[1] is not None:
            raise ValueError(said[1])
        return said[0]

    def first_goes_ahead(self, function: Callable[[], Value]) -> Value:
        """Call it in the first process, then in the others: they find what it may have downloaded."""
        made: list[Value] = []
        self.from_first(lambda: made.append(function()))
        return made[0] if made else function()

    def average(self, tensors: list[Tensor]) -> None:
        """Replace tensors by their mean over all processes, where they are."""
        if self.size == 1 or not tensors:
            return
        flat = torch.cat([tensor.flatten() for tensor in tensors])
        dist.all_reduce(flat)
        flat /= self.size
        for tensor, mean in zip(tensors, flat.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(mean.view_as(tensor))


def start(loop: LoopConfig, machine: MachineConfig) -> Team:
    """Meet the other processes, if there are any."""
    fabric = make_fabric(loop, machine)
    fabric.launch()
    return Team(fabric, machine.timeout)

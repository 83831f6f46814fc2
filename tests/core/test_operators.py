"""Dispatch follows the tensor. A kernel of another device is called on CPU tensors, by its key."""

import re
from itertools import pairwise

import pytest
import torch

from puzzlemix.core import operators, triton_support

ELSEWHERE = ["MPS", "XPU", "HPU", "PrivateUse1"]
OPERATORS = ["mask_exact", "mask_swap", "transport_paper", "transport_exact", "blend"]
OPERATORS += ["share_saliency", "pose_mask", "show_labels", "mix_classes"]


def dispatched(name, key, *arguments):
    """What the kernel that is registered for a dispatch key makes of CPU tensors."""
    operator = getattr(torch.ops.puzzlemix, name).default
    return operator.redispatch(torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key)), *arguments)


def mask_problem():
    generator = torch.Generator().manual_seed(0)
    return [
        torch.randint(least, 9, shape, generator=generator, dtype=torch.int32)
        for least, shape in ((-8, (2, 3, 4, 1)), (0, (2, 2, 4)), (0, (2, 3, 3)))
    ]


REGISTERED = []  # names of operators, which cannot be taken back


@pytest.fixture
def halve():
    """An operator that says who ran it: the CPU halves, CUDA gives -1 and leaves more than two numbers to others."""

    def on_cuda(values):
        return NotImplemented if values.shape[0] > 2 else torch.full_like(values, -1)

    name = f"halve{len(REGISTERED)}"
    REGISTERED.append(name)
    operators.define(f"{name}(Tensor values) -> Tensor", lambda values: values / 2, torch.empty_like, on_cuda)
    return name


def test_each_device_has_its_kernel(halve, monkeypatch):
    monkeypatch.setattr(triton_support, "available", lambda: True)
    values = torch.tensor([2.0, 4.0])
    assert getattr(torch.ops.puzzlemix, halve)(values).tolist() == [1, 2]
    assert dispatched(halve, "CUDA", values).tolist() == [-1, -1]
    for key in ELSEWHERE:
        assert dispatched(halve, key, values).tolist() == [1, 2]


def test_what_a_cuda_kernel_does_not_take_goes_over_the_cpu(halve, monkeypatch):
    monkeypatch.setattr(triton_support, "available", lambda: True)
    assert dispatched(halve, "CUDA", torch.tensor([2.0, 4.0, 6.0])).tolist() == [1, 2, 3]


def test_without_triton_cuda_tensors_go_over_the_cpu_and_the_first_one_says_so(halve, monkeypatch):
    monkeypatch.setattr(triton_support, "INSTALLED", False)
    triton_support.available.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="Triton 3.4 or newer is missing.*pip install triton"):
            assert dispatched(halve, "CUDA", torch.tensor([2.0])).tolist() == [1]
        assert dispatched(halve, "CUDA", torch.tensor([4.0])).tolist() == [2]  # a second warning would be an error
    finally:
        triton_support.available.cache_clear()


@pytest.mark.parametrize("key", ELSEWHERE)
@pytest.mark.parametrize("solver", ["mask_exact", "mask_swap"])
def test_masks_of_other_devices_are_the_cpus(solver, key):
    problem = mask_problem()
    assert torch.equal(dispatched(solver, key, *problem), getattr(torch.ops.puzzlemix, solver)(*problem))


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_is_there_for_every_device(name):
    table = torch._C._dispatch_dump_table(f"puzzlemix::{name}")
    for key in ["CPU", "CUDA", *ELSEWHERE]:
        assert re.search(rf"^{key}: .*\[(kernel|default backend kernel)\]$", table, re.MULTILINE), key


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 31, 32, 33, 1023, 1024])
def test_power_of_two_is_the_next_one(number):
    powers = [2**exponent for exponent in range(11)]
    expected = 1 if number == 1 else next(high for low, high in pairwise(powers) if low < number <= high)
    assert triton_support.power_of_two(number) == expected


def test_an_unsolved_image_is_an_error_that_names_the_remedy():
    triton_support.require_solved(torch.ones(3, dtype=torch.int32), "mask")
    with pytest.raises(ValueError, match=r"mask did not end .* pass a problem that `solve_mask` accepts"):
        triton_support.require_solved(torch.tensor([1, 0, 1], dtype=torch.int32), "mask")

"""The GPU solver beside the CPU's, in Triton's interpreter. `test_gpu.py` runs this in a process of its own."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzlemix.core.mask import LABELS, MaskProblem, exact, gpu, solve_mask
from puzzlemix.core.mask.problem import BUDGET


def assert_the_cpus_labels(problem, launched=None):
    found = gpu.solve_on_gpu(*problem, launched)
    assert found.dtype == torch.int32
    assert torch.equal(found, solve_mask(problem))


def limits(top):
    """The largest step and the largest weight the solvers accept."""
    limit = 2 * BUDGET // (top + 1)
    return limit // top**2, limit // 8


def random_problem(size, top, step, weight, seed=0, images=2, extreme=False):
    """Steps in -step..step, rising, and weights in 0..weight; if extreme, only the ends of these ranges and 0."""
    rng = np.random.default_rng(seed)
    rows, cols = size

    def draw(least, most, *shape):
        values = rng.choice([least, 0, most], shape) if extreme else rng.integers(least, most + 1, shape)
        return torch.tensor(values, dtype=torch.int32)

    steps = draw(-step, step, images, rows, cols, top).sort(-1).values
    return MaskProblem(steps, draw(0, weight, images, rows - 1, cols), draw(0, weight, images, rows, cols - 1))


def typical(size, top, images=2, seed=0):
    """Integers like those of the paper's energy for a pair of peaky saliency maps."""
    rng = np.random.default_rng(seed)
    shares = rng.random((2, images, *size)) ** 3
    shares /= shares.sum((-2, -1), keepdims=True)
    scale = 1000 * size[0] * size[1]
    prior = np.arange(1 - top, top, 2) * 0.3 / size[0] / size[1] / top
    steps = ((shares[1] - shares[0])[..., None] / top + prior) * scale
    down = np.full((images, size[0] - 1, size[1]), 1.2 / 16 / size[1] * scale)
    across = np.full((images, size[0], size[1] - 1), 1.2 / 16 / size[0] * scale)
    return MaskProblem(*(torch.tensor(values.round().astype(np.int32)) for values in (steps, down, across)))


@settings(max_examples=25)
@given(
    size=st.sampled_from([(1, 1), (1, 2), (2, 2), (3, 2), (1, 33), (40, 1), (5, 7), (8, 9)]),
    top=st.integers(LABELS[0] - 1, LABELS[-1] - 1),
    scale=st.sampled_from([(2, 1), (9, 3), (1000, 2000), None]),
    extreme=st.booleans(),
    seed=st.integers(0, 99),
)
def test_labels_with_ties_of_all_kinds_and_the_largest_numbers(size, top, scale, extreme, seed):
    assert_the_cpus_labels(random_problem(size, top, *(scale or limits(top)), seed, extreme=extreme))


@pytest.mark.parametrize(
    ("size", "top"),
    [((2, 2), 2), ((4, 4), 2), ((8, 8), 2), ((16, 16), 1), ((16, 16), 2), ((16, 16), 7), ((11, 23), 3), ((1, 60), 2)],
)
def test_labels_of_problems_as_in_training(size, top):
    assert_the_cpus_labels(typical(size, top))


@pytest.mark.parametrize("size", [(32, 32), (1, 1024), (1024, 1)])
def test_labels_of_the_finest_grids(size):
    assert_the_cpus_labels(random_problem(size, 2, 1000, 200, images=1))


def test_ways_that_wind_through_the_whole_grid():
    """All excess in one corner, the deficit at the other end of a snake: each cell has one open way at most."""
    row, col = np.indices((8, 8))
    steps = 1000 * ((row + col == 0) - 1 * ((row == 7) & (col == 0)))
    turns = (col == np.where(row % 2 == 0, 7, 0))[:-1]
    problem = MaskProblem(
        torch.tensor(steps).int()[None, ..., None], torch.tensor(9 * turns).int()[None], torch.full((1, 8, 7), 9).int()
    )
    assert_the_cpus_labels(problem)


@pytest.mark.parametrize("launched", [gpu.Launch(1, 1, 1), gpu.Launch(4, 3, 5)])
def test_the_launch_changes_no_label(launched):
    assert_the_cpus_labels(typical((6, 7), 3), launched)


def test_inputs_of_any_layout_stay_as_they_are():
    problem = typical((5, 8), 3, images=3)
    views = MaskProblem(
        problem.steps.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0),
        problem.down.repeat_interleave(2, -1)[..., ::2],
        problem.across.transpose(1, 2).contiguous().transpose(1, 2),
    )
    assert not any(tensor.is_contiguous() for tensor in views)
    before = [tensor.clone() for tensor in views]
    assert_the_cpus_labels(views)
    assert all(map(torch.equal, views, before))


def test_an_empty_batch_has_no_labels():
    assert gpu.solve_on_gpu(*typical((3, 4), 2, images=0)).shape == (0, 3, 4)


def test_finer_grids_are_left_to_the_cpu():
    assert exact._on_cuda(*typical((1, gpu.CELLS + 1), 1, images=0)) is NotImplemented


def test_a_cut_that_does_not_end_is_an_error():
    with pytest.raises(ValueError, match=r"mask did not end within its steps .* pass a problem that `solve_mask` acc"):
        gpu.solve_on_gpu(*typical((8, 8), 2), rounds=2)


@pytest.mark.parametrize("kind", ["falling steps", "negative weights", "overflow"])
def test_hostile_problems_come_to_an_end(kind, monkeypatch):
    """What `solve_mask` would turn away, passed to the kernel nevertheless: whatever the labels, it does not hang."""
    problem = random_problem((8, 8), 3, 2**31 - 1, 2**31 - 1 if kind == "overflow" else 100)
    if kind == "falling steps":
        problem = problem._replace(steps=problem.steps.flip(-1) // 2**16)
    if kind == "negative weights":
        problem = problem._replace(steps=problem.steps // 2**16, down=-problem.down)
    monkeypatch.setattr(gpu, "require_solved", lambda *_: None)
    labels = gpu.solve_on_gpu(*problem, rounds=200)
    assert 0 <= labels.min() <= labels.max() <= 3

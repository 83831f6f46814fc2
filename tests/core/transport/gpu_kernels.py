"""The GPU solvers beside the CPU's, in Triton's interpreter. `test_gpu.py` runs this in a process of its own."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from puzzlemix.core.transport import exact, gpu, paper, solve_transport
from puzzlemix.core.transport.problem import BUDGET, TransportProblem, transport_problem

SIZES = [(1, 1), (1, 2), (2, 2), (3, 2), (1, 6), (4, 4)]
ON_GPU = {"paper": paper._on_cuda, "exact": exact._on_cuda}
EACH = pytest.mark.parametrize("solver", ON_GPU)


def drawn(rows, cols, peak=3.0, hidden=0.5, xi=0.8, top=2, batch=2, gain="weight"):
    """A problem like those of real images: a peaky saliency map and a mask."""
    generator = torch.Generator().manual_seed(rows)
    share = torch.rand(batch, rows, cols, generator=generator, dtype=torch.float64) ** peak
    weight = torch.randint(1, top + 1, share.shape, generator=generator)
    weight[torch.rand(share.shape, generator=generator) < hidden] = 0
    return transport_problem(share / share.sum((1, 2), keepdim=True), weight, xi, gain, top)


DRAWN = {
    "as in training": drawn(16, 16, gain="visible", batch=1),
    "peaky": drawn(8, 8, peak=12.0),
    "flat": drawn(8, 8, peak=0.0),
    "far": drawn(5, 4, xi=0.03, top=3),
    "one line": drawn(1, 34, xi=8.0),
    "more cells than lanes": drawn(17, 18, xi=3.0, batch=1, hidden=0.2),
    "fine": drawn(32, 32, batch=1, xi=20.0, hidden=0.1),
}


def assert_right(problem, solver):
    """Algorithm 1's limit is unique; of the exact plans all have the same cost."""
    found, expected = ON_GPU[solver](*problem[:5]), solve_transport(problem, solver)
    if solver == "paper":
        assert torch.equal(found, expected)
    assert torch.equal(problem.evaluate(found), problem.evaluate(expected))
    assert torch.equal(found.sort(1).values, torch.arange(found.shape[1]).expand_as(found))
    return found, expected


@EACH
@pytest.mark.parametrize("name", DRAWN)
def test_plans_of_drawn_problems(solver, name):
    problem = DRAWN[name]
    found, expected = assert_right(problem, solver)
    for level in range(1, int(problem.level_BN.max()) + 1):  # no two cells are alike: the same ones must be on show
        for there, plan, reference in zip(problem.level_BN == level, found, expected, strict=True):
            if name != "flat":
                assert plan[there].sort().values.tolist() == reference[there].sort().values.tolist()


@EACH
@settings(max_examples=10)
@given(
    size=st.sampled_from(SIZES),
    gains=st.sampled_from([1, 3, 50, BUDGET // 7]),
    distance=st.integers(1, 4),
    top=st.integers(0, 3),
    seed=st.integers(0, 99),
)
def test_plans_with_ties_of_all_kinds(solver, size, gains, distance, top, seed):
    rng = np.random.default_rng(seed)
    gain, level = (torch.from_numpy(rng.integers(0, most + 1, (2, size[0] * size[1]))) for most in (gains, top))
    assert_right(TransportProblem(gain, level, distance, *size), solver)


@EACH
@pytest.mark.parametrize("size", [(2, 2), (3, 3)])
def test_costs_as_large_as_the_budget(solver, size):
    generator = torch.Generator().manual_seed(0)
    gain = torch.randint(BUDGET // 7, (2, size[0] * size[1]), generator=generator)
    level = torch.randint(8, gain.shape, generator=generator)
    furthest = (size[0] - 1) ** 2 + (size[1] - 1) ** 2
    for distance in (1, BUDGET // furthest):
        assert_right(TransportProblem(gain, level, distance, *size), solver)


@EACH
def test_inputs_of_any_layout_stay_as_they_are(solver):
    problem = DRAWN["peaky"]
    views = problem._replace(gain_BN=problem.gain_BN.T.contiguous().T, level_BN=problem.level_BN.T.contiguous().T)
    before = views.gain_BN.clone(), views.level_BN.clone()
    assert_right(views, solver)
    assert torch.equal(views.gain_BN, before[0])
    assert torch.equal(views.level_BN, before[1])


@EACH
def test_an_empty_batch_has_an_empty_plan(solver):
    nothing = torch.zeros(0, 6, dtype=torch.long)
    assert ON_GPU[solver](nothing, nothing, 1, 2, 3).shape == (0, 6)


@EACH
def test_finer_grids_are_left_to_the_cpu(solver):
    nothing = torch.zeros(0, gpu.CELLS + 1, dtype=torch.long)
    assert ON_GPU[solver](nothing, nothing, 1, 1, gpu.CELLS + 1) is NotImplemented


@EACH
def test_a_search_that_does_not_end_is_an_error(solver, monkeypatch):
    problem = DRAWN["peaky"]
    plan_on_gpu = gpu.plan_on_gpu

    def give_up_soon(kernel, problem, limit, *room, **options):
        return plan_on_gpu(kernel, problem, 2, *room, **options)

    monkeypatch.setattr(gpu, "plan_on_gpu", give_up_soon)
    with pytest.raises(ValueError, match="transport did not end within its steps"):
        ON_GPU[solver](*problem[:5])


@pytest.mark.parametrize("lanes", [32])
def test_the_number_of_lanes_changes_nothing(lanes, monkeypatch):
    monkeypatch.setattr(gpu, "lanes_for", lambda cells, most: lanes)
    assert_right(DRAWN["fine"], "paper")

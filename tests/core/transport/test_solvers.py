import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from puzzlemix.core.transport import SOLVERS, board, exact, solve_transport
from puzzlemix.core.transport.problem import BUDGET, TransportProblem, transport_problem

SIZES = [(1, 1), (1, 2), (1, 7), (5, 1), (2, 2), (2, 3), (3, 3), (5, 2), (4, 4), (3, 6), (5, 5), (6, 6)]
EACH = pytest.mark.parametrize("solver", SOLVERS)


@st.composite
def problems(draw):
    """Small integers, so that there are ties of all kinds, or gains as long as real ones."""
    rows, cols = draw(st.sampled_from(SIZES))
    top = draw(st.integers(1, 3))
    long = draw(st.booleans())
    gain = st.integers(0, 1 << 37) if long else st.integers(0, draw(st.integers(0, 6)))
    distance = draw(st.integers(1, 1 << 36) if long else st.integers(1, 4))
    batch = draw(st.integers(1, 3))

    def tensor(values):
        cells = st.lists(values, min_size=batch * rows * cols, max_size=batch * rows * cols)
        return torch.tensor(draw(cells)).view(batch, rows * cols)

    return TransportProblem(tensor(gain), tensor(st.integers(0, top)), distance, rows, cols)


def drawn(rows, cols, peak=3.0, hidden=0.5, xi=0.8, top=2, batch=20, seed=0):
    """A problem like those of real images: a peaky saliency map and a mask."""
    generator = torch.Generator().manual_seed(seed)
    share = torch.rand(batch, rows, cols, generator=generator) ** peak
    weight = torch.randint(1, top + 1, share.shape, generator=generator)
    weight[torch.rand(share.shape, generator=generator) < hidden] = 0
    return transport_problem(share / share.sum((1, 2), keepdim=True), weight, xi, "weight", top)


DRAWN = {
    "peaky": drawn(8, 8),
    "very peaky": drawn(9, 7, peak=12.0),
    "flat": drawn(8, 8, peak=0.0),
    "near": drawn(8, 8, xi=10.0),
    "far": drawn(8, 8, xi=0.01, top=3),
    "mostly hidden": drawn(16, 16, hidden=0.85, batch=5),
    "mostly visible": drawn(16, 16, hidden=0.1, batch=5, top=1),
    "one line": drawn(1, 60),
}


def algorithm_1(cost):
    """The paper's Algorithm 1 word by word, until no row loses: which row each column gets."""
    cost = cost.copy()
    rows = np.arange(len(cost))
    large = 2 * (cost.max() - cost.min()) + 1
    while True:
        chosen = np.zeros(cost.shape, bool)
        chosen[rows, cost.argmin(1)] = True
        source = np.where(chosen, cost, cost.max() + large).argmin(0)
        winning = np.zeros(cost.shape, bool)
        winning[source, rows] = True
        losing = chosen & ~winning
        if not losing.any():
            return source
        cost[losing] += large


def optimal_cost(problem):
    dense = problem.cost().numpy()
    return torch.tensor([matrix[linear_sum_assignment(matrix)].sum() for matrix in dense])


def assert_permutations(source, problem):
    assert source.dtype == torch.int64
    cells = torch.arange(problem.rows * problem.cols)
    assert torch.equal(source.sort(1).values, cells.expand_as(source))


@given(problem=problems())
def test_paper_is_the_limit_of_algorithm_1(problem):
    source = solve_transport(problem, "paper")
    for plan, cost in zip(source, problem.cost().numpy(), strict=True):
        assert plan.tolist() == algorithm_1(cost).tolist()


@pytest.mark.parametrize("name", ["peaky", "flat", "far", "one line"])
def test_paper_is_the_limit_of_algorithm_1_on_larger_grids(name):
    problem = TransportProblem(*(part[:3] if isinstance(part, torch.Tensor) else part for part in DRAWN[name]))
    expected = [algorithm_1(cost) for cost in problem.cost().numpy()]
    assert solve_transport(problem, "paper").tolist() == np.stack(expected).tolist()


@given(problem=problems())
def test_exact_is_optimal_on_small_grids(problem):
    source = solve_transport(problem, "exact")
    assert_permutations(source, problem)
    assert torch.equal(problem.evaluate(source), optimal_cost(problem))


@pytest.mark.parametrize("name", DRAWN)
def test_exact_is_optimal_and_never_dearer_than_paper(name):
    problem = DRAWN[name]
    source = solve_transport(problem, "exact")
    assert_permutations(source, problem)
    cost = problem.evaluate(source)
    assert torch.equal(cost, optimal_cost(problem))
    assert (problem.evaluate(solve_transport(problem, "paper")) >= cost).all()


def test_exact_falls_back_to_a_dense_solver(monkeypatch):
    given_up = []

    def count(cost):
        given_up.append(len(cost))
        return solve_dense(cost)

    solve_dense = exact.solve_dense
    monkeypatch.setattr(exact, "solve_dense", count)
    hard = drawn(16, 16, peak=1.0, xi=0.001, top=7, batch=2)
    easy = drawn(16, 16, batch=2)._replace(distance=hard.distance)
    mixed = hard._replace(gain_BN=torch.cat([hard.gain_BN, easy.gain_BN // (1 << 20)]), level_BN=torch.cat([hard.level_BN, easy.level_BN]))
    source = solve_transport(mixed, "exact")
    assert given_up == [256, 256]
    assert_permutations(source, mixed)
    assert torch.equal(mixed.evaluate(source), optimal_cost(mixed))

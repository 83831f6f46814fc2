import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from puzzlemix.core.transport import SOLVERS, board, exact, solve_transport
from puzzlemix.core.transport.problem import BUDGET, TransportProblem, transport_problem

SIZES = [(1, 1), (1, 2), (1, 7), (5, 1), (2, 2), (2, 3), (3, 3), (5, 2), (4, 4), (3, 6), (5, 5), (6, 6)]
EACH = pytest.mark.parametrize("solver", SOLVERS)
OPERATORS = {"paper": torch.ops.puzzlemix.transport_paper.default, "exact": torch.ops.puzzlemix.transport_exact.default}


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
    problem = DRAWN[name]
    problem = problem._replace(gain_BN=problem.gain_BN[:3], level_BN=problem.level_BN[:3])
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
    mixed = hard._replace(
        gain_BN=torch.cat([hard.gain_BN, easy.gain_BN // (1 << 20)]), level_BN=torch.cat([hard.level_BN, easy.level_BN])
    )
    source = solve_transport(mixed, "exact")
    assert given_up == [256, 256]
    assert_permutations(source, mixed)
    assert torch.equal(mixed.evaluate(source), optimal_cost(mixed))


@EACH
@given(problem=problems())
def test_every_plan_is_a_permutation_and_inputs_stay_as_they_are(solver, problem):
    gain, level = problem.gain_BN.clone(), problem.level_BN.clone()
    assert_permutations(solve_transport(problem, solver), problem)
    assert torch.equal(problem.gain_BN, gain)
    assert torch.equal(problem.level_BN, level)


@EACH
@pytest.mark.parametrize("name", DRAWN)
def test_threads_and_neighbours_in_the_batch_change_nothing(solver, name, threads, monkeypatch):
    problem = DRAWN[name]
    monkeypatch.setattr(board, "CELLS_PER_THREAD", 1)
    threads(1)
    source = solve_transport(problem, solver)
    threads(2)
    assert torch.equal(solve_transport(problem, solver), source)
    alone = problem._replace(gain_BN=problem.gain_BN[2:3], level_BN=problem.level_BN[2:3])
    assert torch.equal(solve_transport(alone, solver), source[2:3])


@EACH
def test_how_visible_other_images_are_changes_nothing(solver):
    problem = DRAWN["peaky"]
    level = problem.level_BN.clone()
    level[0], level[1] = 0, level[1].clamp(max=1)
    source = solve_transport(problem._replace(level_BN=level), solver)
    assert source[0].tolist() == list(range(64))
    alone = problem._replace(gain_BN=problem.gain_BN[1:2], level_BN=level[1:2])
    assert torch.equal(solve_transport(alone, solver), source[1:2])


@EACH
def test_views_are_read_in_the_right_order(solver):
    problem = DRAWN["peaky"]
    transposed = problem._replace(gain_BN=problem.gain_BN.T.contiguous().T, level_BN=problem.level_BN.T.contiguous().T)
    source = solve_transport(transposed, solver)
    assert source.is_contiguous()
    assert torch.equal(source, solve_transport(problem, solver))


@EACH
@pytest.mark.parametrize("size", [(1, 1), (1, 6), (4, 1), (3, 4)])
@pytest.mark.parametrize("gain", [0, 1])
@pytest.mark.parametrize("level", [0, 1])
def test_everything_stays_home_where_all_cells_are_alike(solver, size, gain, level):
    cells = size[0] * size[1]
    alike = torch.ones(2, cells, dtype=torch.long)
    source = solve_transport(TransportProblem(gain * alike, level * alike, 1, *size), solver)
    assert torch.equal(source, torch.arange(cells).expand(2, -1))


@EACH
def test_an_empty_batch_has_an_empty_plan(solver):
    nothing = torch.zeros(0, 6, dtype=torch.long)
    assert solve_transport(TransportProblem(nothing, nothing, 1, 2, 3), solver).shape == (0, 6)


@pytest.mark.parametrize(("distance", "moving"), [(4, {"paper", "exact"}), (5, {"paper"}), (8, {"paper"}), (9, set())])
def test_exact_alone_counts_the_way_of_the_cell_that_gives_way(distance, moving):
    gain, level = torch.tensor([[0, 9, 0]]), torch.tensor([[0, 0, 1]])
    problem = TransportProblem(gain, level, distance, 1, 3)
    for solver in SOLVERS:
        assert solve_transport(problem, solver).tolist() == [[0, 2, 1] if solver in moving else [0, 1, 2]]


@EACH
@pytest.mark.parametrize("size", [(2, 2), (1, 64), (8, 8)])
def test_costs_as_large_as_the_budget_are_solved(solver, size):
    generator = torch.Generator().manual_seed(0)
    furthest = (size[0] - 1) ** 2 + (size[1] - 1) ** 2
    gain = torch.randint(BUDGET // 7, (3, size[0] * size[1]), generator=generator)
    level = torch.randint(8, gain.shape, generator=generator)
    problem = TransportProblem(gain, level, BUDGET // furthest, *size)
    assert_permutations(solve_transport(problem, solver), problem)
    assert (problem.evaluate(solve_transport(problem, "exact")) == optimal_cost(problem)).all()


@EACH
def test_operators_pass_torchs_checks(solver):
    gain_BN, level_BN, distance, rows, cols, _ = DRAWN["peaky"]
    torch.library.opcheck(OPERATORS[solver], (gain_BN[:2], level_BN[:2], distance, rows, cols))


@EACH
def test_tensors_elsewhere_take_a_detour_over_the_cpu(solver):
    problem = DRAWN["peaky"]
    elsewhere = torch._C.DispatchKeySet(torch._C.DispatchKey.XLA)  # the kernel that tensors of any other device get
    assert torch.equal(OPERATORS[solver].redispatch(elsewhere, *problem[:5]), solve_transport(problem, solver))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": 3}, "grid of 3x2: pass .B, 6. each"),
        ({"level_BN": torch.zeros(1, 3, dtype=torch.long)}, r"\(1, 4\) and \(1, 3\)"),
        ({"gain_BN": torch.zeros(1, 4)}, "torch.float32 and torch.int64: pass int64"),
        ({"distance": 0}, "distance 0 .* 2x2 grid: pass 1 to"),
        ({"distance": BUDGET}, f"distance {BUDGET}"),
        ({"gain_BN": torch.tensor([[0, 0, 0, -1]])}, "gains leave 0"),
        ({"gain_BN": torch.tensor([[0, 0, 0, BUDGET]])}, "gains leave 0"),
        ({"level_BN": torch.tensor([[0, 0, 0, 8]])}, "levels leave 0..7"),
        ({"level_BN": torch.tensor([[0, 0, 0, -1]])}, "levels leave 0..7"),
    ],
)
def test_bad_problems_are_named(change, words):
    zero = torch.zeros(1, 4, dtype=torch.long)
    with pytest.raises(ValueError, match=words):
        solve_transport(TransportProblem(zero, zero, 1, 2, 2)._replace(**change))


def test_unknown_solvers_are_named():
    with pytest.raises(ValueError, match=r"'greedy'.*'paper', 'exact'"):
        solve_transport(DRAWN["peaky"], "greedy")

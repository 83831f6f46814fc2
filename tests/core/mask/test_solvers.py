from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import maximum_flow

from puzzlemix.core.energy import MaskEnergy
from puzzlemix.core.mask import LABELS, SOLVERS, MaskProblem, solve_mask
from puzzlemix.core.mask.problem import BUDGET

FEW = 5000  # labellings that are quickly enumerated
SIZES = [(rows, cols) for rows in range(1, 13) for cols in range(1, 13) if rows * cols <= 12]


def limits(top):
    """The largest step and the largest weight the solvers accept."""
    limit = 2 * BUDGET // (top + 1)
    return limit // top**2, limit // 8


@st.composite
def problems(draw, convex, sizes=None, images=3):
    """Small numbers, so that there are ties of all kinds, or the largest ones there are."""
    top = draw(st.integers(LABELS[0], LABELS[-1])) - 1
    fitting = sizes or [size for size in SIZES if (top + 1) ** (size[0] * size[1]) <= FEW]
    rows, cols = draw(st.sampled_from(fitting))
    seed = draw(st.integers(0, 2**31))
    step, weight = draw(st.sampled_from([(2, 1), (9, 3), (1000, 2000), limits(top)]))
    extreme = draw(st.booleans())
    return random_problem((images, rows, cols, top), step, weight, seed, convex, extreme)


def random_problem(shape, step, weight, seed, convex=True, extreme=False):
    """Steps in -step..step and weights in 0..weight; if extreme, only the ends of these ranges and 0."""
    images, rows, cols, _ = shape
    rng = np.random.default_rng(seed)

    def draw(least, most, shape):
        values = rng.choice([least, 0, most], shape) if extreme else rng.integers(least, most + 1, shape)
        return torch.tensor(values, dtype=torch.int32)

    steps = draw(-step, step, shape)
    down, across = draw(0, weight, (images, rows - 1, cols)), draw(0, weight, (images, rows, cols - 1))
    return MaskProblem(steps.sort(-1).values if convex else steps, down, across)


def typical(size, top, images=20, seed=0):
    """Integers like those of the paper's energy for a pair of saliency maps."""
    rng = np.random.default_rng(seed)
    shares = rng.random((2, images, *size)) ** 3
    shares /= shares.sum((-2, -1), keepdims=True)
    scale = 1000 * size[0] * size[1]
    prior = np.arange(1 - top, top, 2) * 0.3 / size[0] / size[1] / top
    steps = ((shares[1] - shares[0])[..., None] / top + prior) * scale
    edges = [np.full((images, size[0] - part, size[1] - 1 + part), 1.2 / 16 / size[0] * scale) for part in (1, 0)]
    return MaskProblem(*(torch.tensor(values.round().astype(np.int32)) for values in (steps, *edges)))


def image_costs(problem, image, labels):
    """The objective as the definition has it, for labels (..,R,K) of one image: int64."""
    steps, down, across = (tensor[image].numpy().astype(np.int64) for tensor in problem)
    rows, cols, top = steps.shape
    total = np.zeros(labels.shape[:-2], np.int64)
    for row, col in product(range(rows), range(cols)):
        table = top**2 * np.concatenate([[0], steps[row, col].cumsum()])
        total += table[labels[..., row, col]]
        if row + 1 < rows:
            total += down[row, col] * (labels[..., row, col] - labels[..., row + 1, col]) ** 2
        if col + 1 < cols:
            total += across[row, col] * (labels[..., row, col] - labels[..., row, col + 1]) ** 2
    return total


def every_labelling(rows, cols, labels):
    """All (labels^(R K),R,K) of them."""
    return np.indices((labels,) * (rows * cols)).reshape(rows * cols, -1).T.reshape(-1, rows, cols)


def frontier_optimum(problem, image):
    """The least cost of any problem, cell by cell: all that matters of the past is the last label in each column."""
    steps, down, across = (tensor[image].numpy().astype(np.int64) for tensor in problem)
    rows, cols, top = steps.shape
    apart = np.subtract.outer(np.arange(top + 1), np.arange(top + 1)) ** 2
    best = np.zeros((top + 1,) * cols, np.int64)
    for row, col in product(range(rows), range(cols)):
        best = np.moveaxis(best, col, -1)
        weight = down[row - 1, col] if row else 0
        best = (best[..., None] + weight * apart).min(-2)  # the label above gives way to this cell's
        best = best + top**2 * np.concatenate([[0], steps[row, col].cumsum()])
        best = np.moveaxis(best, -1, col)
        if col:
            shape = [1] * cols
            shape[col - 1] = shape[col] = top + 1
            best = best + across[row, col - 1] * apart.reshape(shape)
    return best.min()


def flow_optimum(problem, image):
    """The least cost of a convex problem, by one maximum flow through a graph of one node per cell and label.

    (k - l)^2 = sum_st |[k >= s] - [l >= t]| - k (m - k) - l (m - l), and the last two are costs of a cell's own.
    """
    steps, down, across = (tensor[image].numpy().astype(np.int64) for tensor in problem)
    rows, cols, top = steps.shape
    cell = np.arange(rows * cols).reshape(rows, cols)
    near = np.concatenate([cell[:-1].ravel(), cell[:, :-1].ravel()])
    far = np.concatenate([cell[1:].ravel(), cell[:, 1:].ravel()])
    weight = np.concatenate([down.ravel(), across.ravel()])
    around = np.bincount(near, weight, cell.size) + np.bincount(far, weight, cell.size)
    levels = np.arange(top)
    own = top**2 * steps.reshape(-1, top) - around.astype(np.int64)[:, None] * (top - 1 - 2 * levels)
    node = cell.reshape(-1, 1) * top + levels
    source, sink = node.size, node.size + 1
    arcs = [(source, node, own.clip(min=0)), (node, sink, (-own).clip(min=0))]
    for one, other in product(levels, levels):
        arcs += [(node[near, one], node[far, other], weight), (node[far, other], node[near, one], weight)]
    tails, heads, capacities = (
        np.concatenate([np.broadcast_to(arc[part], arc[2].shape).ravel() for arc in arcs]) for part in range(3)
    )
    graph = coo_array((capacities.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1)).tocsr()
    return maximum_flow(graph, source, sink).flow_value + own.clip(max=0).sum()


def plain_swap(problem, image):
    """Alpha-beta swap by enumeration: every move takes the best, and of several the smallest, set of cells."""
    rows, cols, top = problem.steps.shape[1:]
    labels = np.zeros((rows, cols), np.int64)
    improved = True
    while improved:
        improved = False
        for low in range(top):
            for high in range(top, low, -1):
                moves = pair_moves(labels, low, high)
                costs = image_costs(problem, image, moves)
                best = moves[costs == costs.min()].min(0)
                if costs.min() < image_costs(problem, image, labels):
                    labels, improved = best, True
    return labels


def pair_moves(labels, low, high):
    """All labellings that differ from `labels` only in which of its low and high cells are low and which are high."""
    own = np.flatnonzero((labels == low) | (labels == high))
    moves = np.repeat(labels.reshape(1, -1), 2 ** len(own), 0)
    moves[:, own] = list(product((low, high), repeat=len(own)))
    return moves.reshape(-1, *labels.shape)


def solved_costs(problem, solver):
    return problem.evaluate(solve_mask(problem, solver)).tolist()


@given(problems(convex=True))
def test_exact_finds_the_smallest_of_all_optimal_labellings(problem):
    found = solve_mask(problem).numpy()
    images, rows, cols, top = problem.steps.shape
    labellings = every_labelling(rows, cols, top + 1)
    for image in range(images):
        costs = image_costs(problem, image, labellings)
        np.testing.assert_array_equal(found[image], labellings[costs == costs.min()].min(0))


@given(problems(convex=True, sizes=[(4, 4), (4, 3), (3, 4), (9, 3), (25, 2), (2, 5)], images=2))
def test_exact_meets_the_optimum_of_a_dynamic_program(problem):
    assert solved_costs(problem, "exact") == [frontier_optimum(problem, image) for image in range(2)]


@pytest.mark.parametrize(
    ("size", "top"),
    [((16, 16), 1), ((32, 32), 1), ((16, 16), 2), ((8, 8), 3), ((40, 7), 1), ((1, 300), 2), ((60, 1), 4)],
)
def test_exact_meets_the_optimum_of_a_maximum_flow(size, top):
    for problem in (typical(size, top, 3), random_problem((3, *size, top), 500, 1000, seed=3)):
        assert solved_costs(problem, "exact") == [flow_optimum(problem, image) for image in range(3)]


@given(problems(convex=False))
def test_swap_is_the_plain_swap(problem):
    found = solve_mask(problem, "swap").numpy()
    for image in range(len(found)):
        np.testing.assert_array_equal(found[image], plain_swap(problem, image))


@given(problems(convex=False, sizes=[(3, 3), (2, 5), (11, 1), (1, 12)]))
def test_no_swap_of_two_labels_improves_on_swap(problem):
    found = solve_mask(problem, "swap").numpy()
    for image, labels in enumerate(found):
        reached = image_costs(problem, image, labels)
        for low, high in product(range(problem.top + 1), repeat=2):
            assert image_costs(problem, image, pair_moves(labels, low, high)).min() >= reached


@given(problems(convex=False, sizes=[(4, 4), (9, 3), (3, 3)], images=2))
def test_swap_never_beats_the_optimum_nor_loses_to_its_start(problem):
    for image, cost in enumerate(solved_costs(problem, "swap")):
        assert frontier_optimum(problem, image) <= cost <= 0


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (5, 7), (16, 16), (32, 32)])
def test_swap_of_two_labels_is_exact(size):
    for problem in (typical(size, 1), random_problem((20, *size, 1), 3, 2, seed=1)):
        assert torch.equal(solve_mask(problem, "swap"), solve_mask(problem, "exact"))


def test_swap_comes_near_the_optimum_of_a_typical_problem():
    problem = typical((16, 16), 2)
    exact, swap = (problem.evaluate(solve_mask(problem, solver)).double() for solver in ("exact", "swap"))
    assert (swap >= exact).all()
    assert ((swap - exact) / exact.abs()).mean() < 0.05


@pytest.mark.parametrize("top", [1, 2, 7])
@pytest.mark.parametrize("size", [(16, 16), (5, 9), (1, 30)])
def test_the_largest_numbers_do_not_overflow(size, top):
    """Dividing all numbers by 16 must not change a label."""
    step, weight = limits(top)
    for seed, extreme in product(range(3), (False, True)):
        small = random_problem((16, *size, top), step // 16, weight // 16, seed, extreme=extreme)
        large = MaskProblem(*(16 * tensor for tensor in small))
        for solver in SOLVERS:
            assert torch.equal(solve_mask(large, solver), solve_mask(small, solver))


@pytest.mark.parametrize("solver", SOLVERS)
def test_ties_keep_the_first_image(solver):
    nothing = random_problem((17, 3, 5, 2), 0, 4, seed=0)
    assert not solve_mask(nothing, solver).any()
    no_weights = random_problem((5, 4, 4, 3), 2, 0, seed=0)
    expected = (no_weights.steps < 0).sum(-1)
    assert torch.equal(solve_mask(no_weights, "exact"), expected.int())
    assert torch.equal(no_weights.evaluate(solve_mask(no_weights, "swap")), no_weights.evaluate(expected))


@pytest.mark.parametrize("labels", LABELS)
def test_every_quantised_energy_is_accepted(labels):
    generator = torch.Generator().manual_seed(labels)

    def random(*shape):
        return torch.rand(shape, generator=generator)

    for flat, edge in product((0, 1e-6, 1), (0, 1, 1e6)):
        prior = torch.linspace(-1, 1, labels).square().repeat(9, 1)
        prior[0, 1:] = torch.inf
        prior[1, :-1] = torch.inf
        energy = MaskEnergy(
            flat * random(9, 4, 5), flat * random(9, 4, 5), prior, edge * random(9, 3, 5), edge * random(9, 4, 4)
        )
        problem = energy.problem()
        found = solve_mask(problem)
        assert (found[0] == 0).all()
        assert (found[1] == labels - 1).all()
        assert (problem.evaluate(solve_mask(problem, "swap")) >= problem.evaluate(found)).all()


def test_evaluate_follows_the_definition():
    problem = random_problem((3, 3, 4, 2), 100, 100, seed=0)
    labels = np.random.default_rng(0).integers(0, 3, (3, 3, 4))
    costs = [image_costs(problem, image, labels[image]) for image in range(3)]
    assert problem.evaluate(torch.tensor(labels)).tolist() == costs

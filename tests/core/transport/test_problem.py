import pytest
import torch

from puzzlemix.core.transport.problem import BUDGET, transport_problem


def shares_and_weights(rows, cols, top=2, batch=3, dtype=torch.float32):
    generator = torch.Generator().manual_seed(rows * cols)
    share = torch.rand(batch, rows, cols, generator=generator, dtype=torch.float64) ** 3
    weight = torch.randint(0, top + 1, (batch, rows, cols), generator=generator)
    return (share / share.sum((1, 2), keepdim=True)).to(dtype), weight


def real_cost(share, weight, xi, gain, top):
    """C' by its definition, in float64: (B,N,N)."""
    rows, cols = share.shape[1:]
    row, col = torch.arange(rows * cols) // cols, torch.arange(rows * cols) % cols
    away = (row[:, None] - row) ** 2 + (col[:, None] - col) ** 2
    seen = (weight > 0).double() if gain == "visible" else weight.double() / top
    distance = xi * away.double() / max(rows - 1, cols - 1, 1) ** 2
    return distance - share.double().flatten(1)[:, :, None] * seen.flatten(1)[:, None, :]


@pytest.mark.parametrize("gain", ["visible", "weight"])
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (4, 1), (3, 5), (16, 16)])
@pytest.mark.parametrize("xi", [0.0, 0.8, 30.0])
def test_integers_are_the_cost_up_to_rounding(size, gain, xi):
    share, weight = shares_and_weights(*size, top=3)
    problem = transport_problem(share, weight, xi, gain, 3)
    assert problem.gain_BN.dtype == problem.level_BN.dtype == torch.int64
    expected = real_cost(share, weight, xi, gain, 3)
    torch.testing.assert_close(problem.cost().double() / problem.scale, expected, rtol=1e-9, atol=1e-9)


def test_evaluate_and_plan_cost_sum_the_cost_of_the_moves():
    share, weight = shares_and_weights(4, 3)
    problem = transport_problem(share, weight, 0.8, "weight", 2)
    source = torch.stack([torch.randperm(12, generator=torch.Generator().manual_seed(b)) for b in range(3)])
    moves = problem.cost().gather(1, source[:, None, :])[:, 0]
    assert torch.equal(problem.evaluate(source), moves.sum(1))
    real = real_cost(share, weight, 0.8, "weight", 2).gather(1, source[:, None, :]).sum((1, 2))
    torch.testing.assert_close(problem.plan_cost(source), real, rtol=1e-9, atol=1e-9)


def test_float32_shares_lose_nothing():
    share, weight = shares_and_weights(8, 8)
    share = share.clamp(min=2.0**-16)
    problem = transport_problem(share, weight, 0.8, "visible", 2)
    assert torch.equal(problem.gain_BN.double() / problem.scale, share.double().flatten(1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_every_float_type_is_read(dtype):
    share, weight = shares_and_weights(4, 4, dtype=dtype)
    problem = transport_problem(share, weight, 0.8, "visible", 2)
    assert torch.equal(problem.gain_BN, (share.double() * problem.scale).floor().long().flatten(1))


@pytest.mark.parametrize("xi", [127.0, 1e4, 1e30, 1e308])
@pytest.mark.parametrize("top", [1, 7])
def test_no_xi_overflows(xi, top):
    share, weight = shares_and_weights(64, 64, top, batch=1)
    problem = transport_problem(share, weight, xi, "weight", top)
    assert problem.distance * 2 * 63**2 <= BUDGET
    assert problem.distance / problem.scale == pytest.approx(xi / 63**2)
    home = torch.arange(64 * 64)[None]
    assert problem.evaluate(home.flip(1)) > problem.evaluate(home)


def test_a_move_is_never_free():
    share, weight = shares_and_weights(4, 4)
    assert transport_problem(share, weight, 0.0, "visible", 2).distance == 1


def test_an_empty_batch_is_a_problem_too():
    problem = transport_problem(torch.zeros(0, 3, 2), torch.zeros(0, 3, 2, dtype=torch.long), 0.8, "visible", 2)
    assert problem.gain_BN.shape == problem.level_BN.shape == (0, 6)


@pytest.mark.parametrize(
    ("gain", "xi", "words"),
    [
        ("most", 0.8, "'most'.*'visible', 'weight'"),
        *[("visible", xi, f"xi {xi}") for xi in (-1.0, float("inf"), float("nan"))],
    ],
)
def test_bad_arguments_are_named(gain, xi, words):
    with pytest.raises(ValueError, match=words):
        transport_problem(*shares_and_weights(2, 2), xi, gain, 2)

import pytest
import torch
from scipy.optimize import linear_sum_assignment

from puzzlemix.core.transport import solve_transport
from puzzlemix.experiments.assignment import READINGS, measure, random_problem


@pytest.mark.parametrize("reading", READINGS)
def test_costs_are_those_of_the_paper(reading):
    generator = torch.Generator().manual_seed(0)
    problem = random_problem(reading, 16, generator)
    share = torch.rand(1, 4, 4, generator=generator.manual_seed(0))
    visible = torch.rand(1, 4, 4, generator=generator) < 0.5
    share = share / share.sum() if reading == "sum to 1" else share
    cell = torch.arange(16)
    away = ((cell[:, None] // 4 - cell // 4) ** 2 + (cell[:, None] % 4 - cell % 4) ** 2) / 9
    expected = away - share.flatten()[:, None] * visible.flatten()
    torch.testing.assert_close((problem.cost()[0] / problem.scale).float(), expected.float(), atol=1e-6, rtol=0)


def test_the_error_lies_between_the_best_plan_and_a_random_one():
    rows = measure(4, torch.Generator().manual_seed(0), sizes=(4, 64))
    assert [(row.reading, row.cells) for row in rows] == [(reading, n) for reading in READINGS for n in (4, 64)]
    assert all(0 <= row.error < 0.2 and row.paper > 0 and row.scipy > 0 for row in rows)
    assert rows[1].error > 0


def test_our_exact_plan_costs_what_scipys_does():
    problem = random_problem("raw", 64, torch.Generator().manual_seed(3))
    rows, columns = linear_sum_assignment(problem.cost()[0].numpy())
    assert problem.evaluate(solve_transport(problem, "exact")).item() == problem.cost()[0][rows, columns].sum().item()

import pytest
import torch
from scipy.optimize import linear_sum_assignment

from puzzlemix.core.transport import solve_transport
from puzzlemix.experiments.assignment import (
    READINGS,
    REAL,
    measure,
    measure_real,
    random_problems,
    real_problems,
)
from puzzlemix.experiments.lambda_curves import Pairs


def pairs(count=6):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, 3, 32, 32, generator=generator)
    saliency = torch.rand(count, 32, 32, generator=generator) ** 8
    return Pairs(images, torch.zeros(count, dtype=torch.long), saliency, torch.arange(count).roll(1))


@pytest.mark.parametrize("reading", READINGS)
def test_costs_are_those_of_the_paper(reading):
    generator = torch.Generator().manual_seed(0)
    problem = random_problems(reading, 16, 2, generator)
    share = torch.rand(2, 4, 4, generator=generator.manual_seed(0))
    visible = torch.rand(2, 4, 4, generator=generator) < 0.5
    share = share / share.sum((1, 2), keepdim=True) if reading == "sum to 1" else share
    cell = torch.arange(16)
    away = ((cell[:, None] // 4 - cell // 4) ** 2 + (cell[:, None] % 4 - cell % 4) ** 2) / 9
    expected = away - share.view(2, 16, 1) * visible.view(2, 1, 16)
    torch.testing.assert_close((problem.cost() / problem.scale).float(), expected.float(), atol=1e-6, rtol=0)


def test_the_error_lies_between_the_best_plan_and_a_random_one():
    rows = measure(4, torch.Generator().manual_seed(0), sizes=(4, 64))
    assert [(row.costs, row.cells) for row in rows] == [(reading, n) for reading in READINGS for n in (4, 64)]
    assert all(0 <= row.error < 0.2 and row.algorithm_1 > 0 and row.scipy > 0 for row in rows)
    assert rows[1].error > 0


def test_real_problems_are_those_of_the_mix():
    problem = real_problems([pairs(), pairs()], 64, 9, torch.Generator().manual_seed(0))
    assert problem.gain_BN.shape == problem.level_BN.shape == (9, 64)
    shares = torch.nn.functional.avg_pool2d(pairs().saliency[:, None], 4).flatten(1)
    expected = shares / shares.sum(1, keepdim=True)
    torch.testing.assert_close((problem.gain_BN[6:] / 2.0**40).float(), expected[:3], atol=1e-6, rtol=0)
    assert problem.level_BN.unique().tolist() == [0, 1]


def test_as_many_real_problems_as_asked_for_are_solved_and_threads_come_back(threads):
    threads(2)
    (row,) = measure_real(iter([pairs(), pairs()]), 8, torch.Generator().manual_seed(0), sizes=(64,))
    assert (row.costs, row.cells) == (REAL, 64)
    assert 0 <= row.error < 0.2
    assert torch.get_num_threads() == 2


def test_the_fastest_of_others_is_named():
    (row,) = measure(1, torch.Generator().manual_seed(0), sizes=(4,))[:1]
    assert row._replace(scipy=2.0, lap=1.0, lapjv=None).fastest_other() == "lap"
    assert row._replace(scipy=2.0, lap=None, lapjv=None).fastest_other() == "scipy"


def test_our_exact_plan_costs_what_scipys_does():
    problem = random_problems("raw", 64, 1, torch.Generator().manual_seed(3))
    rows, columns = linear_sum_assignment(problem.cost()[0].numpy())
    assert problem.evaluate(solve_transport(problem, "exact")).item() == problem.cost()[0][rows, columns].sum().item()

from functools import partial
from types import SimpleNamespace

import pytest
import torch

from puzzlemix.experiments import assignment
from puzzlemix.experiments.assignment import Timing
from puzzlemix.experiments.lambda_curves import Pairs

TIMES = Timing("raw", 1024, 1e-4, 2e-4, 3e-4, 4e-4, scipy=9e-2, lap=5e-2, lapjv=3e-2, error=0.01)


@pytest.fixture
def transport(benchmark_module):
    return benchmark_module("transport")


def test_the_faster_one_of_lap_and_lapjv_is_the_one_to_beat(transport):
    row = transport.timed("Algorithm 1", TIMES, TIMES.algorithm_1, goal=20)
    assert list(row.peers) == ["lapjv", "lap", "scipy"]
    assert row.ratios()["lapjv"] == pytest.approx(300)
    assert row.met()


def test_scipy_alone_meets_no_goal(transport):
    row = transport.timed("Algorithm 1", TIMES._replace(lap=None, lapjv=None), TIMES.algorithm_1, goal=20)
    assert list(row.peers) == ["scipy"]
    assert row.met() is None


def test_random_costs_need_no_network(transport, monkeypatch, capsys):
    monkeypatch.setattr(assignment, "measure", partial(assignment.measure, sizes=(4, 16)))
    transport.main(["--quick", "--only", "random"])
    printed = capsys.readouterr().out
    assert "| Algorithm 1, s summing to 1, 16 cells |" in printed
    assert "| as published, 1024 cells | 18800 µs | 161000 µs exact | 8.59x faster |" in printed
    assert "% in the paper |" in printed


def test_real_maps_need_one(transport, capsys):
    with pytest.raises(SystemExit):
        transport.main(["--only", "real"])
    assert "pass --network RUN" in capsys.readouterr().err


def test_changes_are_judged_where_the_paper_judges_them(benchmark_module):
    def generator():
        return torch.Generator().manual_seed(0)

    images, saliency = (torch.rand(4, *size, generator=generator()) for size in ((3, 32, 32), (32, 32)))
    pairs = Pairs(images, torch.zeros(4, dtype=torch.long), saliency, torch.arange(4).roll(1))
    source = SimpleNamespace(batches=lambda: [pairs], generator=generator)
    rows = list(benchmark_module("convergence").changes(source))
    judged = {row.case.split(",")[0] for row in rows if row.goal is not None}
    assert judged == {"xi 0.5", "xi 0.6", "xi 0.7", "xi 0.8"}
    assert all(0 <= row.peers["of the pixels"] <= row.ours <= 100 for row in rows)

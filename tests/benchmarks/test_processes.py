import subprocess
import sys

import pytest


@pytest.fixture
def processes(benchmark_module):
    return benchmark_module("processes")


@pytest.mark.slow
def test_quick_runs_through(processes):
    done = subprocess.run([sys.executable, processes.__file__, "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| vanilla step, " in done.stdout
    assert "throughput: " in done.stdout


@pytest.mark.parametrize(("together", "met"), [(1.17, True), (1.18, False)])
def test_throughput_is_judged_by_the_best_steps(processes, monkeypatch, together, met):
    asked = []

    def answer(count, options):
        asked.append(count)
        return [9.0, 1.0, 1.1] if count == 1 else [together, 9.0, 9.0]

    monkeypatch.setattr(processes, "ask", answer)
    row = processes.compare(processes.read_options(["--processes", "2", "--rounds", "3"]))
    assert asked == [1, 2] * 3
    assert row.ours == pytest.approx(1e3 * together)
    assert row.met() is met


def test_a_record_is_not_made_in_haste(processes):
    with pytest.raises(SystemExit):
        processes.read_options(["--quick", "--record"])

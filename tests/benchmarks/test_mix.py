import subprocess
import sys

import pytest


def run(benchmark_module, *arguments):
    script = benchmark_module("mix").__file__
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)


def table_of(benchmark_module, *arguments):
    done = run(benchmark_module, *arguments)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("| ")][2:]


def test_a_part_can_be_measured_alone(benchmark_module):
    (line,) = table_of(benchmark_module, "--quick", "--only", "mask")
    assert line.startswith("| mask alone, 16x16 |")


@pytest.mark.slow
def test_quick_runs_through_all_parts(benchmark_module):
    lines = table_of(benchmark_module, "--quick")
    assert sum(line.startswith("| whole mix, grid") for line in lines) == 4
    assert any("peak extra memory" in line for line in lines) == (sys.platform == "linux")
    assert {line.split(",")[0] for line in lines} >= {"| transport alone", "| starting up", "| drop-in overhead"}


@pytest.mark.parametrize(
    ("arguments", "words"), [(["--only", "maks"], "no part maks"), (["--quick", "--record"], "leave out --quick")]
)
def test_what_makes_no_sense_is_refused(benchmark_module, arguments, words):
    done = run(benchmark_module, *arguments)
    assert done.returncode == 2
    assert words in done.stderr

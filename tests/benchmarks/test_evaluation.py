import subprocess
import sys


def run(benchmark_module, *arguments):
    script = benchmark_module("evaluation").__file__
    return subprocess.run([sys.executable, script, *arguments], capture_output=True, text=True)


def test_quick_prints_what_the_goals_are_about(benchmark_module):
    done = run(benchmark_module, "--quick")
    assert done.returncode == 0, done.stderr
    assert "| FGSM, 10 images |" in done.stdout
    assert "at most 1.1x" in done.stdout
    assert "| corruptions, 19 x 5, 10 images |" in done.stdout
    assert "at most 60 s" in done.stdout


def test_a_quick_round_is_not_recorded(benchmark_module):
    done = run(benchmark_module, "--quick", "--record")
    assert done.returncode == 2
    assert "leave out --quick" in done.stderr

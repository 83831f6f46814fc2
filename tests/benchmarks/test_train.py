import subprocess
import sys

import pytest

from puzzlemix.bench.timing import Times


@pytest.fixture
def train(benchmark_module):
    return benchmark_module("train")


def run(train, *arguments):
    return subprocess.run([sys.executable, train.__file__, *arguments], capture_output=True, text=True)


def test_quick_runs_through_all_parts(train):
    done = run(train, "--quick")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    assert [line.split(" | ")[0] for line in lines] == [
        *(f"| step, {name}" for name in (*train.GOALS, train.HALF)),
        "| vanilla training, a step of the loop",
        "| vanilla training, input pipeline",
        *(f"| step, {name}" for name in (*train.OTHERS, *train.VARIANTS)),
        "| layout, vanilla, channels last",
        "| layout, puzzle, channels last",
    ]
    assert sum("at most" in line for line in lines) == 5


def test_goals_are_judged_by_what_most_steps_take(train, monkeypatch):
    times = dict.fromkeys((*train.GOALS, train.HALF), (Times(9.0, 1.3), Times(9.0, 1.0)))
    monkeypatch.setattr(train, "puzzle_times", lambda *_: times)
    met = {row.case: row.met() for row in train.steps(train.CONFIG, train.QUICK)}
    assert {name: met[name] for name in train.GOALS} == {"puzzle": True, train.BF16: True, train.REFRESHED: False}
    assert met[train.HALF] is None


def test_the_pipeline_is_judged_as_a_share_of_the_step(train, monkeypatch):
    times = {train.OURS: Times(2.0, 2.0), train.BARE: Times(1.95, 1.95), train.PIPELINE: Times(0.1, 0.12)}
    monkeypatch.setattr(train, "loop_times", lambda *_: times)
    loop, pipeline = train.loop(train.CONFIG, train.QUICK)
    assert loop.met() is True
    assert (pipeline.ours, pipeline.met()) == (pytest.approx(6), False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "lop"], "no part lop"),
        (["--record", "--quick"], "leave out --quick"),
        (["--record", "--only", "loop"], "--only"),
    ],
)
def test_what_makes_no_sense_is_refused(train, capsys, arguments, words):
    with pytest.raises(SystemExit, match="2"):
        train.read_options(arguments)
    assert words in capsys.readouterr().err

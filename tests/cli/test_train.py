import sys
from dataclasses import replace

import pytest

from puzzlemix.cli.planning import SMALL


@pytest.fixture
def drawn(monkeypatch):
    """What is drawn, without drawing it."""
    calls = []
    monkeypatch.setattr(
        "puzzlemix.cli.pictures.draw_run_curve", lambda runs, path: calls.append((path.name, len(runs)))
    )
    monkeypatch.setattr("puzzlemix.cli.pictures.draw_run_samples", lambda run, path: calls.append((path.name, 1)))
    return calls


def test_a_finished_run_is_shown_with_what_lies_beside(call, finished, drawn):
    folder = finished("a", SMALL)
    finished("b", replace(SMALL, method="vanilla", settings=None))
    code, output, errors = call("train", "--out", folder)
    assert (code, errors.count("\n")) == (0, 1)
    assert [line.split()[0] for line in output.splitlines()[1:4]] == ["method", "puzzle", "vanilla"]
    assert f"{folder}/result.json  results" in output
    assert drawn == [("curve.png", 2), ("samples.png", 1)]


def test_samples_are_drawn_once(call, finished, drawn):
    folder = finished("a", SMALL)
    (folder / "samples.png").write_bytes(b"drawn before")
    assert call("train", "--out", folder)[0] == 0
    assert drawn == [("curve.png", 1)]


def test_without_matplotlib_a_word_must_do(call, finished, monkeypatch):
    folder = finished("a", SMALL)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    code, output, errors = call("train", "--out", folder)
    assert code == 0
    assert "no pictures: drawing needs matplotlib" in errors
    assert 'pip install "puzzlemix[draw]"' in errors
    assert "puzzle " in output


@pytest.mark.parametrize("name", ["RANK", "LOCAL_RANK", "SLURM_PROCID"])
def test_of_several_processes_one_speaks(call, finished, drawn, monkeypatch, name):
    folder = finished("a", SMALL)
    monkeypatch.setenv(name, "1")
    assert call("train", "--out", folder) == (0, "", "")
    assert drawn == []

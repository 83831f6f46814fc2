"""Records say where they come from, and are whole or not there."""

import json
import math
import subprocess

import pytest
import torch

import puzzlemix
from puzzlemix import recording
from puzzlemix.recording import git_state, where, write_record


def test_where_names_machine_versions_and_device():
    found = where()
    assert found["versions"]["torch"] == torch.__version__.partition("+")[0]
    assert found["versions"]["puzzlemix"] == puzzlemix.__version__
    assert found["device"] == "cpu"
    assert found["cores"] >= 1
    assert found["processor"]
    assert json.loads(json.dumps(found)) == found


def git(folder, *arguments):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", folder, *arguments]
    subprocess.run(command, check=True, capture_output=True)


def test_the_state_of_a_checkout(tmp_path):
    assert git_state(tmp_path) is None
    git(tmp_path, "init")
    (tmp_path / "code.py").write_text("1")
    git(tmp_path, "add", "code.py")
    git(tmp_path, "commit", "-m", "first")
    clean = git_state(tmp_path)
    assert clean is not None
    assert len(clean["commit"]) == 40
    assert clean["changed"] is False
    (tmp_path / "notes.txt").touch()
    assert git_state(tmp_path) == clean
    (tmp_path / "code.py").write_text("2")
    assert git_state(tmp_path) == clean | {"changed": True}
    # what is installed below a checkout is not of it
    (tmp_path / "site-packages").mkdir()
    assert git_state(tmp_path / "site-packages") is None


def test_without_git_there_is_no_state(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(tmp_path) is None
    assert where()["git"] is None


def test_numbers_that_json_does_not_know_become_null(tmp_path):
    path = tmp_path / "deep" / "record.json"
    write_record(path, {"loss": math.nan, "list": [1.5, math.inf, (2,)], 3: {"word": None}})
    content = json.loads(path.read_text(), parse_constant=pytest.fail)
    assert content == {"loss": None, "list": [1.5, None, [2]], "3": {"word": None}}


def test_a_write_that_fails_leaves_the_old_record(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    write_record(path, {"what": "old"})
    monkeypatch.setattr(recording.os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_record(path, {"what": "new"})
    assert json.loads(path.read_text()) == {"what": "old"}
    assert [file.name for file in tmp_path.iterdir()] == ["record.json"]

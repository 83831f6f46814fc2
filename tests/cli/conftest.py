import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from puzzlemix.cli import main
from puzzlemix.training.outcome import Errors, Outcome

COMMAND = Path(sys.executable).parent / "puzzlemix"
HISTORY = [{"epoch": 1, "train_error": 0.5, "test_error": 0.25, "train_loss": 2.0, "test_loss": 1.0}]


@pytest.fixture
def call(capsys, monkeypatch, tmp_path):
    """Run the command line in this process, in a folder of its own: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def called(*arguments):
        code = main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return called


class Command:
    """The installed command, in a folder of its own."""

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    def start(self, *arguments):
        return subprocess.Popen(
            [COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=900)
        return process.returncode, output, errors


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The installed command: call it for exit code, stdout, stderr, or `start` it."""
    environment = {name: value for name, value in os.environ.items() if name != "PUZZLEMIX_TRACEBACK"}
    return Command(tmp_path_factory.mktemp("command"), environment | {"OMP_NUM_THREADS": "1"})


@pytest.fixture
def finished(tmp_path):
    """Lay down a finished run in a folder."""

    def lay(name, config, top1=0.25, ema=None):
        folder = tmp_path / name
        folder.mkdir()
        errors = Errors(top1, 0.0, 1.0, 0.125, 0.0, 0.5)
        outcome = Outcome(errors, None if ema is None else replace(errors, top1=ema), HISTORY, 83.0)
        (folder / "config.json").write_text(config.to_json())
        (folder / "result.json").write_text(json.dumps(outcome.as_dict()))
        return folder

    return lay

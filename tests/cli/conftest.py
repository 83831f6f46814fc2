import os
import subprocess
import sys
from pathlib import Path

import pytest

from puzzlemix.cli import main

COMMAND = Path(sys.executable).parent / "puzzlemix"


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
        output, errors = process.communicate(timeout=300)
        return process.returncode, output, errors


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The installed command: call it for exit code, stdout, stderr, or `start` it."""
    environment = {name: value for name, value in os.environ.items() if name != "PUZZLEMIX_TRACEBACK"}
    return Command(tmp_path_factory.mktemp("command"), environment | {"OMP_NUM_THREADS": "1"})

import importlib
import inspect
import subprocess
import sys
import warnings
from types import SimpleNamespace

import pytest

import puzzlemix
from puzzlemix import cli
from puzzlemix.cli.parser import UsageError

INSTALL = 'which is not installed: pip install "puzzlemix[train]"'


@pytest.fixture
def command(monkeypatch):
    """A command called `fail` that does what it is given to do."""

    def with_body(body):
        monkeypatch.setitem(cli.COMMANDS, "fail", "fail")
        monkeypatch.setitem(sys.modules, "puzzlemix.cli.fail", SimpleNamespace(run=lambda arguments: body()))

    return with_body


def raising(error):
    def body():
        raise error

    return body


def test_help_names_every_command_and_ways_to_begin(call):
    code, output, errors = call("--help")
    assert (code, errors) == (0, "")
    assert all(f"  {name}" in output and does in output for name, does in cli.COMMANDS.items())
    assert "puzzlemix train --method vanilla" in output


def test_called_with_nothing_it_shows_help_and_fails(call):
    code, output, _ = call()
    assert (code, output[:11]) == (2, "Puzzle Mix ")


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(call, flag):
    assert call(flag) == (0, f"puzzlemix {puzzlemix.__version__}\n", "")


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_every_command_is_a_module_with_run_and_help_with_examples(call, name):
    module = importlib.import_module(f"puzzlemix.cli.{name}")
    assert list(inspect.signature(module.run).parameters) == ["arguments"]
    code, output, errors = call(name, "--help")
    assert (code, errors) == (0, "")
    assert f"examples:\n  puzzlemix {name} " in output


def test_unknown_commands_are_answered_with_the_nearest(call):
    assert call("trian") == (2, "", "puzzlemix: there is no command 'trian': did you mean train?\n")
    code, _, errors = call("xyz")
    assert code == 2
    assert "the commands are train, mix" in errors


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UsageError("no such flag"), 2, "no such flag"),
        (ValueError("two\n  lines"), 1, "two lines"),
        (MemoryError(), 1, "MemoryError"),
        (PermissionError(13, "Permission denied", "/there"), 1, "/there: Permission denied"),
        (OSError("disk on fire"), 1, "disk on fire"),
        (ModuleNotFoundError("none", name="tensorboard.summary"), 1, f"this needs tensorboard, {INSTALL}"),
        (ImportError("drawing needs a pen"), 1, "drawing needs a pen"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_an_exit_code(call, command, error, code, said):
    command(raising(error))
    assert call("fail") == (code, "", f"puzzlemix: {said}\n")


def test_tracebacks_can_be_had(call, command, monkeypatch):
    monkeypatch.setenv("PUZZLEMIX_TRACEBACK", "1")
    command(raising(ValueError("why")))
    with pytest.raises(ValueError, match="why"):
        call("fail")


def test_mistakes_of_our_own_keep_their_traceback(call, command):
    command(raising(AssertionError()))
    with pytest.raises(AssertionError):
        call("fail")


def test_exit_codes_of_commands_are_passed_on(call, command):
    command(lambda: 143)
    assert call("fail")[0] == 143
    command(lambda: None)
    assert call("fail")[0] == 0


def test_help_and_version_load_no_command():
    heavy = ("lightning", "torchvision", "matplotlib", "numba", "puzzlemix.training")
    code = (
        "import sys; from puzzlemix.cli import main; main(['--help']); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_warnings_are_one_line(call, command):
    def body():
        warnings.simplefilter("always")
        warnings.warn("two\n  lines", RuntimeWarning, stacklevel=1)

    before = warnings.showwarning
    command(body)
    assert call("fail") == (0, "", "puzzlemix: warning: two lines\n")
    assert warnings.showwarning is before

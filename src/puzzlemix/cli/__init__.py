"""The command line: `puzzlemix COMMAND ...`.

A command is a module of this package with a function `run(arguments) -> exit code`, and a line in COMMANDS. It is
imported only when it is called for. What it raises becomes one line on stderr and an exit code: 0 done, 1 failed,
2 arguments that cannot be meant, 130 Ctrl-C, 143 SIGTERM. (With PUZZLEMIX_TRACEBACK=1 errors keep their traceback.)
"""

import importlib
import os
import sys
import warnings

from .. import __version__
from .parser import UsageError

COMMANDS = {
    "train": "train a classifier with Puzzle Mix or another method, or go on where a run stopped",
    "mix": "mix two image files, or samples of a data set, and draw how",
    "evaluate": "judge trained networks: accuracy, calibration, attacks and corruptions",
    "bench": "measure how fast mixing and training are on this machine",
    "reproduce": "fill a table of the paper with errors of one's own",
    "explore": "open a page in the browser to play with mixes",
}
EXIT_FAILED, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

# anything else is a mistake of ours, and deserves its traceback
_EXPECTED = (ValueError, TypeError, ImportError, OSError, RuntimeError, MemoryError)
_EXTRAS = {"ray": "cluster"}  # which extra a package belongs to; all others to "train"

_HELP = """\
Puzzle Mix for PyTorch: pairs of images mixed so that what matters in both stays visible.

usage: puzzlemix COMMAND [options]

commands:
{commands}

try:
  puzzlemix train                              train a small network on generated images in minutes, with Puzzle Mix
  puzzlemix train --method vanilla             the same without mixing; its results appear beside the first ones
  puzzlemix mix cat.jpg dog.jpg -o panel.png   draw how two pictures are mixed
  puzzlemix COMMAND --help                     all that a command can do

options:
  -h, --help     show this
  --version      show the version
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; gives the exit code."""
    with warnings.catch_warnings():
        # said by Pillow of images that are refused for their size anyway
        warnings.filterwarnings("ignore", message="Image size .* decompression bomb")
        warnings.showwarning = _warn
        return _run_to_the_end(sys.argv[1:] if arguments is None else arguments)


def _run_to_the_end(arguments: list[str]) -> int:
    try:
        code = _run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _fail("interrupted", EXIT_INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except UsageError as error:
        return _fail(str(error), EXIT_USAGE)
    except _EXPECTED as error:
        if os.environ.get("PUZZLEMIX_TRACEBACK"):
            raise
        return _fail(_words(error), EXIT_FAILED)


def _run(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        sys.stdout.write(_help())
        return 0 if arguments else EXIT_USAGE
    name, *rest = arguments
    if name in ("--version", "-V"):
        sys.stdout.write(f"puzzlemix {__version__}\n")
        return 0
    if name not in COMMANDS:
        raise UsageError(_advice(name))
    try:
        return importlib.import_module(f"{__name__}.{name}").run(rest) or 0
    except SystemExit as done:  # argparse, after it has shown help
        return int(done.code or 0)


def _help() -> str:
    width = max(map(len, COMMANDS))
    return _HELP.format(commands="\n".join(f"  {name:{width}}  {does}" for name, does in COMMANDS.items()))


def _advice(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, COMMANDS)
    known = f"did you mean {' or '.join(near)}?" if near else f"the commands are {', '.join(COMMANDS)}"
    return f"there is no command {name!r}: {known}"


def _words(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        return f'this needs {package}, which is not installed: pip install "puzzlemix[{_EXTRAS.get(package, "train")}]"'
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error) or type(error).__name__


def _warn(message: Warning | str, *where: object) -> None:
    """Show a warning as one line, without the place in the code it comes from."""
    sys.stderr.write(f"puzzlemix: warning: {' '.join(str(message).split())}\n")


def _fail(message: str, code: int) -> int:
    sys.stderr.write(f"puzzlemix: {' '.join(message.split())}\n")
    return code

"""Reading a command's arguments: one clear line where they cannot be meant, and help with examples."""

import argparse
import difflib
import shutil
from typing import NoReturn


class UsageError(Exception):
    """What was typed cannot be meant: the message goes to stderr, and the exit code is 2."""


class Parser(argparse.ArgumentParser):
    """A parser of one command's arguments that raises `UsageError`; `--some_name` is read as `--some-name`."""

    def __init__(self, command: str, description: str, examples: str):
        """command: its name; description: what it does; examples: lines to be tried, as they stand."""
        super().__init__(
            prog=f"puzzlemix {command}",
            usage=f"puzzlemix {command} [options]",
            description=f"{description}\n\nexamples:\n{_indented(examples)}",
            formatter_class=_Formatter,
            allow_abbrev=False,
        )

    def read(self, arguments: list[str]) -> argparse.Namespace:
        """Read all arguments; unknown flags are answered with the nearest known one."""
        found, unknown = self.parse_known_args([_hyphened(argument) for argument in arguments])
        if unknown:
            raise UsageError(self._advice(unknown[0]))
        return found

    def error(self, message: str) -> NoReturn:
        """Raise argparse's own complaints."""
        raise UsageError(message)

    def _advice(self, argument: str) -> str:
        flag = argument.partition("=")[0]
        known = [name for action in self._actions for name in action.option_strings if name.startswith("--")]
        near = difflib.get_close_matches(flag, known) if flag.startswith("-") else []
        tail = f"did you mean {' or '.join(near)}?" if near else f"see {self.prog} --help"
        return f"{flag!r} is not understood: {tail}"


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Narrow columns on a wide terminal would be hard to read, and so would lines across all of it."""

    def __init__(self, prog: str):
        super().__init__(prog, max_help_position=30, width=min(shutil.get_terminal_size().columns - 2, 110))


def _hyphened(argument: str) -> str:
    if not argument.startswith("--"):
        return argument
    flag, equals, value = argument.partition("=")
    return flag.replace("_", "-") + equals + value


def _indented(lines: str) -> str:
    return "\n".join(f"  {line}" for line in lines.strip().splitlines())

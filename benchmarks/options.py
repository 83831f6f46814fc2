"""The options of the benchmarks that measure in parts."""

import argparse
from collections.abc import Collection


def parser_of(name: str, description: str, parts: Collection[str]) -> argparse.ArgumentParser:
    """Know --quick, --record and --only."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="measure so little that the numbers mean nothing")
    parser.add_argument("--record", action="store_true", help=f"write records/{name}.json")
    parser.add_argument("--only", type=lambda names: names.split(","), default=[*parts], help=", ".join(parts))
    return parser


def checked(parser: argparse.ArgumentParser, arguments: list[str] | None, parts: Collection[str]) -> argparse.Namespace:
    """Read the command line, and refuse what makes no sense."""
    options = parser.parse_args(arguments)
    if unknown := set(options.only) - set(parts):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(parts)}")
    if options.record and (options.quick or len(set(options.only)) < len(parts)):
        parser.error("a record holds everything, carefully measured: leave out --quick and --only")
    return options

"""Writes the tables of README.md and docs/ from records/: what stands in them was measured.

A table goes between `<!-- table: NAME -->` and `<!-- end table -->`. `python benchmarks/tables.py` rewrites them all,
`--check` only tells whether they are up to date. Where nothing is recorded yet a table is empty.
"""

import argparse
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import recording
import report

ROOT = Path(__file__).parents[1]
SHORT = {"mix": ("whole mix", "mask alone", "128 images of 224x224"), "train": ("step",), "explorer": ("all of these",)}
_BLOCK = re.compile(r"(<!-- table: (.+?) -->\n).*?(<!-- end table -->)", re.DOTALL)


def short(name: str) -> str:
    """What matters most of a record, without goals."""
    found = recording.load(name)
    if found is None:
        return ""
    content, rows = found
    return f"{report.short_table(row for row in rows if row.part in SHORT[name])}\n{_origin(content)}"


def in_full(name: str) -> str:
    """All of a record, with the goals."""
    found = recording.load(name)
    return "" if found is None else f"{report.full_table(found[1])}\n{_origin(found[0])}"


def gpu() -> str:
    """What was measured on a GPU, with the goals."""
    found = recording.load("gpu")
    return "" if found is None else f"{report.full_table(report.telling(found[1]))}\n{_origin(found[0])}"


TABLES: dict[str, Callable[[], str]] = {
    **{name: partial(short, name) for name in SHORT},
    **{f"{name} in full": partial(in_full, name) for name in SHORT},
    "gpu": gpu,
    **{name: partial(in_full, name) for name in ("evaluation", "processes")},
}


def _origin(content: dict[str, Any]) -> str:
    where = content["where"]
    versions = ", ".join(f"{name} {number}" for name, number in where["versions"].items())
    machine = f"{where['processor']}, {where['threads']} threads; Python {where['python']}, {versions}"
    return f"{content['what']}. {machine}; {where['date']}.\n"


def with_tables(text: str) -> str:
    """The text with all its tables as they should be."""
    return _BLOCK.sub(lambda block: f"{block[1]}{_table(block[2])}{block[3]}", text)


def _table(name: str) -> str:
    if name not in TABLES:
        raise SystemExit(f"there is no table {name!r}: choose from {', '.join(TABLES)}")
    return TABLES[name]()


def outdated(files: Iterable[Path]) -> list[Path]:
    """The files whose tables are not what the records say."""
    return [path for path in files if with_tables(path.read_text()) != path.read_text()]


def documents() -> list[Path]:
    """Every file that may hold a table."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: list[str] | None = None) -> None:
    """Rewrite, or check."""
    parser = argparse.ArgumentParser(description="Write the tables of README.md and docs/ from records/.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail where a table is out of date")
    check = parser.parse_args(arguments).check
    paths = outdated(documents())
    for path in paths:
        print(f"{path.relative_to(ROOT)}: {'out of date' if check else 'rewritten'}")
        if not check:
            path.write_text(with_tables(path.read_text()))
    if check and paths:
        raise SystemExit("run `python benchmarks/tables.py`")


if __name__ == "__main__":
    main()

"""Text in columns."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of equally many texts as lines: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_line(row, widths) for row in rows)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, *rest = row
    return "   ".join((name.ljust(widths[0]), *map(str.rjust, rest, widths[1:]))).rstrip()

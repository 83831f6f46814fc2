"""Settings (nested frozen dataclasses) as flags of a command line, and back.

Only what is typed is changed, so that flags can be laid over settings of any origin. A group's fields become flags with
the group's name before theirs, unless the group is told to be plain. A group that may be absent (`Group | None`) has a
switch of its own name, and any of its flags switches it on too. The help is read off the classes' docstrings, where a
field stands as `name: what it is`.
"""

import argparse
import dataclasses
import inspect
import re
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ..core.inputs import Grid
from ..training.codec import nearest
from .parser import Parser, UsageError

Path = tuple[str, ...]

_GRID: Any = Grid
_WORDS = {int: "N", float: "X", str: "NAME", _GRID: "GRID"}
_WANTED = {int: "a whole number", float: "a number", _GRID: "a grid, as 4 or 2x8"}


@dataclass(frozen=True)
class Names:
    """How fields are called on the command line.

    plain: groups whose name is left out. renamed: other names for some fields. hidden: fields that are no flags. helps:
    other words about some fields than their docstrings'.
    """

    plain: Collection[str] = ()
    renamed: Mapping[Path, str] = field(default_factory=dict)
    hidden: Collection[Path] = ()
    helps: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Flag:
    """One flag: the place of its value, its name, the type and the present value of that, and what it means."""

    path: Path
    name: str
    kind: Any
    value: Any
    help: str


def flags_of(settings: Any, names: Names, path: Path = (), prefix: str = "") -> Iterator[Flag]:
    """All flags of an instance."""
    helps, hints = field_helps(type(settings)), get_type_hints(type(settings))
    for name in (item.name for item in dataclasses.fields(settings)):
        place, value, kind = (*path, name), getattr(settings, name), hints[name]
        group, said = optional_group(kind), names.helps.get((*path, name), helps.get(name, ""))
        if place in names.hidden:
            continue
        if group is not None:
            kind = bool
            yield Flag(place, prefix + name, kind, value is not None, said)
            yield from flags_of(group() if value is None else value, names, place, f"{prefix}{name}-")
        elif dataclasses.is_dataclass(value):
            yield from flags_of(value, names, place, prefix if name in names.plain else f"{prefix}{name}-")
        else:
            yield Flag(place, names.renamed.get(place, prefix + name), kind, value, said)


def add_flags(parser: Parser, title: str, flags: Sequence[Flag]) -> None:
    """Let a parser know flags, under a title of its help."""
    group = parser.add_argument_group(title)
    for flag in flags:
        note = f"{flag.help} (default: {_shown(flag.value)})".strip().replace("%", "%%")
        options: dict[str, Any] = {"dest": _dest(flag), "default": argparse.SUPPRESS, "help": note}
        name = "--" + flag.name.replace("_", "-")
        if _core(flag.kind) is bool:
            group.add_argument(name, action=argparse.BooleanOptionalAction, **options)
        else:
            repeated = get_origin(_core(flag.kind)) is tuple
            group.add_argument(name, nargs="*" if repeated else None, metavar=_metavar(flag.kind), **options)


def read_flags(found: argparse.Namespace, flags: Sequence[Flag]) -> dict[Path, Any]:
    """The values that were typed, by their places."""
    typed = vars(found)
    return {flag.path: read_value(flag, typed[_dest(flag)]) for flag in flags if _dest(flag) in typed}


def changed(settings: Any, values: Mapping[Path, Any], path: Path = ()) -> Any:
    """The settings with other values at these places."""
    hints, news = get_type_hints(type(settings)), {}
    for name in (item.name for item in dataclasses.fields(settings)):
        place, value = (*path, name), getattr(settings, name)
        below = {inner: item for inner, item in values.items() if inner[: len(place)] == place}
        group = optional_group(hints[name])
        if not below:
            continue
        if group is not None and not below.pop(place, True):
            news[name] = None
        elif group is not None or dataclasses.is_dataclass(value):
            assert group is not None or value is not None
            news[name] = changed(group() if group and value is None else value, below, place)
        else:
            news[name] = below[place]
    return dataclasses.replace(settings, **news)


def optional_group(kind: Any) -> Any:
    """The dataclass in `Dataclass | None`; None for any other type."""
    if not _is_union(kind):
        return None
    return next((item for item in get_args(kind) if dataclasses.is_dataclass(item)), None)


# ---- values ------------------------------------------------------------------------------------------------------


def read_value(flag: Flag, typed: Any) -> Any:
    """Read what was typed for a flag."""
    if _core(flag.kind) is bool:
        return typed
    return _read(flag.kind, typed, "--" + flag.name.replace("_", "-"))


def _read(kind: Any, typed: Any, name: str) -> Any:
    if kind != _GRID and _is_union(kind):
        return None if typed == "none" else _read(_core(kind), typed, name)
    if get_origin(kind) is tuple:
        return _read_tuple(get_args(kind)[0], _items(typed), name)
    if get_origin(kind) is Literal:
        if typed not in get_args(kind):
            raise UsageError(f"{name} {typed!r} is unknown: {nearest(typed, get_args(kind))}")
        return typed
    try:
        return read_grid(typed) if kind == _GRID else kind(typed)
    except ValueError:
        raise UsageError(f"{name} is {typed!r}: pass {_WANTED[kind]}") from None


def _read_tuple(kind: Any, items: list[str], name: str) -> tuple[Any, ...]:
    """Several values; where each is itself a tuple, they are typed one after the other."""
    parts = _parts(kind)
    if parts is None:
        return tuple(_read(kind, item, name) for item in items)
    optional = getattr(kind, "_field_defaults", {})
    groups = _groups(items, len(parts) - len(optional), len(parts))
    if groups and len(groups[-1]) < len(parts) - len(optional):
        raise UsageError(f"{name} has {len(items)} values: pass {_counts(parts, optional)}, {_metavar(kind)}")
    read = ([_read(part, item, name) for part, item in zip(parts.values(), group, strict=False)] for group in groups)
    return tuple(kind(*group) if hasattr(kind, "_fields") else tuple(group) for group in read)


def _groups(items: Sequence[str], least: int, most: int) -> list[list[str]]:
    """The values of each entry; what may be left out of one is there if it is no whole number, as its first value."""
    groups, start = [], 0
    while start < len(items):
        end = min(start + least, len(items))
        while end < min(start + most, len(items)) and not items[end].isdecimal():
            end += 1
        groups.append(list(items[start:end]))
        start = end
    return groups


def _counts(parts: Mapping[str, Any], optional: Mapping[str, Any]) -> str:
    return f"{len(parts) - len(optional)}{f' or {len(parts)}' if optional else ''} for each entry"


def _items(typed: Sequence[str]) -> list[str]:
    """Values may be typed apart or with commas, or not at all."""
    return [item for text in typed for item in text.split(",") if item not in ("", "none")]


def read_grid(text: str) -> Grid:
    """Read a grid, 4 or 2x8."""
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", text)
    if match is None:
        raise ValueError(f"grid {text!r} cannot be read: write 4, or rows x columns as 2x8")
    return int(match[1]) if match[2] is None else (int(match[1]), int(match[2]))


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, types.UnionType)


def _core(kind: Any) -> Any:
    """The type in `Type | None`."""
    if kind == _GRID or not _is_union(kind):
        return kind
    return next(item for item in get_args(kind) if item is not type(None))


def _parts(kind: Any) -> dict[str, Any] | None:
    """Names and types of what a tuple of fixed length consists of."""
    if kind == _GRID:
        return None
    if hasattr(kind, "_fields"):
        return get_type_hints(kind)
    if get_origin(kind) is tuple and Ellipsis not in get_args(kind):
        return {str(place): part for place, part in enumerate(get_args(kind))}
    return None


# ---- help --------------------------------------------------------------------------------------------------------


def _dest(flag: Flag) -> str:
    return ".".join(flag.path)


def _metavar(kind: Any) -> str:
    kind = _core(kind)
    if get_origin(kind) is Literal:
        return "{" + ",".join(map(str, get_args(kind))) + "}"
    parts = _parts(kind)
    if parts is not None:
        names = {name: _metavar(part) if name.isdigit() else name.upper() for name, part in parts.items()}
        optional = getattr(kind, "_field_defaults", {})
        return " ".join(f"[{words}]" if name in optional else words for name, words in names.items())
    if get_origin(kind) is tuple:
        return _metavar(get_args(kind)[0])
    return _WORDS[kind]


def _shown(value: Any) -> str:
    """A value as it would be typed."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return " ".join("x".join(map(str, item)) if isinstance(item, tuple) else str(item) for item in value) or "none"
    return str(value)


def field_helps(kind: type) -> dict[str, str]:
    """What the docstrings of a dataclass and its bases say of each field, as `name: ...` or `one, other: ...`."""
    helps: dict[str, str] = {}
    names = [item.name for item in dataclasses.fields(kind)]
    for base in reversed(kind.__mro__):
        helps |= _helps_in(" ".join(inspect.cleandoc(base.__doc__ or "").split()), names)
    return helps


def _helps_in(text: str, names: list[str]) -> dict[str, str]:
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    found = list(re.finditer(rf"(?:^|(?<=[.;] ))((?:{one})(?:, (?:{one}))*): ", text))
    starts = [match.start() for match in found] + [len(text)]
    helps = {}
    for match, end in zip(found, starts[1:], strict=True):
        said = text[match.end() : end].strip().rstrip(".;")
        helps |= dict.fromkeys(match[1].split(", "), said)
    return helps

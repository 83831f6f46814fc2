"""Frozen dataclasses as plain JSON values and back, every value checked against its type."""

import dataclasses
import difflib
import types
from collections.abc import Iterable
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Config = TypeVar("Config")
_WANTED = {bool: "true or false", int: "a whole number", float: "a number"}


def encode(config: Any) -> Any:
    """A dataclass, with all that is nested in it, as dicts, lists and plain values."""
    if dataclasses.is_dataclass(config):
        return {field.name: encode(getattr(config, field.name)) for field in dataclasses.fields(config)}
    if isinstance(config, list | tuple):
        return [encode(item) for item in config]
    return config


def decode(kind: type[Config], value: Any, place: str = "") -> Config:
    """Make a `kind` of what `encode` gave; ValueError says at which `place` something else was found."""
    return _read(kind, value, place)


def nearest(name: str, known: Iterable[str]) -> str:
    """Advise about a name that is not among the known ones."""
    known = list(known)
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known)
    return f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(known)}"


def _read(kind: Any, value: Any, place: str) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_union(get_args(kind), value, place)
    if origin is tuple or (isinstance(kind, type) and issubclass(kind, tuple)):
        return _read_tuple(kind, value, place)
    if origin is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{place} is {value!r}: {nearest(str(value), map(str, get_args(kind)))}")
        return value
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind, value, place)
    return _read_plain(kind, value, place)


def _read_dataclass(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise _wrong(value, "an object of settings", place)
    hints = get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind) if field.init]
    for name in value:
        if name not in known:
            raise ValueError(f"{_join(place, name)} is no setting: {nearest(name, known)}")
    return kind(**{name: _read(hints[name], item, _join(place, name)) for name, item in value.items()})


def _read_union(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in kinds:
        return None
    errors = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return _read(kind, value, place)
            except ValueError as error:
                errors.append(error)
    raise errors[-1]


def _read_tuple(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, list | tuple):
        raise _wrong(value, "a list", place)
    named = hasattr(kind, "_fields")
    kinds = tuple(get_type_hints(kind).values()) if named else get_args(kind)
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(value)
    if named and len(value) in range(len(kinds) - len(kind._field_defaults), len(kinds)):
        kinds = kinds[: len(value)]
    if len(kinds) != len(value):
        raise _wrong(value, f"a list of {len(kinds)}", place)
    items = [_read(*pair, f"{place}[{i}]") for i, pair in enumerate(zip(kinds, value, strict=True))]
    return kind(*items) if named else tuple(items)


def _read_plain(kind: Any, value: Any, place: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _wrong(value, _WANTED.get(kind, "a text"), place)
    return value


def _wrong(value: Any, wanted: str, place: str) -> ValueError:
    return ValueError(f"{place or 'the config'} is {value!r}: pass {wanted}")


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name

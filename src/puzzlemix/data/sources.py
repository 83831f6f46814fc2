"""Where a named data set lies, and how it gets there."""

import hashlib
import os
import shutil
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from .archive import Tree, listed, open_tree
from .errors import DataError
from .request import Request

_TIMEOUT = 60  # seconds without a byte


@dataclass(frozen=True)
class File:
    """A file to be had: its address, what it is called below the root, and its MD5 sum."""

    url: str
    place: str
    md5: str


@dataclass(frozen=True)
class Source:
    """Where a set may lie below the root, and the files that put it there.

    places: folders and archives, of which the first that is there counts. marks: what lies in the set's own folder,
    packed or not: that folder may be passed as the root too. advice: how to fetch a set that may not be downloaded.
    """

    name: str
    places: tuple[str, ...]
    marks: tuple[str, ...]
    files: tuple[File, ...] = ()
    advice: str = ""

    def remedy(self, root: Path) -> str:
        """What puts the set where it is expected, with the command."""
        if self.advice:
            return self.advice.format(root=root)
        fetches = (f"curl -fL --create-dirs -o {root / file.place} {file.url}" for file in self.files)
        return f"add --download (in Python download=True), or run `{' && '.join(fetches)}`"


def open_source(source: Source, request: Request) -> Tree:
    """Open a named set, after downloading it where it is missing and may be downloaded."""
    path = _find(source, request.root)
    if path is None and request.download:
        for file in source.files:
            fetch(file, request.root)
        path = _find(source, request.root)
    if path is None:
        raise DataError(_missing(source, request.root))
    return open_tree(path)


def _find(source: Source, root: Path) -> Path | None:
    inside = {name.removesuffix(".gz") for name in _entries(root)}
    if all(mark in inside for mark in source.marks):
        return root
    places = (root / place for place in source.places)
    return next((place for place in places if place.is_file() or _entries(place)), None)


def _entries(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def _missing(source: Source, root: Path) -> str:
    found = listed(_entries(root)) or ("nothing" if root.is_dir() else "no such folder")
    return (
        f"{source.name} is not in {root}: found {found}; expected {' or '.join(source.places)}: {source.remedy(root)}"
    )


def fetch(file: File, root: Path) -> None:
    """Download a file that is not there; it appears under its name only when it is whole."""
    target = root / file.place
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with urllib.request.urlopen(file.url, timeout=_TIMEOUT) as reply, open(part, "wb") as sink:
            shutil.copyfileobj(reply, sink, 2**20)
        _check_sum(part, file)
        os.replace(part, target)
    except OSError as error:
        raise DataError(
            f"{file.url} cannot be downloaded ({error}): try again, or fetch it elsewhere and put it at {target}"
        ) from error
    finally:
        part.unlink(missing_ok=True)


def _check_sum(path: Path, file: File) -> None:
    with open(path, "rb") as content:
        found = hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found != file.md5:
        raise DataError(
            f"{file.url} gave {path.stat().st_size:,} bytes with the MD5 sum {found}, expected {file.md5}: try again, "
            f"or fetch it elsewhere and put it at {file.place}"
        )

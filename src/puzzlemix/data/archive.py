"""A folder or a zip archive as one thing: sorted names, and the bytes behind each. Nothing is unpacked to disk."""

import os
import zipfile
import zlib
from pathlib import Path
from typing import Protocol

from .errors import DataError

_LARGEST_FILE = 2**28  # an image or a list of names is far smaller; an archive may claim anything
_IMAGES = (".jpeg", ".jpg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
_ROLES = ("train", "val", "valid", "validation", "test")


class Tree(Protocol):
    """Files under a path: `names` are sorted, relative to the folder that holds everything, with forward slashes."""

    path: Path
    names: tuple[str, ...]

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        ...

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        ...


def open_tree(path: Path) -> Tree:
    """Open a folder or a zip archive; a lone folder around everything is left out of the names."""
    if path.is_dir():
        return _Folder(path)
    if path.is_file():
        return _Zip(path)
    raise DataError(f"{path} does not exist: pass the path of a folder or of a zip archive")


def images_of(tree: Tree, folder: str = "") -> list[str]:
    """List the images below a folder ("" for all) by their suffixes."""
    return [name for name in tree.names if name.startswith(folder) and name.lower().endswith(_IMAGES)]


def read_lines(tree: Tree, name: str) -> list[str]:
    """Read the lines of a text file that are not empty."""
    try:
        lines = tree.read(name).decode().splitlines()
    except UnicodeDecodeError as error:
        raise DataError(f"{tree.describe(name)} is not a text ({error}): fetch the data set again") from error
    return [line for line in lines if line.strip()]


def overview(tree: Tree, most: int = 8) -> str:
    """Say what lies at the top, for messages."""
    tops = sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in tree.names})
    more = f" and {len(tops) - most} more" if len(tops) > most else ""
    return ", ".join(tops[:most]) + more if tops else "nothing"


class _Folder:
    """A folder on disk."""

    def __init__(self, path: Path):
        self.path = path
        names = [Path(base, file).relative_to(path).as_posix() for base, _, files in os.walk(path) for file in files]
        self._inside, self.names = _unwrapped(names)

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        try:
            return (self.path / (self._inside + name)).read_bytes()
        except OSError as error:
            raise DataError(f"{self.describe(name)} cannot be read ({error}): fetch the data set again") from error

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        return str(self.path / (self._inside + name))


class _Zip:
    """A zip archive, read in place; every process opens its own, since forks share a position in a file."""

    def __init__(self, path: Path):
        self.path = path
        self._opened: dict[int, zipfile.ZipFile] = {}
        self._inside, self.names = _unwrapped([name for name in self._file().namelist() if not name.endswith("/")])

    def __getstate__(self):
        return {**self.__dict__, "_opened": {}}

    def _file(self) -> zipfile.ZipFile:
        process = os.getpid()
        if process not in self._opened:
            self._opened = {process: _opened(self.path)}
        return self._opened[process]

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        try:
            member = self._file().getinfo(self._inside + name)
            if member.file_size > _LARGEST_FILE:
                raise DataError(f"{self.describe(name)} claims {member.file_size} bytes: no image is that large")
            return self._file().read(member)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:  # RuntimeError: encrypted
            raise DataError(f"{self.describe(name)} cannot be read ({error}): {_refetch(self.path)}") from error

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        return f"{self._inside}{name} in {self.path}"


def _opened(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, EOFError, ValueError) as error:
        size = path.stat().st_size
        raise DataError(f"{path} ({size:,} bytes) is no complete zip archive ({error}): {_refetch(path)}") from error


def _refetch(path: Path) -> str:
    return f"download it again, and check it with `python -m zipfile -t {path}`"


def _unwrapped(names: list[str]) -> tuple[str, tuple[str, ...]]:
    """Drop what is hidden and what archivers add, and leave out folders that hold everything: (left out, names)."""
    names = sorted(name for name in names if not _hidden(name))
    inside = ""
    while names:
        top, slash, _ = names[0].partition("/")
        if not slash or top in _ROLES or not all(name.startswith(top + "/") for name in names):
            break
        names = [name[len(top) + 1 :] for name in names]
        inside += top + "/"
    return inside, tuple(names)


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))

"""A folder, a zip or a tar archive as one thing: sorted names, and the bytes behind each. Nothing is unpacked to disk.

So no name in an archive can point to a place outside of it, and what its files claim to hold is checked before it is
read.
"""

import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .errors import DataError

_LARGEST_FILE = 2**28  # an image or a list of names is far smaller; an archive may claim anything
_LARGEST_TAR = 2**30  # tar archives can only be read from start to end, so they are kept in memory
_IMAGES = (".jpeg", ".jpg", ".png", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm")
# RuntimeError: encrypted, or packed in a way that is not known
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, RuntimeError,
)  # fmt: skip
ROLES = ("train", "val", "valid", "validation", "test")


class Tree(Protocol):
    """Files under a path: `names` are sorted, relative to the folder that holds everything, with forward slashes.

    folders: those that are listed, empty ones too, as "train/cat/".
    """

    path: Path
    names: tuple[str, ...]
    folders: tuple[str, ...]

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        ...

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        ...


def open_tree(path: Path) -> Tree:
    """Open a folder, a zip or a tar archive; a lone folder around everything is left out of the names."""
    if path.is_dir():
        return _Folder(path)
    if not path.is_file():
        raise DataError(f"{path} does not exist: pass the path of a folder or of a zip archive")
    return _Tar(path) if ".tar" in path.suffixes or path.suffix == ".tgz" else _Zip(path)


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
    entries = (*tree.names, *tree.folders)
    return listed(sorted({name.split("/")[0] + ("/" if "/" in name else "") for name in entries}), most) or "nothing"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


class _Folder:
    """A folder on disk."""

    def __init__(self, path: Path):
        self.path = path
        self._inside, self.names, self.folders = _unwrapped(list(_walk(str(path))))

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        try:
            return (self.path / (self._inside + name)).read_bytes()
        except OSError as error:
            raise DataError(f"{self.describe(name)} cannot be read ({error}): fetch the data set again") from error

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        return str(self.path / (self._inside + name))


def _walk(folder: str, below: str = "", above: tuple[str, ...] = ()) -> Iterator[str]:
    """All files and folders in a folder, relative to it; links are followed, but not round in circles."""
    above = (*above, os.path.realpath(folder))
    try:
        entries = list(os.scandir(folder))
    except OSError as error:
        raise DataError(
            f"{folder} cannot be read ({error.strerror}): give yourself the right to, chmod u+rx"
        ) from error
    for entry in entries:
        if not entry.is_dir():
            yield below + entry.name
        elif os.path.realpath(entry.path) not in above:
            yield f"{below}{entry.name}/"
            yield from _walk(entry.path, f"{below}{entry.name}/", above)


class _Zip:
    """A zip archive, read in place; every process opens its own, since forks share a position in a file."""

    def __init__(self, path: Path):
        self.path = path
        self._opened: dict[int, zipfile.ZipFile] = {}
        self._inside, self.names, self.folders = _unwrapped(self._file().namelist())

    def __getstate__(self):
        return {**self.__dict__, "_opened": {}}

    def _file(self) -> zipfile.ZipFile:
        process = os.getpid()
        if process not in self._opened:
            self._opened = {process: _open_zip(self.path)}
        return self._opened[process]

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        try:
            member = self._file().getinfo(self._inside + name)
            _check_claim(self.describe(name), member.file_size)
            return self._file().read(member)
        except _DAMAGE as error:
            raise DataError(f"{self.describe(name)} cannot be read ({error}): {_refetch(self.path)}") from error

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        return f"{self._inside}{name} in {self.path}"


def _open_zip(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (*_DAMAGE, ValueError) as error:
        size = path.stat().st_size
        raise DataError(f"{path} ({size:,} bytes) is no complete zip archive ({error}): {_refetch(path)}") from error


class _Tar:
    """A tar archive, packed or not, read once and kept in memory."""

    def __init__(self, path: Path):
        self.path = path
        try:
            with tarfile.open(path) as archive:
                self._files, folders = _tar_contents(path, archive)
        except _DAMAGE as error:
            size = path.stat().st_size
            raise DataError(
                f"{path} ({size:,} bytes) is no complete tar archive ({error}): {_refetch(path)}"
            ) from error
        self._inside, self.names, self.folders = _unwrapped([*self._files, *folders])

    def read(self, name: str) -> bytes:
        """Read one file whole."""
        return self._files[self._inside + name]

    def describe(self, name: str) -> str:
        """Name a file so that a person finds it."""
        return f"{self._inside}{name} in {self.path}"


def _tar_contents(path: Path, archive: tarfile.TarFile) -> tuple[dict[str, bytes], list[str]]:
    """All files (links and the like are left out) and the names of all folders."""
    files, folders, room = {}, [], _LARGEST_TAR
    for member in archive:
        name = member.name.removeprefix("./")
        if member.isdir():
            folders.append(name + "/")
        if member.isfile():
            _check_claim(f"{name} in {path}", member.size)
            room -= member.size
            if room < 0:
                raise DataError(
                    f"{path} is too large to keep in memory: unpack it, tar -xf {path}, and pass the folder"
                )
            content = archive.extractfile(member)
            assert content is not None
            files[name] = content.read()
    return files, folders


def _check_claim(described: str, size: int) -> None:
    if size > _LARGEST_FILE:
        raise DataError(f"{described} claims {size:,} bytes: no image or list is that large, do not use this archive")


def _refetch(path: Path) -> str:
    module = "zipfile" if path.suffix == ".zip" else "tarfile"
    return f"download it again, and check it with `python -m {module} -t {path}`"


def _unwrapped(entries: Sequence[str]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Drop what is hidden and what archivers add, and leave out folders that hold everything.

    Gives what was left out, the names of the files and those of the folders.
    """
    names = sorted({name for name in entries if not _hidden(name)})
    inside = ""
    while names:
        top, slash, _ = names[0].partition("/")
        if not slash or top in ROLES or not all(name.startswith(top + "/") for name in names):
            break
        names = [name[len(top) + 1 :] for name in names if name != top + "/"]
        inside += top + "/"
    files = tuple(name for name in names if not name.endswith("/"))
    return inside, files, tuple(name for name in names if name.endswith("/"))


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in name.split("/"))

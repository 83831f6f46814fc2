"""Data sets by name or path, in memory or on disk, and their batches."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

from .archive import open_tree
from .errors import DataError
from .image_folder import load_image_folder
from .loader import Loader, Page
from .request import Request
from .spec import DataSet, DataSpec, InMemory, OnDisk, Split
from .synthetic import load_synthetic

__all__ = [
    "DATA_SETS",
    "DataError",
    "DataSet",
    "DataSpec",
    "InMemory",
    "Loader",
    "OnDisk",
    "Page",
    "Split",
    "load_data",
]

DATA_SETS: dict[str, Callable[[Request], DataSet]] = {
    "synthetic": load_synthetic,
}


def load_data(
    name: str | Path = "synthetic",
    *,
    root: str | Path = "data",
    download: bool = False,
    size: int | None = None,
    train_images: int | None = None,
    test_images: int | None = None,
    seed: int = 0,
) -> DataSet:
    """Load a data set by its name in DATA_SETS, or by the path of a folder or zip archive.

    root: where named sets lie, and where `download` puts those that are missing and can be had. size: the side of the
    images; left out, the set's own. train_images, test_images: use so many, the first of every class in turn, so that
    classes are even; the embedded set draws that many. seed: what the embedded set is drawn from.
    """
    request = Request(Path(root).expanduser(), download, size, train_images, test_images, seed)
    if str(name) in DATA_SETS:
        return DATA_SETS[str(name)](request)
    path = Path(name).expanduser()
    if not path.exists():
        raise DataError(_advice(str(name)))
    return load_image_folder(open_tree(path), request)


def _advice(name: str) -> str:
    if os.sep in name or name.lower().endswith(".zip"):
        return f"{name} does not exist: pass the path of a folder or zip archive of images, or {', '.join(DATA_SETS)}"
    near = difflib.get_close_matches(name.lower().replace("-", "_"), DATA_SETS)
    known = f"did you mean {' or '.join(near)}?" if near else f"the names are {', '.join(DATA_SETS)}"
    return f"there is no data set {name!r}: {known} Or pass the path of a folder or zip archive of images"

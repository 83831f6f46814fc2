"""Data sets by name or path, in memory or on disk, and their batches."""

import difflib
import os
from collections.abc import Callable
from pathlib import Path

from .archive import Tree, open_tree
from .cifar import is_cifar, load_cifar10, load_cifar100, read_cifar
from .errors import DataError
from .fashion_mnist import is_fashion_mnist, load_fashion_mnist, read_fashion_mnist
from .image_folder import read_image_folder
from .imagenet import load_imagenet, load_imagenet_colour
from .loader import Loader, Page
from .request import Request
from .spec import DataSet, DataSpec, InMemory, OnDisk, Split
from .synthetic import load_synthetic
from .tiny_imagenet import is_tiny_imagenet, load_tiny_imagenet, read_tiny_imagenet

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
    "cifar10": load_cifar10,
    "cifar100": load_cifar100,
    "fashion_mnist": load_fashion_mnist,
    "tiny_imagenet": load_tiny_imagenet,
    "imagenet": load_imagenet,
    "imagenet_colour": load_imagenet_colour,
}
# what is tried in this order on a path; all else is read as folders of images
_LAYOUTS: tuple[tuple[Callable[[Tree], bool], Callable[[Tree, Request], DataSet]], ...] = (
    (is_cifar, read_cifar),
    (is_fashion_mnist, read_fashion_mnist),
    (is_tiny_imagenet, read_tiny_imagenet),
)


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
    """Load a data set by its name in DATA_SETS, or by the path of a folder or archive, whose layout is then recognised.

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
    tree = open_tree(path)
    read = next((read for recognised, read in _LAYOUTS if recognised(tree)), read_image_folder)
    return read(tree, request)


def _advice(name: str) -> str:
    if os.sep in name or name.lower().endswith((".zip", ".tar", ".gz", ".tgz")):
        return f"{name} does not exist: pass the path of a folder or zip archive of images, or {', '.join(DATA_SETS)}"
    near = difflib.get_close_matches(name.lower().replace("-", "_"), DATA_SETS)
    known = f"did you mean {' or '.join(near)}?" if near else f"the names are {', '.join(DATA_SETS)}."
    return f"there is no data set {name!r}: {known} Or pass the path of a folder or zip archive of images"

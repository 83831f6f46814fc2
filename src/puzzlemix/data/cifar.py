"""CIFAR-10 and CIFAR-100 as their authors publish them for Python: the archive, or the folder that is in it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .archive import Tree, overview
from .errors import DataError
from .pickles import read_pickle
from .request import Request
from .sources import File, Source, open_source
from .spec import DataSet, DataSpec, InMemory

_SIZE = 32
_CHANNELS = 3


class _Layout(NamedTuple):
    """The files of a set, and the keys of the labels and of the class names in them."""

    source: Source
    train: tuple[str, ...]
    test: str
    meta: str
    labels: str
    names: str
    classes: int
    mean_255: tuple[float, ...]
    std_255: tuple[float, ...]


def _source(name: str, folder: str, archive: str, md5: str, marks: tuple[str, ...]) -> Source:
    file = File(f"https://www.cs.toronto.edu/~kriz/{archive}", archive, md5)
    return Source(name, (folder, archive), marks, (file,))


_CIFAR10 = _Layout(
    _source(
        "cifar10",
        "cifar-10-batches-py",
        "cifar-10-python.tar.gz",
        "c58f30108f718f92721af3b95e74349a",
        ("data_batch_1", "test_batch"),
    ),
    train=tuple(f"data_batch_{number}" for number in range(1, 6)),
    test="test_batch",
    meta="batches.meta",
    labels="labels",
    names="label_names",
    classes=10,
    mean_255=(125.3, 123.0, 113.9),
    std_255=(63.0, 62.1, 66.7),
)
_CIFAR100 = _Layout(
    _source(
        "cifar100",
        "cifar-100-python",
        "cifar-100-python.tar.gz",
        "eb9058c3a382ffc7106e4002c42a8d85",
        ("train", "test", "meta"),
    ),
    train=("train",),
    test="test",
    meta="meta",
    labels="fine_labels",
    names="fine_label_names",
    classes=100,
    mean_255=(129.3, 124.1, 112.4),
    std_255=(68.2, 65.4, 70.4),
)


def load_cifar10(request: Request) -> DataSet:
    """Read CIFAR-10 from below the root."""
    return _read(open_source(_CIFAR10.source, request), _CIFAR10, request)


def load_cifar100(request: Request) -> DataSet:
    """Read CIFAR-100 from below the root."""
    return _read(open_source(_CIFAR100.source, request), _CIFAR100, request)


def is_cifar(tree: Tree) -> bool:
    """Whether one of both lies here."""
    return _layout_of(tree) is not None


def read_cifar(tree: Tree, request: Request) -> DataSet:
    """Read the one that lies here."""
    layout = _layout_of(tree)
    assert layout is not None
    return _read(tree, layout, request)


def _layout_of(tree: Tree) -> _Layout | None:
    layouts = (_CIFAR10, _CIFAR100)
    return next((layout for layout in layouts if {layout.test, layout.meta} <= set(tree.names)), None)


def _read(tree: Tree, layout: _Layout, request: Request) -> DataSet:
    missing = [name for name in (*layout.train, layout.test, layout.meta) if name not in tree.names]
    if missing:
        raise DataError(
            f"{tree.path} holds {overview(tree)}; expected {', '.join(missing)} too: remove it, then "
            f"{layout.source.remedy(request.root)}"
        )
    spec = DataSpec(
        layout.source.name,
        layout.classes,
        request.size or _SIZE,
        mean=_over_255(layout.mean_255),
        std=_over_255(layout.std_255),
        padding=2,
    )
    train, test = (InMemory(*_images(tree, layout, names), spec) for names in (layout.train, (layout.test,)))
    return DataSet(
        train.at(request.train_rows(train.labels, spec.name)),
        test.at(request.test_rows(test.labels, spec.name)),
        _class_names(tree, layout),
    )


def _over_255(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(value / 255 for value in values)


def _images(tree: Tree, layout: _Layout, names: Sequence[str]) -> tuple[Tensor, Tensor]:
    """Images (N,3,32,32) and labels (N) of several files."""
    batches = [_batch(read_pickle(tree.read(name), tree.describe(name)), layout, tree.describe(name)) for name in names]
    images, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    return torch.from_numpy(images), torch.from_numpy(labels)


def _batch(batch: dict[str, Any], layout: _Layout, described: str) -> tuple[np.ndarray, np.ndarray]:
    pixels, labels = batch.get("data"), batch.get(layout.labels)
    row = _CHANNELS * _SIZE * _SIZE
    if not isinstance(pixels, np.ndarray) or pixels.dtype != np.uint8 or pixels.ndim != 2 or pixels.shape[1] != row:
        raise DataError(
            f"{described} holds {sorted(batch)}; expected data, rows of {row} bytes: fetch the data set again"
        )
    labels = _numbers(labels, layout.classes)
    if len(labels) != len(pixels) or -1 in labels:
        raise DataError(
            f"{described} has {len(pixels):,} images and {len(labels):,} {layout.labels}; expected one from 0 to "
            f"{layout.classes - 1} for each image: fetch the data set again"
        )
    return pixels.reshape(-1, _CHANNELS, _SIZE, _SIZE), labels


def _numbers(labels: Any, classes: int) -> np.ndarray:
    """Labels as an array; what is none becomes -1."""
    labels = labels if isinstance(labels, list | np.ndarray) else []
    known = (label if isinstance(label, int | np.integer) and 0 <= label < classes else -1 for label in labels)
    return np.fromiter(known, dtype=np.int64, count=len(labels))


def _class_names(tree: Tree, layout: _Layout) -> tuple[str, ...]:
    described = tree.describe(layout.meta)
    names = read_pickle(tree.read(layout.meta), described).get(layout.names)
    if not isinstance(names, list) or len(names) != layout.classes:
        raise DataError(f"{described} has no {layout.classes} {layout.names}: fetch the data set again")
    return tuple(name.decode(errors="replace") if isinstance(name, bytes) else str(name) for name in names)

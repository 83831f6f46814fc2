"""Fashion-MNIST as it is published: four files of raw numbers with a short header, packed by gzip or not."""

import io
import struct
import zlib
from gzip import GzipFile
from math import prod

import numpy as np
import torch
from torch import Tensor

from .archive import Tree, overview
from .errors import DataError
from .request import Request
from .sources import File, Source, open_source
from .spec import DataSet, DataSpec, InMemory

CLASSES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
_SIZE = 28
_MOST_BYTES = 2**27
_PLACE = "FashionMNIST/raw"
_SUMS = {
    "train-images-idx3-ubyte": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte": "bb300cfdad3c16e7a12a480ee83cd310",
}
_ADDRESS = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
_SOURCE = Source(
    "fashion_mnist",
    (_PLACE, "FashionMNIST", "fashion_mnist"),
    tuple(_SUMS),
    tuple(File(f"{_ADDRESS}/{name}.gz", f"{_PLACE}/{name}.gz", md5) for name, md5 in _SUMS.items()),
)


def load_fashion_mnist(request: Request) -> DataSet:
    """Read Fashion-MNIST from below the root."""
    return read_fashion_mnist(open_source(_SOURCE, request), request)


def is_fashion_mnist(tree: Tree) -> bool:
    """Whether its files lie here."""
    return any(name.removesuffix(".gz") in _SUMS for name in tree.names)


def read_fashion_mnist(tree: Tree, request: Request) -> DataSet:
    """Read the four files; images are grey, of one channel."""
    missing = [name for name in _SUMS if not {name, f"{name}.gz"} & set(tree.names)]
    if missing:
        raise DataError(
            f"{tree.path} holds {overview(tree)}; expected {', '.join(missing)} too, or the same packed as .gz: "
            f"{_SOURCE.remedy(request.root)}"
        )
    size = request.size or _SIZE
    spec = DataSpec("fashion_mnist", len(CLASSES), size, channels=1, mean=(0.286,), std=(0.353,), padding=2)
    train, test = _split(tree, "train", spec), _split(tree, "t10k", spec)
    return DataSet(
        train.at(request.train_rows(train.labels, spec.name)),
        test.at(request.test_rows(test.labels, spec.name)),
        CLASSES,
    )


def _split(tree: Tree, role: str, spec: DataSpec) -> InMemory:
    images = _numbers(tree, f"{role}-images-idx3-ubyte", (_SIZE, _SIZE))
    labels = _numbers(tree, f"{role}-labels-idx1-ubyte", ())
    highest = int(labels.max())
    if len(images) != len(labels) or highest >= spec.classes:
        raise DataError(
            f"{tree.path} has {len(images):,} {role} images and {len(labels):,} labels up to {highest}; expected one "
            f"from 0 to {spec.classes - 1} for each image: fetch the data set again"
        )
    return InMemory(images[:, None], labels.long(), spec)


def _numbers(tree: Tree, name: str, shape: tuple[int, ...]) -> Tensor:
    """Read one file: (N, *shape) uint8. Its header is 0, 0, 8 for bytes, the number of sides, and each side."""
    name = name if name in tree.names else f"{name}.gz"
    data = _unpacked(tree.read(name), tree.describe(name)) if name.endswith(".gz") else tree.read(name)
    magic, header = 0x801 + len(shape), struct.Struct(f">{2 + len(shape)}I")
    found = header.unpack_from(data.ljust(header.size, b"\0"))
    count, content = found[1], data[header.size :]
    if (found[0], *found[2:]) != (magic, *shape) or not count or len(content) != count * prod(shape):
        raise DataError(
            f"{tree.describe(name)} has the header {found} and {len(content):,} bytes; expected {(magic, 'N', *shape)} "
            f"and N x {prod(shape)} bytes: fetch the data set again"
        )
    return torch.from_numpy(np.frombuffer(content, np.uint8).reshape(count, *shape).copy())


def _unpacked(data: bytes, described: str) -> bytes:
    try:
        content = GzipFile(fileobj=io.BytesIO(data)).read(_MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{described} ({len(data):,} bytes) is no complete gzip file ({error}): fetch it again"
        ) from error
    if len(content) > _MOST_BYTES:
        raise DataError(f"{described} unpacks to more than {_MOST_BYTES:,} bytes: fetch it again, from its publisher")
    return content

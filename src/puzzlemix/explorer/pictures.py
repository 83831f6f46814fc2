"""The pictures that can be mixed: drawn samples for everyone, and each visitor's own, bounded in number.

Shape suffixes: C channels (3), S side.
"""

import functools
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..data import DATA_SETS, DataSet, load_data
from ..showing import decode_picture, drawn_pictures, sampled_pictures

# samples in which the object is easy to make out, of many classes
GALLERY = (5, 53, 28, 29, 12, 11, 43, 26, 56, 32, 57, 44)
BATCH = 12
MOST_SAMPLE = 1_000_000
_DRAWN = re.compile(r"drawn-(\d{1,7})")
_LONGEST_NAME = 60


@dataclass(frozen=True, eq=False)
class Picture:
    """One picture (3,S,S) uint8: its key in requests, what it is called, and the Python that reads it."""

    key: str
    name: str
    image_CSS: Tensor
    code: str

    @property
    def pixels(self) -> Tensor:
        """The image as (3,S,S) float32 in [0, 1]."""
        return self.image_CSS.float() / 255


def drawn_key(sample: int) -> str:
    """The key of a drawn sample."""
    return f"drawn-{sample}"


def drawn_picture(key: str, size: int) -> Picture | None:
    """The drawn sample of this key; None where the key is none of a drawn sample."""
    match = _DRAWN.fullmatch(key)
    if match is None or int(match[1]) >= MOST_SAMPLE:
        return None
    return _drawn(int(match[1]), size)


@functools.lru_cache(maxsize=64)
def _drawn(sample: int, size: int) -> Picture:
    images, (name,) = drawn_pictures([sample], size)
    return Picture(drawn_key(sample), name, _bytes(images[0]), f"drawn_pictures([{sample}], {size})")


def uploaded_picture(content: bytes, name: str, size: int) -> Picture:
    """Decode a file that was sent; its name is only shown, and stands in the Python as the path to read."""
    shown = safe_name(name)
    image = decode_picture(content, shown, size)
    return Picture(_new_key(), Path(shown).stem or shown, _bytes(image), f"read_pictures([{shown!r}], {size})")


def safe_name(name: str) -> str:
    """A file's name without folders and unprintable characters, and not too long."""
    bare = re.split(r"[/\\]", name)[-1]
    printable = "".join(character for character in bare if character.isprintable()).strip()
    return printable[-_LONGEST_NAME:] or "picture"


@dataclass(frozen=True)
class BatchRequest:
    """Which pictures of which data set: its name or path, which batch, and whether to fetch a set that is missing."""

    name: str = ""
    batch: int = 0
    download: bool = False

    def __post_init__(self):
        if not self.name.strip():
            raise ValueError("there is no name: write that of a data set, or the path of a folder of images")
        if not 0 <= self.batch < MOST_SAMPLE:
            raise ValueError(f"batch={self.batch!r}: pass a whole number from 0 to {MOST_SAMPLE - 1}")


def data_batch(request: BatchRequest, root: Path, size: int) -> list[Picture]:
    """A batch of test images of a data set, in an order that is mixed but always the same."""
    name = request.name.strip()
    cut = None if name in DATA_SETS else size  # files may have any size, published sets have their own
    data = _load(name, root, request.download, cut)
    samples = _samples(len(data.test), request.batch)
    images, names = sampled_pictures(data, samples, size)
    source = f"load_data({name!r}, root={str(root)!r}{'' if cut is None else f', size={cut}'})"
    return [
        Picture(_new_key(), called, _bytes(_coloured(image)), f"sampled_pictures({source}, [{sample}], {size})")
        for image, called, sample in zip(images, names, samples, strict=True)
    ]


@functools.lru_cache(maxsize=1)
def _load(name: str, root: Path, download: bool, size: int | None) -> DataSet:
    return load_data(name, root=root, download=download, size=size)


def _samples(count: int, batch: int) -> list[int]:
    """The numbers of a batch; after the last batch the first comes again."""
    order = torch.randperm(count, generator=torch.Generator().manual_seed(0))
    first = batch * BATCH % count
    return order[first : first + BATCH].tolist()


def _coloured(image: Tensor) -> Tensor:
    """Grey (1,S,S) as three equal channels."""
    return image.expand(3, -1, -1) if len(image) == 1 else image


def _bytes(image: Tensor) -> Tensor:
    return (image * 255).round().to(torch.uint8)


def _new_key() -> str:
    return f"own-{secrets.token_urlsafe(12)}"


def described(picture: Picture) -> dict[str, Any]:
    """What the page needs to know of a picture."""
    return {"key": picture.key, "name": picture.name}

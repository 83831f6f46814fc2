"""Pictures to mix: image files of any kind and shape, samples of a data set, or drawn ones, all of one square size.

Shape suffixes: B pictures, C channels, S side.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from ..data import DataSet, InMemory
from ..data.decode import centred, open_image, pixels_of
from ..data.errors import DataError, needed
from ..data.synthetic import CLASSES, draw_scenes
from .sizes import brought_to

MOST_BYTES = 2**26  # of a file
MOST_PIXELS = 80_000_000  # of an image, before it is scaled: below the number at which Pillow begins to warn


class Pictures(NamedTuple):
    """Images (B,C,S,S) in [0, 1], and what each is called."""

    images: Tensor
    names: tuple[str, ...]


def read_pictures(paths: Sequence[str | Path], size: int) -> Pictures:
    """Read image files; DataError names the one that cannot be read."""
    images = [decode_picture(_content(Path(path)), str(path), size) for path in paths]
    return Pictures(torch.stack(images), tuple(Path(path).stem for path in paths))


def decode_picture(data: bytes, name: str, size: int) -> Tensor:
    """The middle of an image file as (3,S,S) float32 in [0, 1], upright and in colour; `name` is for messages."""
    if size < 1:
        raise ValueError(f"size={size!r}: pass the side of the pictures in pixels, at least 1")
    _check_extent(data, name)
    pillow, upright = needed("PIL.Image", "reading image files"), needed("PIL.ImageOps", "reading image files")
    image = upright.exif_transpose(open_image(data, name))
    # cut before scaling: an image of 1 x 10,000 pixels scaled first would be huge
    side = min(image.size)
    left, top = ((length - side) / 2 for length in image.size)
    square = image.resize((size, size), pillow.Resampling.BICUBIC, (left, top, left + side, top + side), reducing_gap=3)
    return pixels_of(square).float() / 255


def drawn_pictures(samples: Sequence[int], size: int) -> Pictures:
    """Samples of the embedded data set, drawn at this size."""
    scenes = draw_scenes(torch.tensor(samples), size=size)
    return Pictures(scenes.images.float() / 255, tuple(CLASSES[label] for label in scenes.labels.tolist()))


def sampled_pictures(data: DataSet, samples: Sequence[int], size: int | None = None) -> Pictures:
    """Test images of a data set with these numbers, called by their classes; in the set's own size unless given one."""
    count = len(data.test)
    for sample in samples:
        if not 0 <= sample < count:
            raise ValueError(f"sample {sample} is not in the set: pass numbers from 0 to {count - 1}")
    images = torch.stack([_test_image(data, sample) for sample in samples]).float() / 255
    names = tuple(data.class_names[label] for label in data.test.labels[list(samples)].tolist())
    return Pictures(images if size is None else brought_to(images, (size, size)).clamp(0, 1), names)


def _test_image(data: DataSet, sample: int) -> Tensor:
    if isinstance(data.test, InMemory):
        return data.test.images[sample]
    return pixels_of(centred(data.test.picture(sample), data.spec.size, data.spec.resize or data.spec.size))


def _content(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): pass the path of an image file") from error


def _check_extent(data: bytes, name: str) -> None:
    """Refuse what is too large to be decoded, by what its header says."""
    if len(data) > MOST_BYTES:
        raise DataError(f"{name} is larger than {MOST_BYTES / 2**20:.0f} MiB: pass a smaller file")
    pillow = needed("PIL.Image", "reading image files")
    try:
        with pillow.open(io.BytesIO(data)) as image:
            width, height = image.size
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        width = height = MOST_PIXELS
    except (OSError, SyntaxError, ValueError, IndexError):
        return  # whoever decodes it says what is wrong
    if width * height > MOST_PIXELS:
        raise DataError(f"{name} has more than {MOST_PIXELS:,} pixels: pass a smaller image")

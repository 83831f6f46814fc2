"""Image files to pixels: whatever is in a file comes out as RGB of 8 bits.

Shape suffixes: C channels (3), H height, W width, N images.
"""

import io
import struct
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .errors import DataError, needed

if TYPE_CHECKING:
    from PIL.Image import Image

    from .archive import Tree

MOST_PIXELS = 80_000_000  # below the number at which Pillow begins to warn


def _pillow() -> Any:
    return needed("PIL.Image", "reading image files")


def open_image(data: bytes, name: str) -> "Image":
    """Decode a file to an RGB image; `name` is for messages."""
    pillow = _pillow()
    # the warning is an error where a program makes warnings errors
    bombs = (pillow.DecompressionBombError, pillow.DecompressionBombWarning)
    try:
        with pillow.open(io.BytesIO(data)) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f"{image.width}x{image.height} pixels, more than {MOST_PIXELS:,}")
            image.load()
            return _rgb(image)
    except (OSError, SyntaxError, ValueError, IndexError, EOFError, struct.error, *bombs) as error:
        # Pillow's own words for the first show an object in memory
        why = "its format is unknown" if isinstance(error, pillow.UnidentifiedImageError) else error
        raise DataError(
            f"{name} ({len(data):,} bytes) is no image that can be read ({why}): replace or remove it"
        ) from error


def _rgb(image: "Image") -> "Image":
    if image.mode.startswith(("I", "F")):
        image = _eight_bits(image)
    if image.mode in ("LA", "PA", "La", "RGBA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = _pillow().new("RGBA", image.size, "white")
        return _pillow().alpha_composite(paper, image).convert("RGB")
    return image.convert("RGB")


def _eight_bits(image: "Image") -> "Image":
    """Scale 16-bit and float pixels to 8 bits, which `convert` would cut off at 255."""
    pixels_HW = np.nan_to_num(np.asarray(image).astype(np.float64))
    if image.mode.startswith("I;16") or pixels_HW.max(initial=0) > 255:
        pixels_HW = pixels_HW / 257
    elif image.mode == "F" and pixels_HW.max(initial=0) <= 1:
        pixels_HW = pixels_HW * 255
    return _pillow().fromarray(np.clip(pixels_HW + 0.5, 0, 255).astype(np.uint8))


def pixels_of(image: "Image") -> Tensor:
    """Copy an RGB image to a tensor (C,H,W) uint8."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous()


def centre_box(width: int, height: int, size: int, resize: int) -> tuple[int, int, int, int, int, int]:
    """Place the centre crop: width and height after resizing the shorter side, then left, top, right, bottom."""
    short = min(width, height)
    wide, high = max(resize, resize * width // short), max(resize, resize * height // short)
    left, top = round((wide - size) / 2), round((high - size) / 2)
    return wide, high, left, top, left + size, top + size


def centred(image: "Image", size: int, resize: int) -> "Image":
    """Resize the shorter side, then cut out the centre of size x size."""
    wide, high, left, top, right, bottom = centre_box(*image.size, size, resize)
    if (wide, high) != image.size:
        image = image.resize((wide, high), _pillow().Resampling.BILINEAR)
    return image.crop((left, top, right, bottom)) if (wide, high) != (size, size) else image


def read_images(tree: "Tree", names: Sequence[str], side: int | None = None) -> Tensor:
    """Decode files to one tensor (N,C,side,side) uint8: scaled and cropped to a side, if one is given.

    Otherwise all have to be squares of the first one's size.
    """
    size = side or _open(tree, names[0]).width
    images_NCHW = torch.empty(len(names), 3, size, size, dtype=torch.uint8)

    def read(sample: int) -> None:
        image = _open(tree, names[sample])
        if side is None and image.size != (size, size):
            raise DataError(
                f"{tree.describe(names[sample])} is {image.width}x{image.height} pixels, expected {size}x{size}: pass "
                f"size={size} to have all images scaled and cut to that"
            )
        images_NCHW[sample] = pixels_of(centred(image, size, size))

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        try:
            for _ in pool.map(read, range(len(names))):
                pass
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return images_NCHW


def _open(tree: "Tree", name: str) -> "Image":
    return open_image(tree.read(name), tree.describe(name))

"""Image files to pixels: whatever is in a file comes out as RGB of 8 bits.

Shape suffixes: C channels (3), H height, W width, N images.
"""

import io
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from .errors import DataError, needed

if TYPE_CHECKING:
    from PIL.Image import Image

    from .archive import Tree


def _pillow() -> Any:
    return needed("PIL.Image", "reading image files")


def open_image(data: bytes, name: str) -> "Image":
    """Decode a file to an RGB image; `name` is for messages."""
    pillow = _pillow()
    try:
        with pillow.open(io.BytesIO(data)) as image:
            image.load()
            return _rgb(image)
    except (OSError, SyntaxError, ValueError, IndexError, pillow.DecompressionBombError) as error:
        raise DataError(
            f"{name} ({len(data):,} bytes) is no image that can be read ({error}): replace or remove it"
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
    pixels_HW = np.asarray(image).astype(np.float64)
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


def read_images(tree: "Tree", names: list[str], size: int, *, scale: bool) -> Tensor:
    """Decode files to one tensor (N,C,size,size) uint8; images of another size are scaled and cropped, or refused."""
    images_NCHW = torch.empty(len(names), 3, size, size, dtype=torch.uint8)

    def read(sample: int) -> None:
        name = names[sample]
        image = open_image(tree.read(name), tree.describe(name))
        if image.size != (size, size) and not scale:
            found = "x".join(map(str, image.size))
            raise DataError(f"{tree.describe(name)} is {found}, not {size}x{size} as the first: pass size={size}")
        images_NCHW[sample] = pixels_of(centred(image, size, size))

    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        for _ in pool.map(read, range(len(names))):
            pass
    return images_NCHW

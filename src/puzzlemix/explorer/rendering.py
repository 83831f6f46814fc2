"""Drawings and pictures as files for a browser."""

import base64
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from ..data.errors import needed
from ..drawing import Example, draw_panel

if TYPE_CHECKING:
    from PIL.Image import Image

PANEL_INCHES = 2.24  # 448 pixels: two for each of a picture of 224
_FLAT = ("first_saliency", "second_saliency", "mask")  # few colours and sharp edges, which JPEG would blur
_JPEG: dict[str, Any] = {"quality": 90, "subsampling": 0}


def panel_url(example: Example, panel: str) -> str:
    """One panel, drawn as in every figure, as a data URL."""
    figure = draw_panel(example, panel, width=PANEL_INCHES)
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]  # it is Agg's canvas
    image = needed("PIL.Image", "encoding pictures").fromarray(pixels)
    return _url(_png(image), "png") if panel in _FLAT else _url(_jpeg(image), "jpeg")


def picture_url(image: Tensor) -> str:
    """A picture (3,S,S) in [0, 1] as a data URL."""
    return _url(picture_jpeg(image), "jpeg")


def picture_jpeg(image: Tensor) -> bytes:
    """A picture (3,S,S) in [0, 1] as a JPEG file."""
    pixels = (image.clamp(0, 1) * 255).round().byte().permute(1, 2, 0).contiguous().numpy()
    return _jpeg(needed("PIL.Image", "encoding pictures").fromarray(pixels))


def _jpeg(image: "Image") -> bytes:
    return _encoded(image, "jpeg", **_JPEG)


def _png(image: "Image") -> bytes:
    return _encoded(image, "png", compress_level=1)


def _encoded(image: "Image", kind: str, **options: Any) -> bytes:
    target = io.BytesIO()
    image.save(target, kind, **options)
    return target.getvalue()


def _url(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"

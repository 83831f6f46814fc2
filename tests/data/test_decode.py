import contextlib
import io
import warnings

import numpy as np
import pytest
import torch
from PIL import Image

from puzzlemix.data import DataError, decode
from puzzlemix.data.archive import open_tree
from puzzlemix.data.decode import centred, open_image, pixels_of, read_images


def saved(image, kind="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_colours_come_out_as_they_are_with_channels_first(image):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    read = pixels_of(open_image(image(pixels), "a.png"))
    assert read.shape == (3, 5, 7)
    assert (read.permute(1, 2, 0).numpy() == pixels).all()


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("L", 77, (77, 77, 77)),
        ("1", 1, (255, 255, 255)),
        ("P", 0, (0, 0, 0)),
        ("LA", (10, 255), (10, 10, 10)),
        ("RGBA", (200, 100, 50, 255), (200, 100, 50)),
        ("RGBA", (200, 100, 50, 0), (255, 255, 255)),
        ("I;16", 65535, (255, 255, 255)),
        ("I;16", 257 * 12, (12, 12, 12)),
    ],
)
def test_every_kind_of_image_becomes_colours_of_8_bits(mode, value, expected):
    data = saved(Image.new(mode, (3, 2), value))
    assert tuple(pixels_of(open_image(data, "a.png"))[:, 0, 0].tolist()) == expected


def test_cmyk_and_floats_are_read_too():
    assert open_image(saved(Image.new("CMYK", (3, 2)), "JPEG"), "a.jpg").mode == "RGB"
    unit = np.array([[0.0, 0.5, 1.0, np.nan]], dtype=np.float32)
    assert pixels_of(open_image(saved(Image.fromarray(unit), "TIFF"), "a.tif"))[0, 0].tolist() == [0, 128, 255, 0]


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"not an image", bytes(1000)])
def test_what_is_no_image_is_named(data):
    with pytest.raises(DataError, match=r"cat/a\.png .* is no image that can be read"):
        open_image(data, "cat/a.png")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"])
def test_damaged_images_are_data_errors_or_read(kind):
    rng = np.random.default_rng(0)
    whole = saved(Image.fromarray(rng.integers(0, 256, (12, 12, 3), dtype=np.uint8)), kind)
    with pytest.raises(DataError):
        open_image(whole[: len(whole) // 2], "a")
    for _ in range(60):
        data = bytearray(whole)
        for place in rng.integers(0, len(data), 3):
            data[place] = rng.integers(256)
        with warnings.catch_warnings(), contextlib.suppress(DataError):
            warnings.simplefilter("ignore")
            assert open_image(bytes(data), "a").mode == "RGB"


def test_an_image_larger_than_any_photo_is_not_unpacked(monkeypatch, image):
    monkeypatch.setattr(decode, "MOST_PIXELS", 100)
    assert open_image(image(np.zeros((10, 10, 3))), "a.png").size == (10, 10)
    with pytest.raises(DataError, match="101x1 pixels, more than 100"):
        open_image(image(np.zeros((1, 101, 3))), "a.png")


@pytest.mark.parametrize("size", [(30, 20), (20, 30), (20, 20), (21, 200)])
def test_the_centre_is_cut_after_the_shorter_side_was_scaled(size):
    """Against torchvision's, which rounds the same."""
    from torchvision.transforms import v2

    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    expected = v2.Compose([v2.Resize(16), v2.CenterCrop(14)])(picture)
    assert (np.asarray(centred(picture, 14, 16)) == np.asarray(expected)).all()


def test_images_are_read_in_order_and_scaled_if_asked_to(write, image):
    tree = open_tree(
        write({f"{n}.png": image((n, 0, 0)) for n in range(5)} | {"tall.png": image(np.full((16, 8, 3), 9))})
    )
    names = [f"{n}.png" for n in (3, 1, 4)]
    assert read_images(tree, names)[:, 0, 0, 0].tolist() == [3, 1, 4]
    assert read_images(tree, [*names, "tall.png"], 4).shape == (4, 3, 4, 4)
    with pytest.raises(DataError, match=r"tall\.png is 8x16 pixels, expected 8x8: pass size=8"):
        read_images(tree, [*names, "tall.png"])


def test_what_cannot_be_read_stops_the_reading(write, image):
    tree = open_tree(write({**{f"{n}.png": image((0, 0, 0)) for n in range(9)}, "5.png": b"no"}))
    with pytest.raises(DataError, match=r"5\.png"):
        read_images(tree, tree.names)


def test_threads_change_nothing(write, image, threads):
    tree = open_tree(write({f"{n}.png": image((n, 0, 0)) for n in range(20)}, "zip"))
    alone = read_images(tree, tree.names)
    threads(4)
    assert torch.equal(read_images(tree, tree.names), alone)

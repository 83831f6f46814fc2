import io
import struct
import zlib

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from puzzlemix.data import DataError, load_data
from puzzlemix.data.synthetic import CLASSES
from puzzlemix.showing import MOST_BYTES, decode_picture, drawn_pictures, read_pictures, sampled_pictures

SIZE = 24
LEFT_RED = np.zeros((40, 40, 3), dtype=np.uint8)
LEFT_RED[:, :20, 0] = 255


def encoded(image: Image.Image, kind: str = "png", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes whose header claims any size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "CMYK", "1", "I;16", "F"])
@pytest.mark.parametrize("shape", [(40, 30), (1, 1), (3, 500), (500, 3)])
def test_every_kind_and_shape_comes_out_square_and_in_colour(mode, shape):
    image = Image.new("RGB", shape, (200, 100, 50))
    image = Image.new(mode, shape) if mode == "I;16" else image.convert(mode)
    found = decode_picture(encoded(image, "tiff"), "picture", SIZE)
    assert found.shape == (3, SIZE, SIZE)
    assert found.dtype == torch.float32
    assert 0 <= found.min() <= found.max() <= 1


def test_the_middle_is_shown_in_its_own_colours():
    wide = np.concatenate([np.full((40, 7, 3), 255, np.uint8), LEFT_RED, np.full((40, 7, 3), 255, np.uint8)], axis=1)
    found = decode_picture(encoded(Image.fromarray(wide)), "picture", 40)
    torch.testing.assert_close(found, torch.from_numpy(LEFT_RED).permute(2, 0, 1) / 255)


def test_a_photo_taken_with_the_camera_on_its_side_stands_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # shown as it is meant, it has to be turned by 90 degrees
    turned = Image.fromarray(LEFT_RED).transpose(Image.Transpose.ROTATE_90)
    found = decode_picture(encoded(turned, "jpeg", exif=exif, quality=100, subsampling=0), "photo", 40)
    assert (found[0, :, :16] > 0.9).all()
    assert (found[0, :, 24:] < 0.1).all()


def test_a_very_long_image_is_cut_before_it_is_scaled():
    found = decode_picture(encoded(Image.new("RGB", (20_000, 1), (255, 0, 0))), "line", SIZE)
    assert torch.equal(found[:, 0, 0], torch.tensor([1.0, 0.0, 0.0]))


@pytest.mark.filterwarnings("default::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [9_000, 11_000, 60_000])
def test_a_bomb_is_refused_by_what_its_header_says(side):
    with pytest.raises(DataError, match=r"bomb\.png has more than 80,000,000 pixels"):
        decode_picture(claiming(side, side), "bomb.png", SIZE)


@pytest.mark.parametrize("data", [b"", b"no image", b"\x89PNG\r\n\x1a\n", encoded(Image.new("RGB", (99, 99)))[:80]])
def test_what_is_no_image_is_refused_by_name(data):
    with pytest.raises(DataError, match=r"shot\.png"):
        decode_picture(data, "shot.png", SIZE)


def test_files_are_bounded_in_bytes(tmp_path):
    path = tmp_path / "large.png"
    with open(path, "wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(DataError, match=r"large\.png is larger than 64 MiB"):
        read_pictures([path], SIZE)


def test_files_are_read_in_order_and_called_by_their_names(tmp_path):
    for name, colour in (("fire", (255, 0, 0)), ("sea", (0, 0, 255))):
        Image.new("RGB", (9, 9), colour).save(tmp_path / f"{name}.png")
    found = read_pictures([tmp_path / "sea.png", tmp_path / "fire.png"], SIZE)
    assert found.names == ("sea", "fire")
    assert found.images[:, :, 0, 0].tolist() == [[0, 0, 1], [1, 0, 0]]


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path in (tmp_path / "none.png", tmp_path):
        with pytest.raises(DataError, match=f"{path.name} cannot be read"):
            read_pictures([path], SIZE)


def test_drawn_samples_are_called_by_their_classes():
    found = drawn_pictures([3, 13, 0], 32)
    assert found.images.shape == (3, 3, 32, 32)
    assert found.names == (CLASSES[3], CLASSES[3], CLASSES[0])


@pytest.mark.parametrize("size", [None, 48])
def test_samples_of_a_set_in_memory_are_its_test_images(size):
    data = load_data("synthetic", train_images=10, test_images=10)
    found = sampled_pictures(data, [7, 2], size)
    wanted = data.test.images[[7, 2]].float() / 255
    assert found.images.shape == (2, 3, size or 32, size or 32)
    assert (F.interpolate(found.images, (32, 32), mode="area") - wanted).abs().mean() < 0.02
    assert found.names == (CLASSES[7], CLASSES[2])


def test_samples_of_a_folder_are_its_centres(tmp_path):
    for split in ("train", "val"):
        for name, colour in (("fire", (255, 0, 0)), ("sea", (0, 0, 255))):
            (tmp_path / split / name).mkdir(parents=True)
            Image.new("RGB", (200, 130), colour).save(tmp_path / split / name / "only.png")
    found = sampled_pictures(load_data(tmp_path, size=64), [1, 0])
    assert found.images.shape == (2, 3, 64, 64)
    assert found.images[:, :, 30, 30].tolist() == [[0, 0, 1], [1, 0, 0]]
    assert found.names == ("sea", "fire")


def test_a_sample_that_is_not_there_is_named():
    data = load_data("synthetic", train_images=10, test_images=10)
    with pytest.raises(ValueError, match="sample 10 is not in the set: pass numbers from 0 to 9"):
        sampled_pictures(data, [3, 10])

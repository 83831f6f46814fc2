import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture(autouse=True)
def one_thread(threads):
    """Everything here is small: threads would only wait for each other."""
    threads(1)


def encode_image(pixels, kind="PNG"):
    """An image file of (H,W,3) uint8, or of one colour on 8 x 8 pixels."""
    pixels = np.asarray(pixels, dtype=np.uint8)
    pixels = np.broadcast_to(pixels, (8, 8, 3)) if pixels.ndim < 3 else pixels
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).save(buffer, kind)
    return buffer.getvalue()


@pytest.fixture
def image():
    return encode_image


def write_folder(files, path):
    for name, content in files.items():
        target = Path(path) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(content)
    return Path(path)


def write_zip(files, path):
    with zipfile.ZipFile(f"{path}.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return Path(f"{path}.zip")


def write_tar(files, path):
    with tarfile.open(f"{path}.tar.gz", "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name.rstrip("/"))
            member.type = tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return Path(f"{path}.tar.gz")


_WRITERS = {"folder": write_folder, "zip": write_zip, "tar": write_tar}


@pytest.fixture
def write(tmp_path):
    """Write {name: bytes} as a folder, zip or tar and give its path; names that end with / are empty folders."""
    return lambda files, kind="folder", name="set": _WRITERS[kind](files, tmp_path / name)


@pytest.fixture
def image_folder():
    """The files of two classes of small images in train/ and val/, of which the class shows in the red channel."""

    def files(train=6, val=3, size=8, kind="PNG", suffix="png"):
        made = {}
        for role, count in (("train", train), ("val", val)):
            for label, name in enumerate(("cat", "dog")):
                for number in range(count):
                    pixels = np.zeros((size, size, 3), dtype=np.uint8)
                    pixels[..., 0], pixels[..., 1] = 100 + 100 * label, number * 10
                    made[f"{role}/{name}/{number}.{suffix}"] = encode_image(pixels, kind)
        return made

    return files


def cifar_files(classes=10, per_file=20, dump=pickle.dumps):
    """CIFAR in its authors' layout, of random pixels: ({name: bytes}, {name: the pixels of each file})."""
    rng = np.random.default_rng(0)
    key, names, folder = {
        10: ("labels", "label_names", "cifar-10-batches-py"),
        100: ("fine_labels", "fine_label_names", "cifar-100-python"),
    }[classes]
    files = [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"] if classes == 10 else ["train", "test"]
    pixels = {file: rng.integers(0, 256, (per_file, 3072), dtype=np.uint8) for file in files}
    made = {
        f"{folder}/{file}": dump(
            {"data": pixels[file], key: [i % classes for i in range(per_file)], "filenames": ["a.png"]}
        )
        for file in files
    }
    meta = {10: "batches.meta", 100: "meta"}[classes]
    made[f"{folder}/{meta}"] = dump({names: [f"class {number}" for number in range(classes)]})
    return made, pixels


@pytest.fixture
def cifar():
    return cifar_files

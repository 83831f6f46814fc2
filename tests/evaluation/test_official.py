"""Published corrupted sets are read as they are laid out; damaged and hostile files are refused and run nothing."""

import io
import os
import pickle
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image

from puzzlemix.data import DataError, DataSpec
from puzzlemix.evaluation.official import open_official

SPEC = DataSpec("small", classes=3, size=8)
COUNT = 6


def arrays(folder, names=("gaussian_noise", "fog")):
    """CIFAR's layout; image i of severity s and corruption c holds 50 c + 6 s + i everywhere."""
    folder.mkdir()
    for place, name in enumerate(names):
        values = 50 * place + np.arange(5 * COUNT)
        np.save(folder / f"{name}.npy", np.broadcast_to(values[:, None, None, None], (30, 8, 8, 3)).astype(np.uint8))
    np.save(folder / "labels.npy", np.tile(np.arange(COUNT) % 3, 5).astype(np.uint8))
    return folder


def images(folder, names=("fog", "snow"), classes=("n01", "n02", "n03")):
    """Tiny-ImageNet's layout."""
    for name in names:
        for severity in range(1, 6):
            for label, wnid in enumerate(classes):
                place = folder / name / str(severity) / wnid
                place.mkdir(parents=True)
                Image.new("RGB", (8, 8), (40 * severity, 10 * label, 0)).save(place / "val_1.png")
    return folder


def test_arrays_are_split_by_severity(tmp_path):
    found = open_official(arrays(tmp_path / "set"), SPEC)
    assert found.names == ("gaussian_noise", "fog")
    split = found.split("fog", 3)
    assert split.images.shape == (COUNT, 3, 8, 8)
    assert split.images[:, 1, 2, 3].tolist() == [50 + 2 * COUNT + i for i in range(COUNT)]
    assert split.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert split.spec == SPEC


@pytest.mark.parametrize("packed", [False, True])
def test_folders_of_images_are_read_by_severity(tmp_path, packed):
    path = images(tmp_path / "set")
    if packed:
        with tarfile.open(tmp_path / "set.tar", "w") as tar:
            tar.add(path, "Tiny-ImageNet-C")
        path = tmp_path / "set.tar"
    found = open_official(path, SPEC)
    assert found.names == ("snow", "fog")  # in the published order
    split = found.split("snow", 4)
    assert split.labels.tolist() == [0, 1, 2]
    assert split.images[:, :, 0, 0].tolist() == [[160, 0, 0], [160, 10, 0], [160, 20, 0]]


class Trap:
    """Leaves a folder behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def hostile(kind, trap):
    """Bytes that would run code if they were unpickled: as an array of objects, as a pickle, or as an archive."""
    file = io.BytesIO()
    if kind == "objects":
        np.save(file, np.array([Trap(trap)], dtype=object), allow_pickle=True)
    elif kind == "pickle":
        pickle.dump(Trap(trap), file)
    else:
        np.savez(file, np.array([Trap(trap)], dtype=object), allow_pickle=True)
    return file.getvalue()


@pytest.mark.parametrize("kind", ["objects", "pickle", "archive"])
@pytest.mark.parametrize("name", ["fog.npy", "labels.npy"])
def test_pickles_are_refused_and_not_run(tmp_path, kind, name):
    folder, trap = arrays(tmp_path / "set"), tmp_path / "sprung"
    content = hostile(kind, trap)
    if kind != "archive":
        start = content.index(b"\x80")
        pickle.loads(content[start:])  # the trap works
        assert trap.exists()
        trap.rmdir()
    (folder / name).write_bytes(content)
    with pytest.raises(DataError, match="is no whole array of numbers"):
        open_official(folder, SPEC).split("fog", 1)
    assert not trap.exists()


@pytest.mark.parametrize("kept", [0, 5, 60, 127, 128, 1000, -1])
def test_truncated_arrays_are_refused(tmp_path, kept):
    folder = arrays(tmp_path / "set")
    content = (folder / "fog.npy").read_bytes()
    (folder / "fog.npy").write_bytes(content[:kept])
    with pytest.raises(DataError, match=r"fog.npy .* is no whole array of numbers .*fetch it again"):
        open_official(folder, SPEC).split("fog", 1)


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path):
    folder = arrays(tmp_path / "set")
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (10**15, 8, 8, 3)})
    (folder / "fog.npy").write_bytes(header.getvalue())
    with pytest.raises(DataError, match="is no whole array"):
        open_official(folder, SPEC).split("fog", 1)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros(29, np.uint8), "expected a whole number for each image"),
        (np.zeros((30, 1), np.uint8), "expected a whole number for each image"),
        (np.zeros(30, np.float32), "expected a whole number for each image"),
        (np.zeros(0, np.uint8), "expected a whole number for each image"),
        (np.arange(30, dtype=np.uint8) % 4, "runs from 0 to 3, but small has 3 classes"),
        (np.arange(30, dtype=np.uint8) % 2, "runs from 0 to 1, but small has 3 classes"),
        (np.arange(30, dtype=np.int64) % 3 - 1, "runs from -1 to 1"),
    ],
)
def test_labels_that_do_not_fit_are_refused(tmp_path, labels, words):
    folder = arrays(tmp_path / "set")
    np.save(folder / "labels.npy", labels)
    with pytest.raises(DataError, match=words):
        open_official(folder, SPEC)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.zeros((25, 8, 8, 3), np.uint8), "fog.npy has 25 images, labels.npy 30 labels"),
        (np.zeros((30, 8, 8, 3), np.float32), r"is float32 .*expected uint8 \(N,H,W,3\)"),
        (np.zeros((30, 3, 8, 8), np.uint8), "expected uint8"),
        (np.zeros((30, 8, 8), np.uint8), "expected uint8"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, array, words):
    folder = arrays(tmp_path / "set")
    np.save(folder / "fog.npy", array)
    with pytest.raises(DataError, match=words):
        open_official(folder, SPEC).split("fog", 1)


def test_folders_that_do_not_fit_are_refused(tmp_path):
    with pytest.raises(DataError, match="has 2 class folders, but small has 3 classes"):
        open_official(images(tmp_path / "two", classes=("n01", "n02")), SPEC).split("fog", 1)
    (tmp_path / "none" / "train").mkdir(parents=True)
    (tmp_path / "none" / "train" / "x.png").touch()
    with pytest.raises(DataError, match="none of the 19 corruptions"):
        open_official(tmp_path / "none", SPEC)
    damaged = images(tmp_path / "damaged")
    (damaged / "fog" / "1" / "n02" / "val_1.png").write_bytes(b"\x89PNG no more")
    with pytest.raises(DataError, match="n02"):
        open_official(damaged, SPEC).split("fog", 1)


def test_what_is_missing_or_packed_is_said(tmp_path):
    folder = arrays(tmp_path / "set")
    (folder / "labels.npy").unlink()
    with pytest.raises(DataError, match=r"labels.npy does not exist: unpack the set whole"):
        open_official(folder, SPEC)
    with pytest.raises(DataError, match="does not exist"):
        open_official(tmp_path / "nowhere", SPEC)
    (tmp_path / "CIFAR-10-C.tar").touch()
    with pytest.raises(DataError, match="tar -xf"):
        open_official(tmp_path / "CIFAR-10-C.tar", SPEC)
    (tmp_path / "other").mkdir()
    np.save(tmp_path / "other" / "labels.npy", np.zeros(5))
    with pytest.raises(DataError, match="none of the 19"):
        open_official(tmp_path / "other", SPEC)


def test_the_files_are_left_as_they_are(tmp_path):
    folder = arrays(tmp_path / "set")
    before = (folder / "fog.npy").read_bytes()
    split = open_official(folder, SPEC).split("fog", 1)
    split.images.zero_()
    assert (folder / "fog.npy").read_bytes() == before
    assert torch.equal(open_official(folder, SPEC).split("fog", 1).images[0].unique(), torch.tensor([50]))

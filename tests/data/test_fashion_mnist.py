import gzip
import struct

import numpy as np
import pytest

from puzzlemix.data import DataError, load_data

CLASSES = 10


def idx(values):
    return struct.pack(f">{1 + values.ndim}I", 0x800 + values.ndim, *values.shape) + values.astype(np.uint8).tobytes()


def files(train=30, test=20, packed=True):
    rng = np.random.default_rng(0)
    made = {}
    for role, count in (("train", train), ("t10k", test)):
        made[f"{role}-images-idx3-ubyte"] = idx(rng.integers(0, 256, (count, 28, 28)))
        made[f"{role}-labels-idx1-ubyte"] = idx(np.arange(count) % CLASSES)
    return {f"{name}.gz": gzip.compress(data) for name, data in made.items()} if packed else made


@pytest.mark.parametrize("packed", [True, False])
def test_it_is_read_as_torchvision_reads_it(write, packed):
    from torchvision.datasets import FashionMNIST

    root = write({f"FashionMNIST/raw/{name}": data for name, data in files(packed=packed).items()})
    data = load_data("fashion_mnist", root=root)
    if not packed:
        theirs = FashionMNIST(str(root), train=False)
        assert (data.test.images[:, 0] == theirs.data).all()
        assert data.test.labels.tolist() == theirs.targets.tolist()
        assert list(data.class_names) == theirs.classes
    assert data.train.images.shape == (30, 1, 28, 28)
    assert (data.spec.channels, data.spec.size, data.spec.padding) == (1, 28, 2)
    assert load_data("fashion_mnist", root=root / "FashionMNIST" / "raw").fingerprint() == data.fingerprint()
    assert load_data(root / "FashionMNIST").fingerprint() == data.fingerprint()
    assert load_data("fashion_mnist", root=root, train_images=10).train.labels.tolist() == list(range(10))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "train-labels-idx1-ubyte",
            None,
            "expected train-labels-idx1-ubyte too, or the same packed as .gz: add --download",
        ),
        ("train-labels-idx1-ubyte", idx(np.arange(29) % 10), "30 train images and 29 labels"),
        ("t10k-labels-idx1-ubyte", idx(np.full(20, 10)), "labels up to 10; expected one from 0 to 9"),
        ("train-images-idx3-ubyte", idx(np.zeros((30, 28, 27))), "has the header"),
        ("train-images-idx3-ubyte", idx(np.zeros((0, 28, 28))), "has the header"),
        ("train-images-idx3-ubyte", idx(np.zeros((30, 28, 28)))[:-1], "has the header"),
        ("train-images-idx3-ubyte", idx(np.zeros((30, 28, 28))) + b"0", "has the header"),
        ("train-images-idx3-ubyte", struct.pack(">4I", 0x803, 2**32 - 1, 28, 28), "has the header"),
        ("train-images-idx3-ubyte", b"", "has the header"),
    ],
)
def test_wrong_content_is_said(write, name, content, message):
    made = {**files(packed=False), name: content}
    with pytest.raises(DataError, match=message):
        load_data(write({name: data for name, data in made.items() if data is not None}))


def test_a_truncated_file_is_said(write):
    made = files()
    made["t10k-images-idx3-ubyte.gz"] = made["t10k-images-idx3-ubyte.gz"][:-50]
    with pytest.raises(DataError, match=r"t10k-images.* is no complete gzip file"):
        load_data(write(made))


def test_a_bomb_is_not_unpacked(write, monkeypatch):
    monkeypatch.setattr("puzzlemix.data.fashion_mnist._MOST_BYTES", 1000)
    with pytest.raises(DataError, match="unpacks to more than 1,000 bytes"):
        load_data(write(files()))

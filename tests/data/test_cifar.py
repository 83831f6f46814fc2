import pickle

import numpy as np
import pytest
import torch

from puzzlemix.data import DataError, load_data


@pytest.mark.parametrize("kind", ["folder", "tar"])
@pytest.mark.parametrize("classes", [10, 100])
def test_both_sets_are_read_from_folder_and_archive(cifar, write, tmp_path, classes, kind):
    files, pixels = cifar(classes)
    folder = next(iter(files)).split("/")[0]
    path = write(files, kind, "root" if kind == "folder" else f"cifar-{classes}-python")
    data = load_data(f"cifar{classes}", root=path if kind == "folder" else tmp_path)
    train = [pixels[name] for name in pixels if "test" not in name]
    assert torch.equal(data.train.images.flatten(1), torch.from_numpy(np.concatenate(train)))
    assert torch.equal(data.test.images.flatten(1), torch.from_numpy(next(v for k, v in pixels.items() if "test" in k)))
    assert data.train.labels.tolist() == [i % classes for i in range(20)] * len(train)
    assert data.class_names[3] == "class 3"
    assert data.spec.padding == 2
    assert data.spec.flip
    for by_path in (path, path / folder) if kind == "folder" else (path,):
        assert load_data(by_path).fingerprint() == data.fingerprint()


def test_the_statistics_are_the_references(cifar, write):
    facts = {10: ((125.3, 123.0, 113.9), (63.0, 62.1, 66.7)), 100: ((129.3, 124.1, 112.4), (68.2, 65.4, 70.4))}
    for classes, (mean, std) in facts.items():
        spec = load_data(f"cifar{classes}", root=write(cifar(classes)[0], name=str(classes))).spec
        assert spec.mean == tuple(value / 255 for value in mean)
        assert spec.std == tuple(value / 255 for value in std)


def test_torchvision_reads_the_same(cifar, write, monkeypatch):
    """Its check of the official sums is left out: the files are of random pixels."""
    from torchvision.datasets import CIFAR10

    root = write(cifar()[0])
    monkeypatch.setattr(CIFAR10, "_check_integrity", lambda self: True)
    monkeypatch.setattr("torchvision.datasets.cifar.check_integrity", lambda *_: True)
    theirs = CIFAR10(str(root))
    ours = load_data("cifar10", root=root)
    assert (ours.train.images.permute(0, 2, 3, 1).numpy() == theirs.data).all()
    assert ours.train.labels.tolist() == theirs.targets
    assert list(ours.class_names) == theirs.classes


def test_a_part_with_even_classes(cifar, write):
    data = load_data("cifar10", root=write(cifar()[0]), train_images=30, test_images=10)
    assert data.train.labels.bincount().tolist() == [3] * 10
    assert data.test.labels.bincount().tolist() == [1] * 10
    with pytest.raises(DataError, match="train_images=101, but cifar10 has 100"):
        load_data("cifar10", root=write(cifar()[0]), train_images=101)


def test_a_missing_file_is_named_with_the_remedy(cifar, write):
    files, _ = cifar()
    del files["cifar-10-batches-py/data_batch_3"]
    with pytest.raises(DataError, match=r"expected data_batch_3 too: remove it, then add --download .*curl .*kriz"):
        load_data("cifar10", root=write(files))


def test_the_other_set_is_not_taken_for_this_one(cifar, write):
    with pytest.raises(DataError, match=r"cifar10 is not in .*: found cifar-100-python; expected cifar-10-batches-py"):
        load_data("cifar10", root=write(cifar(100)[0]))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            {"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 2]},
            "4 images and 3 labels; expected one from 0 to 9",
        ),
        ({"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 2, 10]}, "expected one from 0 to 9"),
        ({"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 2, "cat"]}, "expected one from 0 to 9"),
        ({"data": np.zeros((4, 3072), np.uint8), "labels": [0, 1, 2, 10**30]}, "expected one from 0 to 9"),
        ({"data": np.zeros((4, 3072), np.uint8)}, "4 images and 0 labels"),
        ({"data": np.zeros((4, 3072), np.uint8), "fine_labels": [0] * 4}, "4 images and 0 labels"),
        ({"data": np.zeros((4, 3000), np.uint8), "labels": [0] * 4}, "expected data, rows of 3072 bytes"),
        ({"data": np.zeros((4, 3072), np.float32), "labels": [0] * 4}, "cannot be read"),
        ({"labels": [0] * 4}, r"holds \['labels'\]; expected data"),
        ([1], "not a dictionary"),
    ],
)
def test_wrong_content_is_said(cifar, write, batch, message):
    files, _ = cifar()
    files["cifar-10-batches-py/data_batch_2"] = pickle.dumps(batch)
    with pytest.raises(DataError, match=rf"data_batch_2.*{message}"):
        load_data("cifar10", root=write(files))


def test_wrong_class_names_are_said(cifar, write):
    files, _ = cifar()
    files["cifar-10-batches-py/batches.meta"] = pickle.dumps({"label_names": ["a"]})
    with pytest.raises(DataError, match=r"batches\.meta has no 10 label_names"):
        load_data("cifar10", root=write(files))


def test_a_truncated_file_is_said(cifar, write):
    files, _ = cifar()
    files["cifar-10-batches-py/test_batch"] = files["cifar-10-batches-py/test_batch"][:-500]
    with pytest.raises(DataError, match=r"test_batch .* cannot be read"):
        load_data("cifar10", root=write(files))

import io

import numpy as np
import pytest
import torch
from scipy.io import savemat

from puzzlemix.data import DataError, Loader, OnDisk, imagenet, load_data
from puzzlemix.data.image_folder import IMAGENET_MEAN

WNIDS = tuple(f"n{number:02}" for number in range(6))


@pytest.fixture(autouse=True)
def few_classes(monkeypatch):
    """As if ImageNet had six."""
    monkeypatch.setattr(imagenet, "_CLASSES", len(WNIDS))


def shade(image, label, width=40, height=30):
    return image(np.full((height, width, 3), label * 40), "JPEG")


@pytest.fixture
def train(image):
    return {f"train/{w}/{w}_{n}.JPEG": shade(image, i) for i, w in enumerate(WNIDS) for n in range(2)}


@pytest.fixture
def flat(image):
    """Validation images in no folders: their classes are not in the order of their names."""
    return {f"val/ILSVRC2012_val_0000000{n}.JPEG": shade(image, (5 * n + 2) % 6) for n in range(6)}


def is_right(data):
    assert isinstance(data.train, OnDisk)
    for split in (data.train, data.test):
        shown = [split.picture(sample).getpixel((0, 0))[0] for sample in range(len(split))]
        assert [round(value / 40) for value in shown] == split.labels.tolist()
        assert set(split.labels.tolist()) == set(range(6))
    return True


def solution():
    lines = [f"ILSVRC2012_val_0000000{n},{WNIDS[(5 * n + 2) % 6]} 1 2 3 4" for n in range(6)]
    return "\n".join(["ImageId,PredictionString", *lines]).encode()


def devkit(numbers=None):
    """Class numbers of its own: class i has the number 6 - i; numbers above belong to no class."""
    kind = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O")]
    synsets = np.array([(6 - i, wnid, "word") for i, wnid in enumerate(WNIDS)] + [(7, "n99", "above")], dtype=kind)
    buffer = io.BytesIO()
    savemat(buffer, {"synsets": synsets[:, None]})
    truth = [6 - (5 * n + 2) % 6 for n in range(6)] if numbers is None else numbers
    return {
        "ILSVRC2012_devkit_t12/data/meta.mat": buffer.getvalue(),
        "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt": "\n".join(map(str, truth)).encode(),
    }


def test_sorted_folders(train, write, image, tmp_path):
    val = {f"val/{w}/{w}.JPEG": shade(image, i) for i, w in enumerate(WNIDS)}
    path = write({**train, **val}, name="imagenet")
    data = load_data("imagenet", root=tmp_path)
    assert is_right(data)
    assert (data.spec.size, data.spec.resize, data.spec.crop_scale) == (224, 256, (0.08, 1.0))
    assert data.spec.mean == IMAGENET_MEAN
    assert load_data("imagenet", root=path).fingerprint() == data.fingerprint()
    with pytest.raises(DataError, match="has images of 5 classes; expected 6, but n03 are missing"):
        load_data("imagenet", root=write({**train, **{k: v for k, v in val.items() if "n03" not in k}}, name="part"))


def test_flat_images_are_labelled_by_the_development_kit(train, flat, write):
    assert is_right(load_data("imagenet", root=write({**train, **flat, **devkit()})))


def test_flat_images_are_labelled_by_kaggles_list(train, flat, write, tmp_path):
    moved = {f"ILSVRC/Data/CLS-LOC/{name}": data for name, data in {**train, **flat}.items()}
    words = b"n00 tench, Tinca tinca\nn01 crane\nn02 crane\n"
    write({**moved, "LOC_val_solution.csv": solution(), "LOC_synset_mapping.txt": words}, "zip", "imagenet")
    data = load_data("imagenet", root=tmp_path)
    assert is_right(data)
    assert data.class_names[:4] == ("tench", "crane (n01)", "crane (n02)", "n03")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "images in no class folders, and nothing says what they show; expected LOC_val_solution.csv or .*tar -xf"),
        (devkit([1, 2]), "6 validation images; expected 2, as many as"),
        (devkit([99] * 6), r"meta\.mat cannot be read"),
        (devkit([7] * 6), "classes that have no training images, n99"),
        ({**devkit(), "ILSVRC2012_devkit_t12/data/meta.mat": b"no"}, r"meta\.mat cannot be read"),
        ({"LOC_val_solution.csv": solution()[:-40]}, "1 of them not in LOC_val_solution.csv; expected the 5"),
        (
            {"LOC_val_solution.csv": solution() + b"\nmore,n01 1"},
            "0 of them not in LOC_val_solution.csv; expected the 7",
        ),
    ],
)
def test_flat_images_with_wrong_lists_are_refused(train, flat, write, change, message):
    with pytest.raises(DataError, match=message):
        load_data("imagenet", root=write({**train, **flat, **change}))


def test_a_missing_class_is_refused(train, flat, write):
    made = {name: data for name, data in {**train, **flat, **devkit()}.items() if "train/n03" not in name}
    with pytest.raises(
        DataError, match=r"5 class folders of training images; expected 6: get ILSVRC2012_img_train\.tar"
    ):
        load_data("imagenet", root=write(made))


def test_a_missing_set_is_said_with_the_commands(tmp_path):
    with pytest.raises(DataError, match=rf"imagenet is not in .*mkdir -p {tmp_path}/imagenet/train .*\$\{{t%\.tar\}}"):
        load_data("imagenet", root=tmp_path, download=True)


def test_colours_are_changed_in_training_only(train, write, image):
    val = {f"val/{w}/{w}.JPEG": shade(image, i) for i, w in enumerate(WNIDS)}
    root = write({**train, **val})
    plain, colour = (load_data(name, root=root, size=16) for name in ("imagenet", "imagenet_colour"))
    assert (colour.spec.name, colour.spec.jitter, colour.spec.lighting) == ("imagenet_colour", 0.4, 0.1)
    shown = [next(Loader(data.train).train(0, 12)) for data in (plain, colour)]
    assert torch.equal(shown[0].samples, shown[1].samples)
    assert ((shown[0].images - shown[1].images).abs().amax((1, 2, 3)) > 0.005).sum() > 9  # black may stay black
    tested = [next(Loader(data.test).test(12)).images for data in (plain, colour)]
    assert torch.equal(*tested)


def test_it_is_read_in_batches(train, write, image):
    val = {f"val/{w}/{w}.JPEG": shade(image, i) for i, w in enumerate(WNIDS)}
    data = load_data("imagenet", root=write({**train, **val}), size=16)
    (page,) = Loader(data.test).test(100)
    assert page.images.shape == (6, 3, 16, 16)
    assert ((page.images[:, 0, 0, 0] * 255 / 40).round().long() == page.labels).all()

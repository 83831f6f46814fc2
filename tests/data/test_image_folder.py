import numpy as np
import pytest
import torch

from puzzlemix.data import DataError, InMemory, OnDisk, load_data


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_small_images_are_kept_in_memory(image_folder, write, kind):
    data = load_data(write(image_folder(), kind))
    assert isinstance(data.train, InMemory)
    assert data.train.images.shape == (12, 3, 8, 8)
    assert data.train.images[:, 0, 0, 0].tolist() == [100] * 6 + [200] * 6
    assert data.train.images[:, 1, 0, 0].tolist() == [0, 10, 20, 30, 40, 50] * 2
    assert data.train.labels.tolist() == [0] * 6 + [1] * 6
    assert data.test.labels.tolist() == [0] * 3 + [1] * 3
    assert data.class_names == ("cat", "dog")
    assert (data.spec.size, data.spec.crop_scale, data.spec.resize) == (8, None, None)


def test_large_images_stay_on_disk(image_folder, write):
    data = load_data(write(image_folder(size=97, kind="JPEG", suffix="jpg")))
    assert isinstance(data.train, OnDisk)
    assert (data.spec.size, data.spec.crop_scale, data.spec.resize) == (224, (0.08, 1.0), 256)
    assert data.train.picture(0).size == (97, 97)
    assert load_data(data.train.tree.path, size=128).spec.resize == 146


def test_a_size_scales_small_images_of_any_shape(image_folder, write, image):
    files = image_folder()
    files["train/cat/0.png"] = image(np.zeros((12, 20, 3)))
    path = write(files)
    with pytest.raises(DataError, match="is 20x12, not square: pass a size to cut it to"):
        load_data(path)
    data = load_data(path, size=32)
    assert data.train.images.shape == (12, 3, 32, 32)
    assert (data.spec.size, data.spec.padding) == (32, 2)


def test_the_first_role_to_evaluate_on_that_holds_images_counts(image_folder, write):
    files = image_folder(val=0)
    for role, count in (("valid", 2), ("test", 4)):
        files |= {f"{role}/{name}/{n}.png": files["train/cat/0.png"] for name in ("cat", "dog") for n in range(count)}
    assert len(load_data(write(files)).test) == 4


def test_parts_have_even_classes(image_folder, write):
    data = load_data(write(image_folder()), train_images=4, test_images=2)
    assert data.train.labels.tolist() == [0, 0, 1, 1]
    assert data.test.labels.tolist() == [0, 1]
    assert data.train.images[:, 1, 0, 0].tolist() == [0, 10, 0, 10]


def test_of_class_folders_alone_a_fifth_is_held_out(image_folder, write):
    flat = {name.removeprefix("train/"): data for name, data in image_folder(train=10, val=0).items()}
    data = load_data(write(flat))
    assert (data.train.labels.bincount().tolist(), data.test.labels.bincount().tolist()) == ([8, 8], [2, 2])
    shown = torch.cat([data.train.images, data.test.images])[:, :2, 0, 0].tolist()
    assert len({tuple(pixel) for pixel in shown}) == 20
    assert load_data(write(flat, "zip", "again")).fingerprint() == data.fingerprint()
    with pytest.raises(DataError, match=r"class cat of .* has one image"):
        load_data(write({"cat/0.png": flat["cat/0.png"], "dog/1.png": flat["dog/1.png"]}, name="one"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"val/": None}, r"holds train/; expected images in val/CLASS/ or valid/CLASS/"),
        ({"train/": None}, r"holds val/; expected train/CLASS/images and val/CLASS/images"),
        ({"train/dog/": None, "val/dog/": None}, "has the classes cat: a classifier needs at least 2"),
        ({"train/bird/": b""}, "class folders without images: bird; expected images in each of 3"),
        ({"train/bird/notes.txt": b"x"}, "class folders without images: bird"),
        (
            {"train/loose.png": b"x"},
            r"loose\.png lies in no class folder \(one of 1\): expected train/CLASS/loose\.png",
        ),
        (
            {"val/bird/0.png": b"x"},
            "val/ of .* class folders that the training images lack: bird; expected those of cat, dog",
        ),
        ({"val/dog/": None}, "all 3 test images of .* are of one class, cat"),
        ({"train/cat/3.png": b"no"}, r"3\.png \(2 bytes\) is no image that can be read"),
        ({"train/cat/0.png": b"no"}, r"0\.png \(2 bytes\) is no image that can be read"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_expected(image_folder, write, change, message):
    gone = [name for name, content in change.items() if content is None]
    files = {name: data for name, data in image_folder().items() if not any(name.startswith(part) for part in gone)}
    files |= {name: content for name, content in change.items() if content is not None}
    with pytest.raises(DataError, match=message):
        load_data(write(files))


def test_a_validation_folder_in_one_heap_is_refused(image_folder, write):
    files = {
        name.replace("val/cat/", "val/images/").replace("val/dog/", "val/images/d"): data
        for name, data in image_folder().items()
    }
    with pytest.raises(DataError, match="lack: images; expected those of cat, dog"):
        load_data(write(files))


def test_a_folder_of_other_things_is_refused(write):
    with pytest.raises(DataError, match="holds nothing; expected train/CLASS/images"):
        load_data(write({"sub/": b""}) / "sub")
    with pytest.raises(DataError, match=r"holds a\.csv; expected train/CLASS/images"):
        load_data(write({"a.csv": b"1"}, name="other"))


def test_the_real_set(shared):
    data = load_data(shared / "data" / "cifar10-subset.zip", train_images=200, test_images=100)
    assert data.class_names[:3] == ("airplane", "automobile", "bird")
    assert data.train.images.shape == (200, 3, 32, 32)
    assert data.test.labels.bincount().tolist() == [10] * 10

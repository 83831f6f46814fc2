import numpy as np
import pytest
import torch

from puzzlemix.data import DataError, load_data

WNIDS = ("n03", "n01", "n02")
TRAIN, VAL = 4, 9


@pytest.fixture
def files(image):
    """The official layout with three classes; the class of an image shows in its red channel."""
    made = {
        "wnids.txt": "\n".join(WNIDS).encode(),
        "words.txt": b"n01\tcrane, bird\nn02\tgoldfish, Carassius auratus\nn03\tcrane\nn09\tother\n",
    }
    lines = []
    for wnid in WNIDS:
        names = [f"{wnid}_{number}.JPEG" for number in range(TRAIN)]
        made |= {f"train/{wnid}/images/{name}": colour(image, wnid) for name in names}
        made[f"train/{wnid}/{wnid}_boxes.txt"] = "".join(f"{name}\t0\t0\t62\t62\n" for name in names).encode()
    for number in range(VAL):
        wnid = WNIDS[number * 2 % 3]
        made[f"val/images/val_{number}.JPEG"] = colour(image, wnid)
        lines.append(f"val_{number}.JPEG\t{wnid}\t0\t32\t44\t62\n")
    made["val/val_annotations.txt"] = "".join(lines).encode()
    made["test/images/test_0.JPEG"] = colour(image, "n01")
    return made


def colour(image, wnid):
    return image(np.full((64, 64, 3), int(wnid[1:]) * 60), "JPEG")


def sorted_val(files, where="val/{wnid}/{image}", keep_list=False):
    """The same with its validation images in class folders."""
    made = {name: data for name, data in files.items() if not name.startswith("val/")}
    for line in files["val/val_annotations.txt"].decode().splitlines():
        image, wnid, *_ = line.split("\t")
        made[where.format(wnid=wnid, image=image)] = files[f"val/images/{image}"]
    return {**made, "val/val_annotations.txt": files["val/val_annotations.txt"]} if keep_list else made


def is_right(data):
    """Every label is what the image shows."""
    for split, count in ((data.train, TRAIN * 3), (data.test, VAL)):
        assert torch.equal((split.images[:, 0, 0, 0] / 60).round().long() - 1, split.labels)
        assert split.labels.bincount().tolist() == [count // 3] * 3
    return True


@pytest.mark.parametrize("kind", ["folder", "zip", "tar"])
def test_the_official_layout_from_folder_and_archive(files, write, kind):
    data = load_data(write({f"tiny-imagenet-200/{name}": content for name, content in files.items()}, kind))
    assert is_right(data)
    assert data.class_names == ("crane (n01)", "goldfish", "crane (n03)")
    spec = data.spec
    assert (spec.name, spec.size, spec.padding, spec.mean, spec.std) == ("tiny_imagenet", 64, 4, (0.5,) * 3, (0.5,) * 3)


def test_by_name_from_below_the_root_or_the_root_itself(files, write, tmp_path):
    write(files, "zip", "tiny-imagenet-200")
    by_archive = load_data("tiny_imagenet", root=tmp_path)
    assert is_right(by_archive)
    folder = write(files, name="tiny-imagenet-200")
    assert load_data("tiny_imagenet", root=tmp_path).fingerprint() == by_archive.fingerprint()
    assert load_data("tiny_imagenet", root=folder).fingerprint() == by_archive.fingerprint()


@pytest.mark.parametrize("where", ["val/{wnid}/{image}", "val/{wnid}/images/{image}"])
@pytest.mark.parametrize("keep_list", [True, False])
def test_sorted_copies_are_read_too(files, write, where, keep_list):
    assert is_right(load_data(write(sorted_val(files, where, keep_list))))


def test_a_wrongly_sorted_copy_is_refused(files, write):
    made = sorted_val(files, keep_list=True)
    made["val/n02/val_0.JPEG"] = made.pop("val/n03/val_0.JPEG")
    with pytest.raises(DataError, match=r"val_0\.JPEG.* in a wrong folder \(one of 1\); expected it in val/n03/"):
        load_data(write(made))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"val/val_annotations.txt": None},
            r"val/ of .* has images, but no val_annotations.txt.*expected that list.*unzip -o",
        ),
        ({"val/images/val_3.JPEG": None}, r"holds 8 images, 0 of them not in .*expected the 9 .*lacks val_3\.JPEG"),
        ({"val/images/val_99.JPEG": b""}, "holds 10 images, 1 of them not in"),
        ({"val/val_annotations.txt": b"val_0.JPEG\tn07\t0\n"}, "says 'val_0.JPEG.tn07.*one of the 3 classes"),
        ({"val/val_annotations.txt": b"garbage"}, "says 'garbage'"),
        ({"val/val_annotations.txt": b"../../train/n01/images/n01_0.JPEG\tn01\n"}, "holds 9 images, 9 of them not in"),
        ({"train/n02/images/n02_1.JPEG": None}, "train/n02/ of .* holds 3 images; expected the 4 that .*n02_boxes.txt"),
        ({"wnids.txt": b"n01\nn02\nn03\nn04\n"}, "has 3 class folders; expected 4, .* but n04 are missing"),
        ({"wnids.txt": b"n01\nn02\n"}, "train/ of .* has class folders that .* lack: n03"),
        ({"train/n02/images/n02_1.JPEG": b"damaged"}, r"n02_1\.JPEG .* is no image that can be read"),
        ({"train/n04/images/": b""}, "class folders without images: n04; expected images in each of 4"),
    ],
)
def test_what_is_wrong_is_said_with_what_was_expected(files, write, change, message):
    made = {name: data for name, data in {**files, **change}.items() if data is not None}
    with pytest.raises(DataError, match=message):
        load_data(write(made))


def test_a_set_without_training_images_is_refused(files, write):
    made = {name: data for name, data in files.items() if not name.startswith("train/")}
    with pytest.raises(DataError, match="expected train/CLASS/images/"):
        load_data(write(made))


def test_classes_without_validation_images_are_refused(files, write):
    made = {name: data for name, data in sorted_val(files).items() if not name.startswith("val/n02/")}
    with pytest.raises(DataError, match="has images of 2 classes; expected 3, but n02 are missing"):
        load_data(write(made))


def test_the_real_set(shared):
    data = load_data(shared / "data" / "tiny-imagenet-20.zip", train_images=100)
    assert data.spec.classes == 20
    assert data.test.labels.bincount().tolist() == [50] * 20
    assert data.class_names[:2] == ("goldfish", "European fire salamander")
    assert data.train.images.float().std() > 50

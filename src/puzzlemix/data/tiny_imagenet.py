"""Tiny-ImageNet-200 as it is published, whole or with fewer classes: the archive, or the folder that is in it.

Its test images have no labels, so the validation images are evaluated on. They lie in one folder, and what they show
stands in a list. The list is believed, wherever the images lie: sorted copies of the folder go round too, and a wrongly
sorted one must not pass.
"""

from collections import Counter
from collections.abc import Sequence

from .archive import Tree, images_of, listed, overview, read_lines
from .errors import DataError
from .listing import Listing, check_all_there, class_folders, list_classes, make_data_set, make_listing
from .request import Request
from .sources import File, Source, open_source
from .spec import DataSet, DataSpec
from .words import class_names

_SIZE = 64
_WNIDS, _WORDS, _ANNOTATIONS = "wnids.txt", "words.txt", "val/val_annotations.txt"
_ARCHIVE = "tiny-imagenet-200.zip"
_SOURCE = Source(
    "tiny_imagenet",
    ("tiny-imagenet-200", _ARCHIVE),
    (_WNIDS, "train", "val"),
    (File(f"http://cs231n.stanford.edu/{_ARCHIVE}", _ARCHIVE, "90528d7ca1a48142e341f4ef8d21d0de"),),
)


def load_tiny_imagenet(request: Request) -> DataSet:
    """Read Tiny-ImageNet-200 from below the root."""
    return read_tiny_imagenet(open_source(_SOURCE, request), request)


def is_tiny_imagenet(tree: Tree) -> bool:
    """Whether its lists lie here."""
    return _WNIDS in tree.names or _ANNOTATIONS in tree.names


def read_tiny_imagenet(tree: Tree, request: Request) -> DataSet:
    """Read the folder or archive; classes are numbered in the order of their WordNet names."""
    classes = _classes(tree)
    train = list_classes(tree, "train/", classes)
    _check_boxes(tree, train, classes)
    spec = DataSpec("tiny_imagenet", len(classes), request.size or _SIZE, padding=4)
    return make_data_set(tree, spec, class_names(tree, _WORDS, classes), (train, _validation(tree, classes)), request)


def _classes(tree: Tree) -> tuple[str, ...]:
    found = class_folders(tree, "train/")
    if not found:
        raise DataError(f"{tree.path} holds {overview(tree)}; expected train/CLASS/images/: {_again(tree)}")
    if _WNIDS not in tree.names:
        return found
    expected = sorted(line.strip() for line in read_lines(tree, _WNIDS))
    lacking = sorted(set(expected) - set(found))
    if lacking:
        raise DataError(
            f"train/ of {tree.path} has {len(found)} class folders; expected {len(expected)}, those of "
            f"{_WNIDS}, but {listed(lacking)} are missing: {_again(tree)}"
        )
    return tuple(expected)


def _again(tree: Tree) -> str:
    return f"it was not unpacked whole, `unzip -o {_ARCHIVE}`" if tree.path.is_dir() else "fetch the archive again"


def _check_boxes(tree: Tree, train: Listing, classes: Sequence[str]) -> None:
    """Every class has a list of its images, with the place of the object: those that are missing show there."""
    counts = Counter(classes[label] for label in train.labels.tolist())
    for name in classes:
        boxes = f"train/{name}/{name}_boxes.txt"
        if boxes in tree.names and (expected := len(read_lines(tree, boxes))) > counts[name]:
            raise DataError(
                f"train/{name}/ of {tree.path} holds {counts[name]} images; expected the {expected} that "
                f"{boxes} lists: {_again(tree)}"
            )


def _validation(tree: Tree, classes: Sequence[str]) -> Listing:
    if _ANNOTATIONS not in tree.names:
        return _sorted_validation(tree, classes)
    class_of = _annotations(tree, classes)
    images = {name.rsplit("/", 1)[-1]: name for name in images_of(tree, "val/")}
    missing, unknown = sorted(class_of.keys() - images.keys()), sorted(images.keys() - class_of.keys())
    if missing or unknown:
        raise DataError(
            f"val/ of {tree.path} holds {len(images):,} images, {len(unknown):,} of them not in {_ANNOTATIONS}; "
            f"expected the {len(class_of):,} that it lists, but lacks {listed(missing) or 'none'}: {_again(tree)}"
        )
    _check_folders(tree, {name: class_of[image] for image, name in images.items()}, classes)
    return make_listing({name: class_of[image] for image, name in images.items()}, classes)


def _annotations(tree: Tree, classes: Sequence[str]) -> dict[str, str]:
    """Which class each image is of, by its name."""
    class_of = {}
    for line in read_lines(tree, _ANNOTATIONS):
        image, name, *_ = *line.split("\t"), ""
        if name not in classes:
            raise DataError(
                f"{tree.describe(_ANNOTATIONS)} says {line[:80]!r}; expected an image, a tab and one of the "
                f"{len(classes)} classes of the training images: {_again(tree)}"
            )
        class_of[image] = name
    return class_of


def _check_folders(tree: Tree, class_of: dict[str, str], classes: Sequence[str]) -> None:
    """Images that were sorted into class folders must lie in their own."""
    folders = {name: name.split("/")[1] for name in class_of}
    wrong = [name for name, folder in folders.items() if folder in classes and folder != class_of[name]]
    if wrong:
        raise DataError(
            f"{tree.describe(wrong[0])} lies in a wrong folder (one of {len(wrong):,}); expected it in val/"
            f"{class_of[wrong[0]]}/, as {_ANNOTATIONS} says: {_again(tree)}, with val/ removed first"
        )


def _sorted_validation(tree: Tree, classes: Sequence[str]) -> Listing:
    """Read a copy without the list, whose images were sorted into class folders."""
    folders = {name.split("/")[1] for name in images_of(tree, "val/")}
    if not folders or not folders <= set(classes):
        raise DataError(
            f"val/ of {tree.path} has {listed(sorted(folders)) or 'no images'}, but no val_annotations.txt, so that "
            f"nobody knows what they show; expected that list, or images in val/CLASS/: {_again(tree)}"
        )
    listing = list_classes(tree, "val/", classes)
    check_all_there(tree, "val/", listing, classes)
    return listing

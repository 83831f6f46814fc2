"""Any folder, or archive of one, with images in train/CLASS/ and the same in val, valid, validation or test.

The first of these that is there is evaluated on. Where there are only class folders, CLASS/image, a fifth of every
class is kept for that: which images follows from their names, so it stays the same.

Small images (up to 96 pixels) are kept in memory and cut with a padding of 1/16 of their side; others are read by
workers and cut as for ImageNet, 224 pixels by default. All are normalised by ImageNet's statistics.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from .archive import ROLES, Tree, images_of, listed, overview
from .decode import open_image
from .draws import seed_of
from .errors import DataError
from .listing import Listing, class_folders, find_role, list_classes, make_data_set, make_listing
from .request import Request
from .spec import DataSet, DataSpec

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
_TEST_ROLES = ("val", "valid", "validation", "test")
_TEST_SHARE = 1 / 5
_SMALL = 96  # pixels: images up to here are kept in memory, if all of them take no more than
_MOST_BYTES = 4 * 2**30


def read_image_folder(tree: Tree, request: Request) -> DataSet:
    """Read the folder or archive."""
    if images_of(tree, "train/"):
        classes = class_folders(tree, "train/")
        test = find_role(tree, _TEST_ROLES)
        listings = list_classes(tree, "train/", classes), list_classes(tree, test, classes)
    elif _only_classes(tree):
        classes = class_folders(tree, "")
        listings = _held_out(tree, classes)
    else:
        raise DataError(_no_train(tree))
    if len(classes) < 2:
        raise DataError(f"{tree.path} has the classes {listed(classes)}: a classifier needs at least 2 class folders")
    spec = _spec_of(tree, classes, listings, request)
    return make_data_set(tree, spec, classes, listings, request, scale=request.size is not None)


def zooming(spec: DataSpec) -> DataSpec:
    """Cut as for ImageNet: random shares of the area in training, in evaluation the centre 7/8 of the shorter side."""
    return replace(spec, crop_scale=(0.08, 1.0), resize=spec.size * 8 // 7)


def _only_classes(tree: Tree) -> bool:
    images = [name.split("/") for name in images_of(tree)]
    return bool(images) and all(len(parts) == 2 and parts[0] not in ROLES for parts in images)


def _held_out(tree: Tree, classes: Sequence[str]) -> tuple[Listing, Listing]:
    train, test = {}, {}
    for name in classes:
        files = sorted(images_of(tree, f"{name}/"), key=seed_of)
        kept = ceil(len(files) * _TEST_SHARE)
        if kept == len(files):
            raise DataError(
                f"class {name} of {tree.path} has one image, {files[0]}: a training and a test image are needed"
            )
        test |= dict.fromkeys(files[:kept], name)
        train |= dict.fromkeys(files[kept:], name)
    return make_listing(train, classes), make_listing(test, classes)


def _spec_of(tree: Tree, classes: Sequence[str], listings: Sequence[Listing], request: Request) -> DataSpec:
    """Facts by the first image: sets of small ones are cut with padding, of others with zoom as for ImageNet."""
    first = listings[0].names[0]
    width, height = open_image(tree.read(first), tree.describe(first)).size
    spec = DataSpec(tree.path.stem, len(classes), request.size or 224, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    images = sum(len(listing.names) for listing in listings)
    if max(width, height) > _SMALL or images * 3 * (request.size or width) ** 2 > _MOST_BYTES:
        return zooming(spec)
    if width != height and request.size is None:
        raise DataError(
            f"{tree.describe(first)} is {width}x{height}, not square: pass a size to cut it to, size={height}"
        )
    size = request.size or width
    return replace(spec, size=size, padding=size // 16)


def _no_train(tree: Tree) -> str:
    return (
        f"{tree.path} holds {overview(tree)}; expected train/CLASS/images and val/CLASS/images: pass the folder or zip "
        "archive that holds train and val, and give each class a folder of its own in both"
    )

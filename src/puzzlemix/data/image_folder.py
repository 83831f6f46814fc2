"""Any folder, or zip archive of one, with images in train/CLASS/ and the same in val, valid, validation or test.

The first of these that is there is evaluated on. Small images (up to 96 pixels) are kept in memory and cut with a
padding of 1/16 of their side; others are read by workers and cut as for ImageNet, 224 pixels by default. All are
normalised by ImageNet's statistics.
"""

from pathlib import Path

from .archive import Tree, images_of, overview
from .errors import DataError
from .listing import class_folders, find_role, list_classes, make_data_set
from .request import Request
from .spec import DataSet

_TEST_ROLES = ("val", "valid", "validation", "test")


def load_image_folder(tree: Tree, request: Request) -> DataSet:
    """Read the folder or archive."""
    if not images_of(tree, "train/"):
        raise DataError(_no_train(tree))
    classes = class_folders(tree, "train/")
    test = find_role(tree, _TEST_ROLES)
    listings = list_classes(tree, "train/", classes), list_classes(tree, test, classes)
    return make_data_set(tree, Path(tree.path).stem, classes, listings, request)


def _no_train(tree: Tree) -> str:
    return (
        f"{tree.path} holds {overview(tree)}; expected train/CLASS/images and val/CLASS/images: pass the folder or zip "
        "archive that holds train and val, and give each class a folder of its own in both"
    )

"""ImageNet (ILSVRC 2012): train/CLASS/ and val/, sorted into class folders, or flat with the list of what is shown.

The list is LOC_val_solution.csv, as Kaggle gives it beside the images, or the ground truth of the official development
kit. Images are read when needed, by workers.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import replace

from .archive import Tree, images_of, listed, overview, read_lines
from .errors import DataError
from .image_folder import IMAGENET_MEAN, IMAGENET_STD, zooming
from .listing import Listing, check_all_there, class_folders, list_classes, make_data_set, make_listing
from .request import Request
from .sources import Source, open_source
from .spec import DataSet, DataSpec
from .words import class_names

_CLASSES = 1000
_SIZE = 224
_SOLUTION, _WORDS = "LOC_val_solution.csv", "LOC_synset_mapping.txt"
_DEVKIT = "ILSVRC2012_devkit_t12/data"
_TRUTH, _META = f"{_DEVKIT}/ILSVRC2012_validation_ground_truth.txt", f"{_DEVKIT}/meta.mat"
_KAGGLE = "ILSVRC/Data/CLS-LOC/"
_SOURCE = Source(
    "imagenet",
    ("imagenet", "ILSVRC2012", "imagenet.zip"),
    ("train", "val"),
    advice=(
        "get ILSVRC2012_img_train.tar, ILSVRC2012_img_val.tar and ILSVRC2012_devkit_t12.tar.gz from "
        "https://image-net.org/download (its terms must be accepted), then run `mkdir -p {root}/imagenet/train "
        "{root}/imagenet/val && tar -xf ILSVRC2012_img_train.tar -C {root}/imagenet/train && tar -xf "
        "ILSVRC2012_img_val.tar -C {root}/imagenet/val && tar -xf ILSVRC2012_devkit_t12.tar.gz -C {root}/imagenet && "
        "cd {root}/imagenet/train && for t in *.tar; do mkdir ${{t%.tar}} && tar -xf $t -C ${{t%.tar}} && rm $t; done`"
    ),
)


def load_imagenet(request: Request) -> DataSet:
    """Read ImageNet from below the root; all 1000 classes have to be there."""
    return _read(request, _spec(request))


def load_imagenet_colour(request: Request) -> DataSet:
    """Read ImageNet to be shown in changed colours in training, as in runs of 300 epochs."""
    return _read(request, replace(_spec(request), name="imagenet_colour", jitter=0.4, lighting=0.1))


def _spec(request: Request) -> DataSpec:
    size = request.size or _SIZE
    return zooming(DataSpec("imagenet", _CLASSES, size, mean=IMAGENET_MEAN, std=IMAGENET_STD))


def _read(request: Request, spec: DataSpec) -> DataSet:
    tree = open_source(_SOURCE, request)
    inside = _KAGGLE if images_of(tree, f"{_KAGGLE}train/") else ""
    classes = class_folders(tree, f"{inside}train/")
    if len(classes) != _CLASSES:
        raise DataError(
            f"{tree.path} holds {overview(tree)} and {len(classes)} class folders of training images; expected "
            f"{_CLASSES}: {_SOURCE.remedy(request.root)}. A part of ImageNet is read if its path is passed as the data"
        )
    train = list_classes(tree, f"{inside}train/", classes)
    test = _validation(tree, f"{inside}val/", classes)
    return make_data_set(tree, spec, class_names(tree, _WORDS, classes), (train, test), request)


def _validation(tree: Tree, folder: str, classes: Sequence[str]) -> Listing:
    images = images_of(tree, folder)
    flat = [name for name in images if "/" not in name[len(folder) :]]
    if not flat:
        listing = list_classes(tree, folder, classes)
        check_all_there(tree, folder, listing, classes)
        return listing
    class_of = _truth(tree, folder)(sorted(images))
    strange = sorted(set(class_of.values()) - set(classes))
    if strange:
        raise DataError(
            f"the list of {tree.path} names classes that have no training images, {listed(strange)}: fetch it again"
        )
    return make_listing(class_of, classes)


def _truth(tree: Tree, folder: str) -> Callable[[list[str]], dict[str, str]]:
    """What gives each image of a flat folder its class."""
    if _SOLUTION in tree.names:
        return lambda images: _by_solution(tree, images)
    if {_TRUTH, _META} <= set(tree.names):
        return lambda images: _by_devkit(tree, images)
    raise DataError(
        f"{folder} of {tree.path} has images in no class folders, and nothing says what they show; expected "
        f"{_SOLUTION} or {_DEVKIT}/ beside it: run `tar -xf ILSVRC2012_devkit_t12.tar.gz -C {tree.path}`"
    )


def _by_solution(tree: Tree, images: list[str]) -> dict[str, str]:
    """Kaggle's list: a line of titles, then IMAGE,CLASS and the object's place."""
    pairs = (line.split(",", 1) for line in read_lines(tree, _SOLUTION)[1:])
    known = {image: rest[0].split(" ")[0] for image, *rest in pairs if rest}
    missing = [name for name in images if _stem(name) not in known]
    if missing or len(known) != len(images):
        raise DataError(
            f"{tree.path} has {len(images):,} validation images, {len(missing):,} of them not in {_SOLUTION}; "
            f"expected the {len(known):,} that it lists: unpack the archive again"
        )
    return {name: known[_stem(name)] for name in images}


def _stem(name: str) -> str:
    return name.rsplit("/", 1)[-1].split(".")[0]


def _by_devkit(tree: Tree, images: list[str]) -> dict[str, str]:
    """The development kit: a class number for each image in their order, and which number is which class."""
    from scipy.io import loadmat

    numbers = read_lines(tree, _TRUTH)
    if len(numbers) != len(images):
        raise DataError(
            f"{tree.path} has {len(images):,} validation images; expected {len(numbers):,}, as many as "
            f"{_TRUTH} has lines: unpack ILSVRC2012_img_val.tar again"
        )
    try:
        synsets = loadmat(io.BytesIO(tree.read(_META)), squeeze_me=True)["synsets"]
        known = {int(synset["ILSVRC2012_ID"]): str(synset["WNID"]) for synset in synsets}
        return {name: known[int(number)] for name, number in zip(images, numbers, strict=True)}
    except Exception as error:  # damaged bytes can fail in any way
        raise DataError(
            f"{tree.describe(_META)} cannot be read ({error!r}): unpack the development kit again"
        ) from error

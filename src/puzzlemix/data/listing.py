"""Labelled files of a tree, before any image is opened, and the splits they become."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from .archive import Tree, images_of, overview
from .decode import open_image, read_images
from .errors import DataError
from .request import Request
from .spec import DataSet, DataSpec, InMemory, OnDisk, Split

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
_SMALL = 96  # pixels: images up to here are kept in memory, if all of them take no more than
_MOST_BYTES = 4 * 2**30


class Listing(NamedTuple):
    """Files of a split, and the labels (N) int64 of what they show."""

    names: tuple[str, ...]
    labels: Tensor


def class_folders(tree: Tree, folder: str) -> tuple[str, ...]:
    """List the folders of images within a folder ("train/"), sorted; an image beside them is refused."""
    parts = [name[len(folder) :].split("/") for name in images_of(tree, folder)]
    loose = [part[0] for part in parts if len(part) == 1]
    if loose:
        raise DataError(
            f"{tree.describe(folder + loose[0])} lies in no class folder (one of {len(loose):,}): expected "
            f"{folder}CLASS/{loose[0]}, move each image into the folder of its class"
        )
    return tuple(sorted({part[0] for part in parts}))


def list_classes(tree: Tree, folder: str, classes: Sequence[str]) -> Listing:
    """List the images in the class folders within a folder, in the order of the classes and then of their names."""
    found = class_folders(tree, folder)
    unknown = sorted(set(found) - set(classes))
    if unknown:
        raise DataError(
            f"{folder} of {tree.path} has class folders that the training images lack: {_first(unknown)}; expected "
            f"those of {_first(classes)}: sort its images into folders named like the training classes"
        )
    number = {name: label for label, name in enumerate(classes)}
    names = images_of(tree, folder)
    labels = torch.tensor([number[name[len(folder) :].split("/")[0]] for name in names], dtype=torch.int64)
    order = labels.argsort(stable=True)
    return Listing(tuple(names[place] for place in order.tolist()), labels[order])


def _first(names: Sequence[str], most: int = 5) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def find_role(tree: Tree, roles: Sequence[str]) -> str:
    """Find the first of these folders that holds images, as "val/"."""
    for role in roles:
        if images_of(tree, f"{role}/"):
            return f"{role}/"
    raise DataError(
        f"{tree.path} holds {overview(tree)}; expected images in {' or '.join(f'{role}/CLASS/' for role in roles)}: "
        "give every split a folder and in it every class one"
    )


def make_data_set(
    tree: Tree, name: str, classes: Sequence[str], listings: tuple[Listing, Listing], request: Request
) -> DataSet:
    """Turn the listings of the training and the test images into splits: small images in memory, others on disk.

    Which of both depends on the set alone, not on how much of it is wanted.
    """
    if len(classes) < 2:
        raise DataError(f"{tree.path} has the classes {_first(classes)}: a classifier needs at least 2 class folders")
    for role, listing in zip(("training", "test"), listings, strict=True):
        if not listing.names:
            raise DataError(f"{tree.path} has no {role} images: it holds {overview(tree)}")
    spec = _spec_of(tree, name, len(classes), listings, request)
    rows = request.train_rows(listings[0].labels, name), request.test_rows(listings[1].labels, name)
    chosen = (_rows_of(*pair) for pair in zip(listings, rows, strict=True))
    train, test = (_make_split(tree, listing, spec, scale=request.size is not None) for listing in chosen)
    return DataSet(train, test, tuple(classes))


def _rows_of(listing: Listing, rows: Tensor) -> Listing:
    return Listing(tuple(listing.names[row] for row in rows.tolist()), listing.labels[rows])


def _spec_of(tree: Tree, name: str, classes: int, listings: Sequence[Listing], request: Request) -> DataSpec:
    """Facts by the first image: sets of small ones are cut with padding, of others with zoom as for ImageNet."""
    first = listings[0].names[0]
    width, height = open_image(tree.read(first), tree.describe(first)).size
    spec = DataSpec(name, classes, request.size or 224, mean=IMAGENET_MEAN, std=IMAGENET_STD)
    images = sum(len(listing.names) for listing in listings)
    if max(width, height) <= _SMALL and images * 3 * (request.size or width) ** 2 <= _MOST_BYTES:
        if width != height and request.size is None:
            raise DataError(f"{tree.describe(first)} is {width}x{height}, not square: pass a size to cut it to")
        size = request.size or width
        return replace(spec, size=size, padding=size // 16)
    return zooming(spec)


def zooming(spec: DataSpec) -> DataSpec:
    """Cut as for ImageNet: random shares of the area in training, in evaluation the centre 7/8 of the shorter side."""
    return replace(spec, crop_scale=(0.08, 1.0), resize=spec.size * 8 // 7)


def _make_split(tree: Tree, listing: Listing, spec: DataSpec, *, scale: bool) -> Split:
    if spec.crop_scale is not None:
        return OnDisk(tree, listing.names, listing.labels, spec)
    return InMemory(read_images(tree, list(listing.names), spec.size, scale=scale), listing.labels, spec)

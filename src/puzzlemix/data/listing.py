"""Labelled files of a tree, before any image is opened, and the splits they become."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from .archive import Tree, images_of, listed, overview
from .decode import read_images
from .errors import DataError
from .request import Request
from .spec import DataSet, DataSpec, InMemory, OnDisk, Split


class Listing(NamedTuple):
    """Files of a split, and the labels (N) int64 of what they show."""

    names: tuple[str, ...]
    labels: Tensor


def class_folders(tree: Tree, folder: str) -> tuple[str, ...]:
    """List the class folders within a folder ("train/"), sorted; images beside them and empty ones are refused."""
    parts = [name[len(folder) :].split("/") for name in images_of(tree, folder)]
    loose = [part[0] for part in parts if len(part) == 1]
    if loose:
        raise DataError(
            f"{tree.describe(folder + loose[0])} lies in no class folder (one of {len(loose):,}): expected "
            f"{folder}CLASS/{loose[0]}, move each image into the folder of its class"
        )
    classes = {part[0] for part in parts}
    empty = sorted(_subfolders(tree, folder) - classes)
    if empty:
        raise DataError(
            f"{folder} of {tree.path} has class folders without images: {listed(empty)}; expected images in each of "
            f"{len(empty) + len(classes)}: fetch what is missing, or remove them"
        )
    return tuple(sorted(classes))


def _subfolders(tree: Tree, folder: str) -> set[str]:
    inside = (name[len(folder) :] for name in (*tree.names, *tree.folders) if name.startswith(folder))
    return {name.split("/")[0] for name in inside if "/" in name}


def list_classes(tree: Tree, folder: str, classes: Sequence[str]) -> Listing:
    """List the images in the class folders within a folder, in the order of the classes and then of their names."""
    found = {name[len(folder) :].split("/")[0] for name in images_of(tree, folder)}
    unknown = sorted(found - set(classes))
    if unknown:
        raise DataError(
            f"{folder} of {tree.path} has class folders that the training images lack: {listed(unknown)}; expected "
            f"those of {listed(classes)}: sort its images into folders named like the training classes"
        )
    return make_listing({name: name[len(folder) :].split("/")[0] for name in images_of(tree, folder)}, classes)


def make_listing(class_of: dict[str, str], classes: Sequence[str]) -> Listing:
    """Number the classes of files, and sort the files by class and then by name."""
    number = {name: label for label, name in enumerate(classes)}
    names = sorted(class_of)
    labels = torch.tensor([number[class_of[name]] for name in names], dtype=torch.int64)
    order = labels.argsort(stable=True)
    return Listing(tuple(names[place] for place in order.tolist()), labels[order])


def check_all_there(tree: Tree, folder: str, listing: Listing, classes: Sequence[str]) -> None:
    """Refuse a listing that lacks classes."""
    missing = sorted(set(range(len(classes))) - set(listing.labels.tolist()))
    if missing:
        raise DataError(
            f"{folder} of {tree.path} has images of {len(classes) - len(missing)} classes; expected {len(classes)}, "
            f"but {listed([classes[label] for label in missing])} are missing: fetch the data set again"
        )


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
    tree: Tree,
    spec: DataSpec,
    class_names: Sequence[str],
    listings: tuple[Listing, Listing],
    request: Request,
    *,
    scale: bool = False,
) -> DataSet:
    """Turn the listings of the training and the test images into splits, on disk where the spec has a crop_scale.

    scale: bring images to be kept in memory to the spec's size, rather than expect them to be of one size.
    """
    for role, listing in zip(("training", "test"), listings, strict=True):
        if not listing.names:
            raise DataError(f"{tree.path} has no {role} images: it holds {overview(tree)}")
    if len(listings[1].labels.unique()) == 1 and len(listings[1].names) > 1:
        raise DataError(
            f"all {len(listings[1].names):,} test images of {tree.path} are of one class, "
            f"{class_names[int(listings[1].labels[0])]}: sort them into the folders of their classes"
        )
    rows = request.train_rows(listings[0].labels, spec.name), request.test_rows(listings[1].labels, spec.name)
    train, test = (_make_split(tree, _rows_of(*pair), spec, scale=scale) for pair in zip(listings, rows, strict=True))
    return DataSet(train, test, tuple(class_names))


def _rows_of(listing: Listing, rows: Tensor) -> Listing:
    return Listing(tuple(listing.names[row] for row in rows.tolist()), listing.labels[rows])


def _make_split(tree: Tree, listing: Listing, spec: DataSpec, *, scale: bool) -> Split:
    if spec.crop_scale is not None:
        return OnDisk(tree, listing.names, listing.labels, spec)
    side = spec.size if scale else None
    return InMemory(read_images(tree, listing.names, side), listing.labels, spec)

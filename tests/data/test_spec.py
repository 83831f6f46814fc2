import dataclasses

import pytest
import torch

from puzzlemix.data import DataSet, DataSpec, InMemory, OnDisk
from puzzlemix.data.archive import open_tree

SPEC = DataSpec("x", 3, 8)


def in_memory(count=100, seed=0):
    generator = torch.Generator().manual_seed(seed)
    images = torch.randint(256, (count, 3, 8, 8), generator=generator, dtype=torch.uint8)
    return InMemory(images, torch.arange(count) % 3, SPEC)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": 1}, "classes=1"),
        ({"mean": (0.5,)}, "one for each of 3 channels"),
        ({"std": (1.0,) * 4}, "one for each of 3 channels"),
        ({"resize": 7}, "resize=7 is less than the size=8"),
        ({"jitter": 1.5}, "jitter=1.5"),
        ({"lighting": -1.0}, "lighting=-1.0"),
        ({"channels": 1, "mean": (0.5,), "std": (0.5,), "jitter": 0.4}, "for images of 3 channels: pass 0 for 1"),
    ],
)
def test_facts_that_cannot_be_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(SPEC, **changes)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (torch.zeros(2, 3, 8, 8), torch.zeros(2, dtype=torch.int64), "pass uint8"),
        (torch.zeros(2, 8, 8, dtype=torch.uint8), torch.zeros(2, dtype=torch.int64), "pass uint8"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.zeros(3, dtype=torch.int64), r"pass int64 \(2,\)"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.zeros(2), r"pass int64 \(2,\)"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.tensor([0, 3]), "from 0 to 3 for 3 classes"),
        (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), torch.tensor([-1, 0]), "from -1 to 0"),
        (torch.zeros(0, 3, 8, 8, dtype=torch.uint8), torch.zeros(0, dtype=torch.int64), "without images"),
    ],
)
def test_splits_that_do_not_fit_are_refused(images, labels, message):
    with pytest.raises(ValueError, match=message):
        InMemory(images, labels, SPEC)


def test_a_set_has_a_name_for_every_class():
    with pytest.raises(ValueError, match="2 class names for 3 classes"):
        DataSet(in_memory(), in_memory(), ("a", "b"))


def test_a_part_of_a_split_keeps_what_belongs_together():
    masks = torch.arange(100)[:, None, None].expand(100, 8, 8) % 2 == 0
    split = dataclasses.replace(in_memory(), masks=masks)
    rows = torch.tensor([3, 7, 50])
    part = split.at(rows)
    assert torch.equal(part.images, split.images[rows])
    assert torch.equal(part.labels, split.labels[rows])
    assert torch.equal(part.masks, masks[rows])


def test_the_fingerprint_changes_with_the_data_and_with_nothing_else():
    data = DataSet(in_memory(), in_memory(seed=1), ("a", "b", "c"))
    again = DataSet(in_memory(), in_memory(seed=1), ("a", "b", "c"))
    assert data.fingerprint() == again.fingerprint()
    layout = in_memory().images.contiguous(memory_format=torch.channels_last)
    assert (
        DataSet(InMemory(layout, in_memory().labels, SPEC), data.test, data.class_names).fingerprint()
        == data.fingerprint()
    )

    pixel = in_memory().images.clone()
    pixel[0, 0, 0, 0] += 1
    labels = in_memory().labels.flip(0)
    changed = [
        DataSet(InMemory(pixel, in_memory().labels, SPEC), data.test, data.class_names),
        DataSet(InMemory(in_memory().images, labels, SPEC), data.test, data.class_names),
        DataSet(data.test, data.train, data.class_names),
        DataSet(in_memory(99), data.test, data.class_names),
        DataSet(data.train, data.test, ("a", "c", "b")),
    ]
    assert len({data.fingerprint(), *(other.fingerprint() for other in changed)}) == 6


def test_the_fingerprint_stays_what_it_is():
    """It is kept in checkpoints and records: the same data must have the same one in every version."""
    images = (torch.arange(4 * 3 * 8 * 8) % 256).view(4, 3, 8, 8).to(torch.uint8)
    split = InMemory(images, torch.tensor([0, 1, 2, 0]), SPEC)
    assert DataSet(split, split, ("a", "b", "c")).fingerprint() == "1ea25aeb29d4d1f0"


def test_a_split_on_disk_is_known_by_its_names_labels_and_files(write, image):
    files = {f"{n}.png": image((n, 0, 0)) for n in range(6)}

    def split(files, kind, labels=(0, 1, 2, 0, 1, 2), place="set"):
        tree = open_tree(write(files, kind, place))
        return OnDisk(tree, tree.names, torch.tensor(labels), SPEC)

    known = split(files, "folder").fingerprint()
    assert split(files, "zip").fingerprint() == known
    assert split(files, "folder", (0, 1, 2, 0, 2, 1)).fingerprint() != known
    assert split({**files, "3.png": image((99, 0, 0))}, "folder", place="other").fingerprint() != known
    odd = {**files, "\udcff.png": image((5, 0, 0))}
    odd.pop("5.png")
    assert split(odd, "folder", place="odd").fingerprint() != known

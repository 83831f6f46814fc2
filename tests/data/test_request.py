import itertools

import pytest
import torch

from puzzlemix.data import DataError
from puzzlemix.data.request import Request, balanced


def test_a_part_has_even_classes_and_lies_in_every_larger_part():
    labels = torch.tensor([0, 0, 0, 0, 2, 2, 1, 2, 0, 1])
    chosen = [set(balanced(labels, count).tolist()) for count in range(1, 11)]
    assert [labels[sorted(part)].bincount(minlength=3).tolist() for part in chosen[:6]] == [
        [1, 0, 0], [1, 1, 0], [1, 1, 1], [2, 1, 1], [2, 2, 1], [2, 2, 2],
    ]  # fmt: skip
    assert all(small < large for small, large in itertools.pairwise(chosen))
    assert chosen[2] == {0, 4, 6}
    assert chosen[-1] == set(range(10))


def test_all_are_taken_unless_fewer_are_asked_for():
    labels = torch.tensor([1, 0, 1])
    assert Request().train_rows(labels, "x").tolist() == [0, 1, 2]
    assert Request(test_images=2).test_rows(labels, "x").tolist() == [0, 1]
    with pytest.raises(DataError, match=r"train_images=4, but x has 3"):
        Request(train_images=4).train_rows(labels, "x")


@pytest.mark.parametrize("name", ["size", "train_images", "test_images"])
def test_counts_start_at_one(name):
    with pytest.raises(ValueError, match=f"{name}=0"):
        Request(**{name: 0})

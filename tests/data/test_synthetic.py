import numpy as np
import pytest
import torch

from puzzlemix.data import load_data
from puzzlemix.data.synthetic import CLASSES, draw_scenes

FINGERPRINT = "bc0a0fa7c41bdaa0"


def test_the_default_set():
    data = load_data(train_images=200, test_images=50)
    assert (data.spec.name, data.spec.classes, data.spec.size, data.spec.padding) == ("synthetic", 10, 32, 2)
    assert data.train.images.shape == (200, 3, 32, 32)
    assert data.train.masks.shape == (200, 32, 32)
    assert data.train.masks.dtype == torch.bool
    assert data.test.labels.bincount().tolist() == [5] * 10
    assert data.class_names == CLASSES


def test_it_is_the_same_on_every_machine():
    """To the last bit: published figures stand on it. Draw anew only with a word in the change log."""
    assert load_data(train_images=100, test_images=30).fingerprint() == FINGERPRINT


def test_an_image_depends_on_seed_split_and_number_alone():
    together = draw_scenes(range(30))
    some = draw_scenes(torch.tensor([21, 4]))
    assert torch.equal(some.images, together.images[[21, 4]])
    assert torch.equal(some.masks, together.masks[[21, 4]])
    for other in (draw_scenes(range(30), seed=1), draw_scenes(range(30), split="test")):
        assert torch.equal(other.labels, together.labels)
        assert (other.images != together.images).flatten(1).any(1).all()


def test_chunks_and_threads_change_nothing(threads, monkeypatch):
    alone = draw_scenes(range(40))
    monkeypatch.setattr("puzzlemix.data.synthetic._CHUNK_PIXELS", 32 * 32 * 3)
    threads(4)
    assert all(torch.equal(*pair) for pair in zip(alone, draw_scenes(range(40)), strict=True))


def test_every_size_shows_the_same_scene():
    small, large = draw_scenes(range(20), size=32), draw_scenes(range(20), size=128)
    shrunk = torch.nn.functional.avg_pool2d(large.images.float(), 4)
    assert (shrunk - small.images).abs().mean() < 16
    assert torch.equal(small.labels, large.labels)


def test_masks_cover_what_the_object_covers():
    """The object is where it says: inside, pixels have more to do with each other than with what is around."""
    scenes = draw_scenes(range(400))
    share = scenes.masks.float().mean((1, 2))
    assert float(share.min()) > 0.03
    assert float(share.max()) < 0.6
    inside = scenes.masks[:, None].expand(-1, 3, -1, -1)
    means = [
        torch.where(where, scenes.images.float(), 0).sum((2, 3)) / where.sum((2, 3)) for where in (inside, ~inside)
    ]
    assert (means[0] - means[1]).abs().amax(1).mean() > 25
    centres = scenes.masks.float().mean(1).argmax(1)
    assert centres.unique().numel() > 15


def test_classes_do_not_show_in_colours_or_places():
    """Nearest class mean on coarse pixels is hardly better than guessing: a classifier has to see shapes."""
    train, test = draw_scenes(range(1500)), draw_scenes(range(500), split="test")
    coarse = [torch.nn.functional.avg_pool2d(s.images.float(), 8).flatten(1) for s in (train, test)]
    means = torch.stack([coarse[0][train.labels == label].mean(0) for label in range(10)])
    guessed = torch.cdist(coarse[1], means).argmin(1)
    assert float((guessed == test.labels).float().mean()) < 0.3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((range(3), {"size": 7}), "size 7 is too small"), ((np.array([-1]), {}), "sample -1 is negative")],
)
def test_what_cannot_be_drawn_is_said(arguments, message):
    with pytest.raises(ValueError, match=message):
        draw_scenes(arguments[0], **arguments[1])


def test_no_images_are_an_empty_batch():
    assert draw_scenes(range(0)).images.shape == (0, 3, 32, 32)

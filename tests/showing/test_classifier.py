import time

import pytest
import torch

from puzzlemix.data.synthetic import draw_scenes
from puzzlemix.models import save_weights
from puzzlemix.showing import classifier, drawn_pictures, small_classifier


@pytest.fixture
def quick(monkeypatch):
    """Training of a moment; counts how often it happens."""
    trained = []
    train = classifier.train_classifier

    def counted(model, scenes, epochs):
        trained.append(epochs)
        train(model, scenes, epochs)

    monkeypatch.setattr(classifier, "_IMAGES", classifier._BATCH)
    monkeypatch.setattr(classifier, "_EPOCHS", 1)
    monkeypatch.setattr(classifier, "train_classifier", counted)
    return trained


def test_it_is_trained_once_and_kept(quick, tmp_path):
    images = drawn_pictures(range(3), 96).images
    first = small_classifier(tmp_path / "new")
    again = small_classifier(tmp_path / "new")
    assert len(quick) == 1
    assert first.maps(images).shape == (3, 96, 96)
    assert torch.equal(first.maps(images), again.maps(images))


def test_damaged_weights_are_replaced(quick, tmp_path):
    (tmp_path / classifier.FILE).write_bytes(b"half a file")
    small_classifier(tmp_path)
    small_classifier(tmp_path)
    assert len(quick) == 1


def test_a_folder_that_cannot_be_written_is_no_hindrance(quick, tmp_path):
    (tmp_path / "file").write_text("no folder")
    assert small_classifier(tmp_path / "file").words.startswith("the gradient")


def test_it_begins_and_learns_the_same_every_time():
    models = [classifier.build_classifier() for _ in range(2)]
    scenes = draw_scenes(range(classifier._BATCH), size=classifier.SIZE)
    for model in models:
        classifier.train_classifier(model, scenes, 1)
    for one, other in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_training_lowers_the_loss():
    model = classifier.build_classifier()
    scenes = draw_scenes(range(2 * classifier._BATCH), size=classifier.SIZE)
    images = scenes.images.float() / 255

    def right():
        with torch.no_grad():
            return float((model.eval()(images).argmax(1) == scenes.labels).float().mean())

    before = right()
    classifier.train_classifier(model, scenes, 12)
    assert right() > before + 0.2


@pytest.mark.slow
def test_within_a_minute_it_knows_the_objects_and_looks_at_them(tmp_path):
    begun = time.perf_counter()
    saliency = small_classifier(tmp_path)
    assert time.perf_counter() - begun < 60
    scenes = draw_scenes(range(200), split="test", size=classifier.SIZE)
    model = classifier.build_classifier()
    classifier.load_weights(model, tmp_path / classifier.FILE)
    images = scenes.images.float() / 255
    with torch.no_grad():
        assert (model.eval()(images).argmax(1) == scenes.labels).float().mean() > 0.5
    maps = saliency.maps(images)
    inside = (maps * scenes.masks).sum((1, 2)) / maps.sum((1, 2))
    assert inside.mean() > 1.4 * scenes.masks.float().mean()


def test_weights_of_another_network_are_not_mistaken(quick, tmp_path):
    save_weights(torch.nn.Linear(3, 2), tmp_path / classifier.FILE)
    small_classifier(tmp_path)
    assert len(quick) == 1

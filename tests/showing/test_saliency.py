import pytest
import torch
from torch import nn

from puzzlemix import input_saliency
from puzzlemix.models import Normalized, build_model, save_weights
from puzzlemix.showing import contrast_saliency, drawn_pictures, find_saliency, network_saliency, torchvision_saliency


@pytest.fixture(scope="module")
def images():
    return drawn_pictures(range(4), 32).images


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty folder in which torch keeps weights."""
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path))
    return tmp_path / "checkpoints"


@pytest.mark.parametrize("size", [8, 33, 224])
def test_contrast_is_highest_on_what_stands_out(size):
    images = torch.full((1, 3, size, size), 0.4)
    spot = slice(size // 2, size // 2 + size // 4)
    images[:, 1, spot, spot] = 0.9
    maps = contrast_saliency().maps(images)
    assert maps.shape == (1, size, size)
    assert maps[0, spot, spot].mean() > 5 * maps[0, : size // 4].mean()


def test_contrast_of_a_plain_image_is_nothing():
    assert contrast_saliency().maps(torch.full((2, 3, 16, 16), 0.7)).max() < 1e-9


def test_a_network_shows_where_the_class_it_sees_comes_from(images):
    model = build_model("preact_resnet18", 10, width=4, seed=0).eval()
    maps = network_saliency(model, "mine").maps(images)
    torch.testing.assert_close(maps, input_saliency(model, images, model(images).argmax(1)))


def test_saliency_is_that_of_normalised_images(images):
    bare = build_model("preact_resnet18", 10, width=4, seed=0)
    mean, std = (0.5, 0.4, 0.3), (0.1, 0.2, 0.4)
    shifted = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    wanted = network_saliency(bare, "bare").maps(shifted)
    found = network_saliency(Normalized(bare, mean, std), "normalised").maps(images)
    found, wanted = (maps / maps.amax((1, 2), keepdim=True) for maps in (found, wanted))
    torch.testing.assert_close(found, wanted)


def test_a_network_looks_at_the_size_it_was_trained_on(images):
    sizes = []

    class Spy(nn.Module):
        def forward(self, seen):
            sizes.append(tuple(seen.shape[2:]))
            return seen.mean((2, 3))

    assert network_saliency(Spy(), "spy", size=12).maps(images).shape == (4, 32, 32)
    assert set(sizes) == {(12, 12)}


def test_a_network_is_left_in_its_mode(images):
    model = build_model("preact_resnet18", 10, width=4, seed=0).train()
    model.layer1.eval()
    network_saliency(model, "mine").maps(images)
    assert model.training
    assert not model.layer1.training


def test_weights_of_a_file_are_used(tmp_path, images):
    model = build_model("squeezenet1_1", 7, seed=3).eval()
    save_weights(model, tmp_path / "mine.safetensors")
    found = torchvision_saliency("squeezenet1_1", tmp_path / "mine.safetensors", classes=7)
    assert "mine.safetensors" in found.words
    assert found.maps(images).shape == (4, 32, 32)


def test_weights_that_torch_keeps_are_found(hub, images):
    model = build_model("squeezenet1_1", 1000, seed=3)
    hub.mkdir()
    torch.save(model.state_dict(), hub / "squeezenet1_1-b8a52dc0.pth")
    assert torchvision_saliency("squeezenet1_1").maps(images).shape == (4, 32, 32)


def test_nothing_is_downloaded_unasked(hub):
    with pytest.raises(ValueError, match="the weights of resnet18 are not on disk"):
        torchvision_saliency("resnet18")


def test_damaged_weights_are_named(hub):
    hub.mkdir()
    (hub / "squeezenet1_1-b8a52dc0.pth").write_bytes(b"half a file")
    with pytest.raises(ValueError, match=r"squeezenet1_1-b8a52dc0\.pth is damaged"):
        torchvision_saliency("squeezenet1_1")


def test_an_unknown_network_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean .*resnet50"):
        torchvision_saliency("resnet5O")


def test_a_network_of_grey_images_is_shown_grey(images):
    model = build_model("preact_resnet18", 10, channels=1, width=4, seed=0).eval()
    grey = images.mean(1, keepdim=True)
    maps = network_saliency(model, "grey", channels=1).maps(images)
    torch.testing.assert_close(maps, input_saliency(model, grey, model(grey).argmax(1)))


def test_sources_are_found_by_name(hub):
    assert find_saliency("contrast").words == contrast_saliency().words
    for name in ("resnet18", "torchvision:resnet18"):
        with pytest.raises(ValueError, match="the weights of resnet18 are not on disk"):
            find_saliency(name)
    with pytest.raises(ValueError, match=r"no source of saliency 'resnet5O': did you mean .*resnet50"):
        find_saliency("resnet5O")
    with pytest.raises(ValueError, match=r"'?@!': pass contrast, a run's folder or a model of torchvision"):
        find_saliency("?@!")

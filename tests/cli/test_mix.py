import numpy as np
import pytest
from PIL import Image

from puzzlemix.showing import Mixing
from puzzlemix.training.codec import decode


@pytest.fixture
def photos(tmp_path):
    """Two image files of different kind and shape."""
    Image.new("L", (40, 60), 90).save(tmp_path / "cat.png")
    Image.fromarray(np.arange(64 * 48 * 3, dtype=np.uint8).reshape(48, 64, 3)).save(tmp_path / "dog.jpg")
    return "cat.png", "dog.jpg"


def size_of(path):
    with Image.open(path) as image:
        return image.size


def test_two_files_become_one_row_of_panels(call, photos, tmp_path):
    code, output, errors = call("mix", *photos, "-o", "out/panel.png", "--size", 32, "--lam", 1)
    assert (code, errors) == (0, "")
    assert output.splitlines() == ["out/panel.png: 100% cat, 0% dog", "saliency: local contrast (no network)"]
    width, height = size_of(tmp_path / "out" / "panel.png")
    assert width > 4 * height


def test_samples_become_a_row_each(call, tmp_path):
    assert call("mix", "--samples", 3, 17, 40, "--size", 32, "--panels", "first", "mixed")[0] == 0
    three = size_of(tmp_path / "mix.png")
    assert call("mix", "--count", 5, "--size", 32, "--panels", "first", "mixed")[0] == 0
    five = size_of(tmp_path / "mix.png")
    assert five[0] == three[0]
    assert five[1] > 1.5 * three[1]


def test_samples_come_from_a_folder_of_images(call, tmp_path):
    for split in ("train", "val"):
        for shade, name in ((40, "night"), (200, "day")):
            folder = tmp_path / "photos" / split / name
            folder.mkdir(parents=True)
            Image.linear_gradient("L").resize((24, 24)).point(lambda v, add=shade: v // 8 + add).save(folder / "1.png")
    code, output, _ = call("mix", "--data", "photos", "--samples", 0, 1, "--lam", 0)
    assert code == 0
    assert output.startswith("mix.png: 0% day, 100% night\n")


def test_the_seed_chooses_the_samples(call, tmp_path):
    pictures = []
    for seed in (0, 0, 1):
        assert call("mix", "--count", 2, "--size", 16, "--seed", seed)[0] == 0
        pictures.append((tmp_path / "mix.png").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_the_settings_reach_the_mix(call, monkeypatch):
    seen = []
    monkeypatch.setattr("puzzlemix.cli.mix.mix_pictures", lambda pictures, maps, mixing: seen.append(mixing) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call("mix", "--lam", 0.3, "--grid", "2x4", "--xi", 0.1, "--transport", "none", "--labels", 5)
    assert seen == [decode(Mixing, {"lam": 0.3, "grid": [2, 4], "mix": {"xi": 0.1, "transport": None, "labels": 5}})]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["one.png"], "1 images: pass two files, or none and --data"),
        (["--panels", "frist"], "there is no panel 'frist': did you mean first"),
        (["-o", "panel.pgn"], "panel.pgn does not end like a picture: choose one of .png"),
        (["--count", "1"], "there is nothing to mix one picture with"),
        (["--samples", "4"], "there is nothing to mix one picture with"),
        (["--size", "2"], "--size 2: pass at least 8"),
        (["--lam", "2"], "lam=2.0: pass the first picture's share"),
        (["--grid", "big"], "--grid is 'big': pass a grid, as 4 or 2x8"),
        (["--gamma", "3"], "gamma=3.0"),
        (["--xii", "3"], "'--xii' is not understood: did you mean --xi"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(call, arguments, said):
    code, output, errors = call("mix", *arguments)
    assert (code, output, errors.count("\n")) == (2, "", 1)
    assert said in errors


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--data", "cifr10"], "there is no data set 'cifr10': did you mean cifar10"),
        (["--saliency", "resnet5O"], "no source of saliency 'resnet5O': did you mean"),
        (["--samples", "-4", "5"], "sample -4"),
        (["--size", "16", "--grid", "32"], "grid 32"),
    ],
)
def test_what_cannot_be_done_is_one_line(call, arguments, said):
    code, output, errors = call("mix", *arguments)
    assert (code, output, errors.count("\n")) == (1, "", 1)
    assert said in errors

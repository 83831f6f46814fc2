import pytest
import torch

from puzzlemix import PuzzleMixConfig, puzzle_mix


def mix(**changes):
    arguments = {
        "images": torch.rand(4, 3, 16, 16),
        "saliency": torch.rand(4, 16, 16),
        "index": torch.tensor([1, 2, 3, 0]),
        "lam": 0.5,
        "grid": 4,
    }
    arguments.update(changes)
    return puzzle_mix(arguments.pop("images"), arguments.pop("saliency"), **arguments)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"images": torch.rand(4, 16)}, r"\(4, 16\).*\(B,C,H,W\)"),
        ({"images": torch.rand(4, 0, 16, 16)}, r"\(4, 0, 16, 16\)"),
        ({"images": torch.zeros(4, 3, 16, 16, dtype=torch.uint8)}, r"uint8.*images\.float\(\) / 255"),
        ({"saliency": torch.rand(4, 8, 8)}, r"\(4, 8, 8\).*\(4, 16, 16\)"),
        ({"saliency": torch.rand(4, 16, 16, dtype=torch.complex64)}, r"complex64.*abs\(\)"),
        ({"index": torch.tensor([0, 1])}, r"\(2,\).*4 integers"),
        ({"index": torch.tensor([0.0, 1, 2, 3])}, "float32"),
        ({"index": torch.tensor([0, 1, 2, 4])}, "from 0 to 4.*0 to 3"),
        ({"index": torch.tensor([0, 1, 2, -1])}, "-1 to 2.*0 to 3"),
        ({"lam": 1.5}, "1.5.*from 0 to 1"),
        ({"lam": float("nan")}, "nan"),
        ({"lam": "half"}, "'half'"),
        ({"lam": True}, "True"),
        ({"lam": torch.tensor([0.5, 0.5])}, r"\(2,\)"),
        ({"lam": torch.tensor([0.1, 0.2, 0.3, 1.1])}, "1.1"),
        ({"lam": torch.tensor([0.1, 0.2, 0.3, float("nan")])}, "nan"),
        ({"grid": 17}, "17x17 is finer than the image 16x16: pass a grid of at most 16x16"),
        ({"grid": 0}, "grid=0"),
        ({"grid": (2, 3, 4)}, r"\(2, 3, 4\)"),
        ({"grid": 2.5}, "2.5"),
        ({"grid": [4, "4"]}, "'4'"),
        ({"mean": [0.5] * 3}, "std is missing"),
        ({"mean": [0.5], "std": [0.5]}, "mean has 1 values, the images 3 channels"),
        ({"mean": [0.5] * 3, "std": [0.5, 0.0, 0.5]}, "positive"),
    ],
)
def test_bad_input_is_named_with_its_remedy(changes, words):
    with pytest.raises(ValueError, match=words):
        mix(**changes)


@pytest.mark.parametrize("name", ["images", "saliency", "index"])
def test_a_wrong_type_is_named(name):
    with pytest.raises(TypeError, match=f"{name}.* list: pass a torch tensor"):
        mix(**{name: [1, 2, 3, 0]})


def test_a_grid_may_be_a_list():
    assert mix(grid=[2, 4]).mask.shape == (4, 2, 4)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"labels": 1}, "labels=1"),
        ({"labels": 9}, "2 to 8"),
        ({"labels": 2.5}, "2.5"),
        ({"labels": 2.0}, "2.0"),
        ({"beta": -1.0}, "beta=-1.0"),
        ({"beta": "1"}, "beta='1'"),
        ({"beta": None}, "beta=None"),
        ({"eta": float("nan")}, "eta=nan"),
        ({"xi": float("inf")}, "xi=inf"),
        ({"gamma": 1.1}, "gamma=1.1.*submodular"),
        ({"transport": "hungarian"}, "'hungarian'.*'paper'.*'exact'.*None"),
        ({"mask_solver": "gco"}, "'gco'.*'exact'.*'swap'"),
        ({"data_smoothness": "other"}, "'reference', 'paper'"),
        ({"transport_gain": "other"}, "'visible', 'weight'"),
        ({"transport_block": 0}, "transport_block=0"),
        ({"neighbours": 0}, "neighbours=0"),
        ({"cycles": 0}, "cycles=0"),
        ({"cycles": True}, "cycles=True"),
    ],
)
def test_bad_settings_are_named_with_their_remedy(settings, words):
    with pytest.raises(ValueError, match=words):
        PuzzleMixConfig(**settings)

"""Networks by name: torchvision's, seeds, and what wrong arguments are told."""

import pytest
import torch
from torch import nn

from puzzlemix.models import Normalized, build_model, model_names, stages, zoo

needs_torchvision = pytest.mark.usefixtures("_torchvision")


@pytest.fixture
def _torchvision():
    pytest.importorskip("torchvision")


@pytest.fixture
def without_torchvision(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torchvision", None)
    zoo.torchvision_names.cache_clear()
    yield
    zoo.torchvision_names.cache_clear()


def same(first, second):
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


@needs_torchvision
@pytest.mark.parametrize("name", ["resnet18", "torchvision:resnet18", "mobilenet_v3_small", "squeezenet1_0"])
@pytest.mark.parametrize("channels", [1, 3])
def test_torchvision_by_name(name, channels):
    model = build_model(name, 7, channels=channels, seed=0).eval()
    assert model(torch.rand(2, channels, 64, 64)).shape == (2, 7)


@needs_torchvision
def test_torchvision_options_are_passed_on():
    model = build_model("torchvision:vit_b_16", 7, image_size=32, seed=0).eval()
    assert model(torch.rand(1, 3, 32, 32)).shape == (1, 7)


@needs_torchvision
@pytest.mark.parametrize("name", ["googlenet", "inception_v3"])
def test_auxiliary_heads_are_off(name):
    with torch.device("meta"):
        model = build_model(name, 7).train()
        assert model(torch.empty(2, 3, 299, 299)).shape == (2, 7)


@needs_torchvision
def test_every_name_is_known():
    names = model_names()
    assert {"preact_resnet18", "wrn28_10", "resnet50", "vit_b_16", "convnext_tiny"} <= set(names)
    with torch.device("meta"):
        # One of each family that builds without memory; torchvision's RegNets compute on their weights.
        for name in [name for name in names if not name.startswith("regnet")][::7]:
            assert isinstance(build_model(name, 3), nn.Module)


@pytest.mark.parametrize("name", ["preact_resnet18", "wrn10_1"])
def test_the_seed_alone_decides_the_weights(name):
    first = build_model(name, 10, seed=3)
    torch.rand(5)
    assert same(first, build_model(name, 10, seed=3))
    assert not same(first, build_model(name, 10, seed=4))


def test_the_seed_leaves_the_global_state_alone():
    before = torch.get_rng_state()
    build_model("preact_resnet18", 10, width=4, seed=3)
    with pytest.raises(ValueError, match="width 0"):
        build_model("preact_resnet18", 10, width=0, seed=3)
    assert torch.equal(torch.get_rng_state(), before)


def test_without_a_seed_weights_follow_the_global_state():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        first, second = build_model("wrn10_1", 10), build_model("wrn10_1", 10)
        torch.manual_seed(5)
        again = build_model("wrn10_1", 10)
    assert same(first, again)
    assert not same(first, second)


def test_mean_and_std_make_it_normalized():
    model = build_model("preact_resnet18", 10, width=4, mean=(0.1, 0.2, 0.3), std=0.5)
    assert isinstance(model, Normalized)
    assert not isinstance(build_model("preact_resnet18", 10, width=4), Normalized)
    with pytest.raises(ValueError, match="pass both"):
        build_model("preact_resnet18", 10, width=4, mean=0.5)


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("WRN-28-10", "wrn28_10"),
        ("resnet-50", "resnet50"),
        ("preactresnet18", "preact_resnet18"),
        ("PreActResNet-18", "preact_resnet18"),
        ("no such thing", "the names are .*preact_resnet18"),
        ("", "the names are"),
    ],
)
def test_unknown_names_suggest_the_nearest(wrong, nearest):
    with pytest.raises(ValueError, match=f"no model '{wrong}'.*{nearest}"):
        build_model(wrong, 10)


@pytest.mark.parametrize("name", ["wrn27_10", "wrn4_2", "wrn28_0"])
def test_wide_resnets_that_do_not_exist(name):
    with pytest.raises(ValueError, match="pass"):
        build_model(name, 10)


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="classes is 0"):
        build_model("preact_resnet18", 0)
    with pytest.raises(ValueError, match="channels is 0"):
        build_model("preact_resnet18", 10, channels=0)
    with pytest.raises(TypeError, match=r"'widht'; its options are width, stride, final_norm"):
        build_model("preact_resnet18", 10, widht=16)
    with pytest.raises(TypeError, match=r"'depth'; its options are stride"):
        build_model("wrn16_1", 10, depth=28)


@pytest.mark.usefixtures("without_torchvision")
def test_without_torchvision():
    assert build_model("preact_resnet18", 10, width=4)(torch.rand(2, 3, 8, 8)).shape == (2, 10)
    assert model_names() == ["preact_resnet18", "resnet50", "wrn28_10"]
    for name in ("resnet50", "torchvision:resnet18"):
        with pytest.raises(ImportError, match=r"puzzlemix\[train\]"):
            build_model(name, 10)
    with pytest.raises(ValueError, match=r"torchvision's need.*puzzlemix\[train\]"):
        build_model("resnet18", 10)


@pytest.mark.parametrize(("name", "count"), [("preact_resnet18", 4), ("wrn10_1", 3)])
def test_stages_of_ours(name, count):
    expected = [f"layer{number + 1}" for number in range(count)]
    assert stages(build_model(name, 10)) == expected
    inside = build_model(name, 10, mean=0.5, std=0.5)
    assert stages(inside) == [f"model.{stage}" for stage in expected]
    assert all(isinstance(inside.get_submodule(stage), nn.Sequential) for stage in stages(inside))
    assert stages(nn.DataParallel(inside)) == [f"module.model.{stage}" for stage in expected]


@needs_torchvision
def test_stages_of_torchvision():
    with torch.device("meta"):
        assert stages(build_model("resnet50", 10)) == ["layer1", "layer2", "layer3", "layer4"]
        with pytest.raises(ValueError, match=r"VisionTransformer has no stages .*encoder.*model\.stage_names"):
            stages(build_model("vit_b_16", 10))


def test_stages_of_a_users_own():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with pytest.raises(ValueError, match="Sequential has no stages"):
        stages(model)
    model.stage_names = ("0",)
    assert stages(model) == ["0"]

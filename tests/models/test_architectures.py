"""The networks against their descriptions: shapes, parameter counts, outputs, and the ways they are run."""

import math

import pytest
import torch
from torch.nn import functional as F

from puzzlemix.models import build_model, stages

SMALL = {"preact_resnet18": {"width": 4}, "wrn10_1": {}}


def small(name, classes=10, **options):
    return build_model(name, classes, seed=0, **SMALL[name], **options)


def shapes_of(model):
    return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}


def parameters(layout):
    """Trainable parameters of a layout: all but batch-norm's running statistics."""
    statistics = ("running_mean", "running_var", "num_batches_tracked")
    return sum(math.prod(shape) for name, shape in layout.items() if not name.endswith(statistics))


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(
    ("channels", "height", "width"), [(3, 32, 32), (1, 28, 28), (3, 64, 48), (2, 1, 50), (4, 9, 7)]
)
@pytest.mark.parametrize("stride", [1, 2])
def test_any_size_channels_and_stride(name, channels, height, width, stride):
    model = small(name, channels=channels, stride=stride)
    assert model(torch.rand(2, channels, height, width)).shape == (2, 10)


def test_preact_resnet18_has_the_reference_parameters(reference):
    with torch.device("meta"):
        model = build_model("preact_resnet18", 100)
    assert shapes_of(model) == reference.preact_layout()
    assert sum(p.numel() for p in model.parameters()) == parameters(reference.preact_layout()) == 11_217_316


def test_wrn28_10_has_the_reference_parameters(reference):
    with torch.device("meta"):
        model = build_model("wrn28_10", 100)
    assert shapes_of(model) == reference.wide_layout()
    assert sum(p.numel() for p in model.parameters()) == parameters(reference.wide_layout()) == 36_546_980
    assert model.bn1.momentum == 0.9


@pytest.mark.parametrize("width", [1, 3, 16, 80])
def test_any_width(width, reference):
    with torch.device("meta"):
        preact = build_model("preact_resnet18", 10, width=width)
        wide = build_model(f"wrn16_{width}", 10)
    assert shapes_of(preact) == reference.preact_layout(width, 10)
    assert shapes_of(wide) == reference.wide_layout(16, width, 10)


@pytest.mark.parametrize("stride", [1, 2])
def test_preact_resnet18_computes_the_reference(reference, stride):
    state = reference.random_state(reference.preact_layout(8, 10))
    model = build_model("preact_resnet18", 10, width=8, stride=stride).eval()
    model.load_state_dict(state)
    images = torch.rand(3, 3, 32, 32)
    torch.testing.assert_close(model(images), reference.evaluate(state, images, wide=False, stride=stride))


@pytest.mark.parametrize("stride", [1, 2])
def test_wide_resnet_computes_the_reference(reference, stride):
    state = reference.random_state(reference.wide_layout(16, 2, 10))
    model = build_model("wrn16_2", 10, stride=stride).eval()
    model.load_state_dict(state)
    images = torch.rand(3, 3, 32, 32)
    torch.testing.assert_close(model(images), reference.evaluate(state, images, wide=True, stride=stride))


def test_final_norm_adds_batch_norm_and_relu_before_the_mean():
    plain, normed = small("preact_resnet18"), small("preact_resnet18", final_norm=True)
    assert set(shapes_of(normed)) - set(shapes_of(plain)) == {
        f"bn1.{part}" for part in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    }
    normed.bn1.bias.data.fill_(-100)  # so negative that ReLU leaves nothing
    assert torch.equal(normed(torch.rand(2, 3, 32, 32)), normed.linear.bias.expand(2, -1))


def test_resnet50_is_torchvisions():
    torchvision = pytest.importorskip("torchvision")
    with torch.device("meta"):
        ours, theirs = build_model("resnet50", 1000), torchvision.models.resnet50()
    assert shapes_of(ours) == shapes_of(theirs)
    assert [name for name, _ in ours.named_parameters()] == [name for name, _ in theirs.named_parameters()]
    assert sum(p.numel() for p in ours.parameters()) == 25_557_032


def test_resnet50_starts_as_the_reference_on_imagenet():
    pytest.importorskip("torchvision")
    model = build_model("resnet50", 100, seed=0, zero_last_gain=True, head_std=0.01)
    gains = [p for name, p in model.named_parameters() if name.endswith("bn3.weight")]
    assert len(gains) == 16
    assert all((gain == 0).all() for gain in gains)
    assert model.get_parameter("fc.weight").std().item() == pytest.approx(0.01, rel=0.02)
    plain = dict(build_model("resnet50", 100, seed=0).named_parameters())
    assert (plain["layer1.0.bn3.weight"] == 1).all()
    assert plain["fc.weight"].std().item() > 0.011


def test_resnet50_takes_other_channels():
    pytest.importorskip("torchvision")
    model = build_model("resnet50", 5, channels=1, seed=0).eval()
    assert model.conv1.weight.std().item() == pytest.approx(math.sqrt(2 / (64 * 49)), rel=0.05)
    assert model(torch.rand(1, 1, 40, 40)).shape == (1, 5)


@pytest.mark.parametrize("name", SMALL)
def test_bfloat16_and_channels_last_agree_with_float32(name):
    model = small(name).eval()
    images = torch.rand(2, 3, 16, 16)
    expected = model(images)
    model = model.to(memory_format=torch.channels_last)
    torch.testing.assert_close(model(images.contiguous(memory_format=torch.channels_last)), expected)
    with torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(model(images).float(), expected, atol=0.05, rtol=0.05)
    output = model.bfloat16()(images.bfloat16())
    assert output.dtype == torch.bfloat16
    torch.testing.assert_close(output.float(), expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("name", SMALL)
def test_compiles_without_a_graph_break(name):
    model = small(name, mean=0.5, std=0.25).eval()
    images = torch.rand(2, 3, 16, 16)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(images), model(images))


@pytest.mark.parametrize("name", SMALL)
def test_gradients_reach_every_parameter_and_the_images(name):
    model = small(name, mean=0.5, std=0.25)
    images = torch.rand(4, 3, 16, 16, requires_grad=True)
    F.cross_entropy(model(images), torch.arange(4)).backward()
    assert images.grad is not None
    assert (images.grad != 0).any()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert parameter.grad.isfinite().all()


@pytest.mark.parametrize("name", SMALL)
def test_a_step_lowers_the_loss(name):
    model, images, targets = small(name), torch.rand(8, 3, 16, 16), torch.arange(8)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(5):
        loss = F.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", SMALL)
def test_a_hook_on_a_stage_sees_and_replaces_its_output(name):
    model = small(name).eval()
    images = torch.rand(2, 3, 16, 16)
    expected = model(images)
    swap = model.get_submodule(stages(model)[1]).register_forward_hook(lambda module, inputs, output: output.flip(0))
    torch.testing.assert_close(model(images), expected.flip(0))
    swap.remove()
    assert torch.equal(model(images), expected)

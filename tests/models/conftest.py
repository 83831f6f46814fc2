"""The layouts of the authors' networks written out from their description, apart from the package's own modules."""

from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional as F


def _norm(name, channels):
    shapes = {f"{name}.{part}": (channels,) for part in ("weight", "bias", "running_mean", "running_var")}
    return shapes | {f"{name}.num_batches_tracked": ()}


def _conv(name, inputs, outputs, size, bias):
    return {f"{name}.weight": (outputs, inputs, size, size)} | ({f"{name}.bias": (outputs,)} if bias else {})


def _block(name, inputs, outputs, stride, bias):
    shapes = _norm(f"{name}.bn1", inputs) | _conv(f"{name}.conv1", inputs, outputs, 3, bias)
    shapes |= _norm(f"{name}.bn2", outputs) | _conv(f"{name}.conv2", outputs, outputs, 3, bias)
    projects = stride != 1 or inputs != outputs
    return shapes | (_conv(f"{name}.shortcut.0", inputs, outputs, 1, bias) if projects else {})


def _layout(first, stages, blocks, classes, channels, bias):
    """Shapes by name: 3x3 convolution to `first`, stages of the given widths, linear."""
    shapes = _conv("conv1", channels, first, 3, bias)
    inputs = first
    for number, outputs in enumerate(stages):
        for block in range(blocks):
            stride = 2 if number > 0 and block == 0 else 1
            shapes |= _block(f"layer{number + 1}.{block}", inputs, outputs, stride, bias)
            inputs = outputs
    return shapes | {"linear.weight": (classes, inputs), "linear.bias": (classes,)}


def preact_layout(width=64, classes=100, channels=3):
    return _layout(width, [width, 2 * width, 4 * width, 8 * width], 2, classes, channels, bias=False)


def wide_layout(depth=28, width=10, classes=100, channels=3):
    stages = [16 * width, 32 * width, 64 * width]
    shapes = _layout(16, stages, (depth - 4) // 6, classes, channels, bias=True)
    return shapes | _norm("bn1", stages[-1])


def random_state(layout, seed=0):
    """Random weights in the layout, as a trained network's could be (running variances are positive)."""
    generator = torch.Generator().manual_seed(seed)
    state = {name: 0.1 * torch.randn(shape, generator=generator) for name, shape in layout.items()}
    for name in state:
        if name.endswith("running_var"):
            state[name] = state[name].abs() + 0.5
        if name.endswith("num_batches_tracked"):
            state[name] = torch.tensor(7)
    return state


def _normed(state, name, features):
    parts = (state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    return F.relu(F.batch_norm(features, *parts))


def _convolved(state, name, features, stride, padding=1):
    return F.conv2d(features, state[f"{name}.weight"], state.get(f"{name}.bias"), stride, padding)


def _through_block(state, name, features, stride, wide):
    """In a wide block the second convolution has the stride, and the shortcut starts before batch-norm and ReLU."""
    active = _normed(state, f"{name}.bn1", features)
    inner = _convolved(state, f"{name}.conv1", active, 1 if wide else stride)
    inner = _convolved(state, f"{name}.conv2", _normed(state, f"{name}.bn2", inner), stride if wide else 1)
    if f"{name}.shortcut.0.weight" in state:
        features = _convolved(state, f"{name}.shortcut.0", features if wide else active, stride, padding=0)
    return inner + features


def evaluate(state, images, wide, stride=1):
    """Logits of the network in eval mode, from its weights alone."""
    features = _convolved(state, "conv1", images, stride)
    for name in sorted({".".join(key.split(".")[:2]) for key in state if key.startswith("layer")}):
        starts_stage = name.endswith(".0") and name != "layer1.0"
        features = _through_block(state, name, features, 2 if starts_stage else 1, wide)
    if "bn1.weight" in state:
        features = _normed(state, "bn1", features)
    return F.linear(features.mean((2, 3)), state["linear.weight"], state["linear.bias"])


@pytest.fixture(scope="session")
def reference():
    return SimpleNamespace(
        preact_layout=preact_layout, wide_layout=wide_layout, random_state=random_state, evaluate=evaluate
    )

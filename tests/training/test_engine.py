"""One step: by hand, in parts, in every precision, and taken up again."""

import copy
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import SGD

from puzzlemix.core.saliency_cache import View
from puzzlemix.methods import Batch, PuzzleSettings, build_method
from puzzlemix.training.engine import Engine
from puzzlemix.training.processes import start
from puzzlemix.training.seeds import step_generator


def make_net(norm=True):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        norms = [nn.BatchNorm2d(6)] if norm else []
        return nn.Sequential(
            nn.Conv2d(3, 6, 3, padding=1), *norms, nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(96, 5)
        )


def make_batch(number=0, count=8):
    generator = torch.Generator().manual_seed(number)
    labels = torch.randint(5, (count,), generator=generator)
    images = torch.rand(count, 3, 16, 16, generator=generator) / 2 + labels[:, None, None, None] / 10
    zero = torch.zeros(count, dtype=torch.int64)
    return Batch(images, labels, torch.arange(count) + 100, View(zero, zero, flip=zero.bool()))


@pytest.fixture
def engine_of(tiny):
    def make(norm=True, **changes):
        config = tiny(**changes)
        method = build_method(config.settings, classes=5)
        return Engine(config, make_net(norm), method, start(config.loop, config.machine))

    return make


def take(engine, steps, first=1, lr=0.1):
    """Steps of a run; their sums."""
    engine.net.train()
    return [
        engine.step(make_batch(number), lr, number, lambda part, n=number: step_generator(0, 0, n, 0, part))
        for number in range(first, first + steps)
    ]


def assert_equal(ours, theirs, **tolerance):
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], **(tolerance or {"rtol": 0, "atol": 0}))


def test_a_vanilla_step_is_the_one_that_is_written_by_hand(engine_of):
    engine, net = engine_of(), make_net()
    optimiser = SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    for number, sums in enumerate(take(engine, 4), start=1):
        batch = make_batch(number)
        logits = net(batch.images)
        loss = F.cross_entropy(logits, batch.labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        hits = (logits.argmax(1) == batch.labels).sum().item()
        assert sums.tolist() == [pytest.approx(loss.item() * 8), hits, 8]
    assert_equal(engine.model.state_dict(), net.state_dict(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["input_mixup", "cutmix", "puzzle", "manifold_mixup"])
def test_hits_are_the_true_shares_of_the_classes_that_were_named(engine_of, method):
    engine = engine_of(method=method)
    steps, loss = [], engine.method.loss
    if method == "manifold_mixup":
        engine.method.settings = replace(engine.method.settings, layers=("0",))

    def listened(*arguments):
        steps.append(loss(*arguments))
        return steps[-1]

    engine.method.loss = listened
    for sums, step in zip(take(engine, 6), steps, strict=True):
        named = step.logits.argmax(1).tolist()
        shares = [row[name] for row, name in zip(step.targets.tolist(), named, strict=True)]
        assert sums[1].item() == pytest.approx(sum(shares))
    assert any(0.01 < step.targets.amax(1).min() < 0.99 for step in steps)


@pytest.mark.parametrize("accumulate", [2, 3, 8, 20])
def test_parts_add_up_to_the_whole_batch(engine_of, accumulate):
    whole, parts = engine_of(norm=False), engine_of(norm=False, accumulate=accumulate)
    for ours, theirs in zip(take(parts, 3), take(whole, 3), strict=True):
        torch.testing.assert_close(ours, theirs)
    assert_equal(parts.model.state_dict(), whole.model.state_dict(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_clean_terms_of_parts_are_in_the_losss_unit(engine_of, precision):
    """With learning from the clean term alone, parts and scaling must change nothing."""
    settings = PuzzleSettings(clean_weight=1.0, prob=0.0)
    whole, parts = (
        engine_of(norm=False, method="puzzle", settings=settings, accumulate=count, precision=precision)
        for count in (1, 4)
    )
    take(whole, 3), take(parts, 3)
    tolerance = {"rtol": 1e-4, "atol": 1e-6} if precision == "fp32" else {"rtol": 0.02, "atol": 2e-3}
    assert_equal(parts.model.state_dict(), whole.model.state_dict(), **tolerance)
    plain = engine_of(norm=False)
    for batch_number in (1, 2, 3):
        batch = make_batch(batch_number)
        # an unmixed batch and its clean term are the same loss twice
        plain.optimiser.zero_grad()
        (2 * F.cross_entropy(plain.net(batch.images), batch.labels)).backward()
        plain.optimiser.param_groups[0]["lr"] = 0.1
        plain.optimiser.step()
    assert_equal(whole.model.state_dict(), plain.model.state_dict(), **tolerance)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_reduced_precision_learns_and_keeps_its_weights_in_float32(engine_of, precision):
    engine, full = engine_of(precision=precision, ema=0.9), engine_of()
    losses = [sums[0].item() for sums in take(engine, 40, lr=0.02)]
    assert sum(losses[-10:]) < 0.9 * sum(losses[:10])
    take(full, 40, lr=0.02)
    assert all(p.dtype == torch.float32 for p in engine.model.parameters())
    dtypes = []
    hook = engine.model[0].register_forward_hook(lambda module, inputs, output: dtypes.append(output.dtype))
    for net in (engine.net, engine.ema_net):
        assert net(make_batch().images).dtype == torch.float32
    hook.remove()
    assert dtypes == [{"bf16": torch.bfloat16, "fp16": torch.float16}[precision]]
    assert_equal(engine.model.state_dict(), full.model.state_dict(), rtol=0.1, atol=0.05)


def test_a_step_that_overflows_is_skipped_and_the_scale_falls(engine_of):
    engine = engine_of(precision="fp16")
    take(engine, 1)
    scaler = engine.fabric.strategy.precision.scaler
    scaler.update(2.0**60)
    before = copy.deepcopy(dict(engine.model.named_parameters()))
    take(engine, 1, first=2)
    assert_equal(before, dict(engine.model.named_parameters()))
    assert scaler.get_scale() == 2.0**59


def test_the_average_follows(engine_of):
    engine = engine_of(ema=0.5)
    take(engine, 1)
    first = copy.deepcopy(engine.model.state_dict())
    ours = copy.deepcopy(engine.ema.model.state_dict())
    take(engine, 1, first=2)
    decay = min(0.5, 2 / 11)
    for name, tensor in engine.ema.model.state_dict().items():
        if tensor.is_floating_point():
            new = engine.model.state_dict()[name]
            torch.testing.assert_close(tensor, decay * ours[name] + (1 - decay) * new)
    assert not torch.equal(first["0.weight"], engine.model.state_dict()["0.weight"])


def test_channels_last_reaches_weights_and_images(engine_of):
    engine, plain = engine_of(channels_last=True), engine_of()
    assert engine.model[0].weight.is_contiguous(memory_format=torch.channels_last)
    assert engine.placed(make_batch()).images.is_contiguous(memory_format=torch.channels_last)
    take(engine, 3), take(plain, 3)
    assert_equal(engine.model.state_dict(), plain.model.state_dict(), rtol=1e-4, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # torch.compile looks at every input's, and means to hide it
@pytest.mark.parametrize("method", ["puzzle", "manifold_mixup"])
def test_compiled_steps_are_the_same(engine_of, method):
    compiled, plain = engine_of(compile=True, method=method), engine_of(method=method)
    for engine in (compiled, plain):
        if method == "manifold_mixup":
            engine.method.settings = replace(engine.method.settings, layers=("0", "input"))
        take(engine, 3)
    assert_equal(compiled.model.state_dict(), plain.model.state_dict(), rtol=1e-3, atol=1e-4)
    torch.compiler.reset()


VARIANTS = {
    "plain": {},
    "all at once": {
        "method": "puzzle",
        "settings": PuzzleSettings(refresh=3),
        "ema": 0.9,
        "accumulate": 3,
        "precision": "bf16",
        "channels_last": True,
    },
    "fp16": {"precision": "fp16", "ema": 0.9},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_state_dict_holds_all_that_a_step_needs(engine_of, variant, tmp_path):
    engine = engine_of(**VARIANTS[variant])
    take(engine, 4)
    torch.save(engine.state_dict(), tmp_path / "state.pt")
    resumed = engine_of(**VARIANTS[variant])
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for ours, theirs in zip(take(resumed, 4, first=5), take(engine, 4, first=5), strict=True):
        assert torch.equal(ours, theirs)
    ours, theirs = resumed.state_dict(), engine.state_dict()
    assert_equal(ours["model"], theirs["model"])
    assert (ours["scaler"] is None) == (variant != "fp16")
    if engine.ema is not None:
        assert_equal(ours["ema"], theirs["ema"])

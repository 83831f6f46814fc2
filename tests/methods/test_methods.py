"""What every method promises, and how they are found."""

import copy
import dataclasses

import pytest
import torch

from puzzlemix import Adversarial
from puzzlemix.methods import (
    METHODS,
    Augment,
    CutMix,
    InputMixupSettings,
    ManifoldMixupSettings,
    PuzzleSettings,
    VanillaSettings,
    build_method,
)

VARIANTS = {
    **{name: entry.settings() for name, entry in METHODS.items()},
    "bce": VanillaSettings(loss="bce"),
    "smoothed": InputMixupSettings(label_smoothing=0.1, loss="bce"),
    "alpha": ManifoldMixupSettings(alpha=0.2),
    "adversarial": PuzzleSettings(adversarial=Adversarial(1.0)),
    "clean": PuzzleSettings(clean_weight=1.0, loss="bce"),
    "aug": PuzzleSettings(augment=Augment()),
    "half of the batches": PuzzleSettings(prob=0.5),
    "refresh": PuzzleSettings(refresh=3),
}


@pytest.fixture(params=VARIANTS)
def method(request):
    return build_method(VARIANTS[request.param], classes=5)


def test_a_few_steps_decrease_the_loss(method, net, batches, seeded):
    batch = batches(32)
    bce = method.settings.loss == "bce"
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5 if bce else 0.1, momentum=0.5)

    def mean_loss():
        probe = copy.deepcopy(method)
        return sum(probe.loss(copy.deepcopy(net), batch, seeded(number)).loss.item() for number in range(100, 106))

    before = mean_loss()
    for number in range(12):
        optimizer.zero_grad()
        method.loss(net, batch, seeded(number)).loss.backward()
        optimizer.step()
    assert mean_loss() < 0.97 * before


def test_targets_are_shares_that_sum_to_one(method, net, batch, seeded):
    for number in range(4):
        step = method.loss(net, batch, seeded(number))
        assert step.targets.shape == step.logits.shape == (8, 5)
        assert step.targets.dtype == torch.float32
        assert step.targets.min() >= 0
        torch.testing.assert_close(step.targets.sum(1), torch.ones(8))
        assert (step.targets.gather(1, batch.labels[:, None]).sum() > 0) or number


def test_the_generator_alone_decides(method, nets, batch, seeded):
    torch.manual_seed(1)
    twin = copy.deepcopy(method)
    state = torch.get_rng_state()
    ours = method.loss(nets(), batch, seeded())
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(2)
    theirs = twin.loss(nets(), batch, seeded())
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


def test_the_batch_is_not_written_to(method, net, batch, seeded):
    before = copy.deepcopy(batch)
    method.loss(net, batch, seeded())
    assert torch.equal(batch.images, before.images)
    assert torch.equal(batch.labels, before.labels)
    assert torch.equal(batch.samples, before.samples)


def test_half_precision_steps(method, net, batch, seeded):
    with torch.autocast("cpu", torch.bfloat16):
        step = method.loss(net, batch, seeded())
    step.loss.backward()
    assert step.loss.dtype == torch.float32
    assert all(parameter.grad.isfinite().all() for parameter in net.parameters())


def test_a_last_batch_of_one(method, net, batches, seeded):
    step = method.loss(net, batches(1), seeded())
    torch.testing.assert_close(step.targets.sum(1), torch.ones(1))
    assert step.loss.isfinite()


def test_state_dicts_round_trip(method, nets, batch, seeded):
    method.loss(nets(), batch, seeded(1))
    other = build_method(method.settings, classes=5)
    other.load_state_dict(method.state_dict())
    ours, theirs = method.loss(nets(), batch, seeded(2)), other.loss(nets(), batch, seeded(2))
    assert torch.equal(ours.loss, theirs.loss)


def test_settings_are_frozen_and_have_defaults():
    for entry in METHODS.values():
        settings = entry.settings()
        assert settings == entry.settings()
        with pytest.raises(dataclasses.FrozenInstanceError):
            settings.loss = "bce"


def test_methods_by_name_and_by_settings():
    assert isinstance(build_method("cutmix", classes=5), CutMix)
    for name, entry in METHODS.items():
        by_name, by_settings = build_method(name, classes=5), build_method(entry.settings(), classes=5)
        assert type(by_name) is type(by_settings)
        assert by_name.settings == by_settings.settings


@pytest.mark.parametrize(
    ("name", "words"),
    [("cut-mix", "did you mean 'cutmix'"), ("puzle", "'puzzle'"), ("xyz", "choose one of 'vanilla', 'input_mixup'")],
)
def test_unknown_names_suggest_the_nearest(name, words):
    with pytest.raises(ValueError, match=words):
        build_method(name, classes=5)


def test_any_method_may_be_told_how_images_are_normalised(net, batch, seeded):
    for name in METHODS:
        step = build_method(name, classes=5, std=(0.5, 0.5, 0.5)).loss(net, batch, seeded())
        assert step.loss.isfinite()


def test_what_is_neither_name_nor_settings():
    with pytest.raises(TypeError, match="pass a name"):
        build_method(Augment(), classes=5)


def test_a_foreign_state_is_refused():
    with pytest.raises(ValueError, match="CutMix remembers nothing"):
        build_method("cutmix", classes=5).load_state_dict({"saliency": {}})

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from puzzlemix import Adversarial, Draw, PuzzleMix, PuzzleMixConfig, View, input_saliency, puzzle_mix
from puzzlemix.core.adversarial import AdversarialDraw


def network(classes=5, channels=3):
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(channels, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        nn.Linear(32, classes),
    )  # fmt: skip


def batch(count=8, size=16):
    generator = torch.Generator().manual_seed(1)
    return torch.rand(count, 3, size, size, generator=generator), torch.randint(0, 5, (count,), generator=generator)


def seeded(number=3):
    return torch.Generator().manual_seed(number)


def test_two_lines_train_a_model():
    model = network()
    mixup = PuzzleMix(model, num_classes=5, generator=seeded())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    images, labels = batch(32)
    losses = []
    for _ in range(30):
        x, y = mixup(images, labels)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-5:]) < sum(losses[:5])


def test_a_call_is_draw_then_saliency_then_mix():
    model, (images, labels) = network(), batch()
    mixup = PuzzleMix(model, 5, generator=seeded(), label_smoothing=0.1)
    x, y = mixup(images, labels)
    drawn = mixup.last.draw
    saliency = input_saliency(model, images, labels)
    mixed = puzzle_mix(images, saliency, index=drawn.index, lam=drawn.lam, grid=drawn.grid)
    assert torch.equal(x, mixed.images)
    soft = F.one_hot(labels, 5) * 0.9 + 0.02
    torch.testing.assert_close(y, mixed.ratio[:, None] * soft + (1 - mixed.ratio[:, None]) * soft[drawn.index])
    torch.testing.assert_close(y.sum(1), torch.ones(8))


def test_the_model_is_left_as_it_was():
    model, (images, labels) = network(), batch()
    before = copy.deepcopy(model.state_dict())
    PuzzleMix(model, 5, generator=seeded())(images, labels)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())
    assert model.training


def test_it_is_no_module_and_registers_nothing():
    model = network()
    holder = nn.Module()
    holder.mixup = PuzzleMix(model, 5, generator=seeded())
    assert list(holder.parameters()) == []


@pytest.mark.parametrize("off", ["eval", "enabled", "prob", "empty"])
def test_a_batch_stays_unmixed(off):
    model, (images, labels) = network(), batch(0 if off == "empty" else 8)
    mixup = PuzzleMix(model, 5, generator=seeded(), prob=0.0 if off == "prob" else 1.0, label_smoothing=0.1)
    if off == "eval":
        model.eval()
    mixup.enabled = off != "enabled"
    x, y = mixup(images, labels)
    assert torch.equal(x, images)
    torch.testing.assert_close(y, F.one_hot(labels, 5) * 0.9 + 0.02)
    x, (first, second, lam) = mixup.pairs(images, labels)
    assert torch.equal(first, labels)
    assert torch.equal(second, labels)
    assert (lam == 1).all()


def test_pairs_and_soft_targets_say_the_same():
    model, (images, labels) = network(), batch()
    x, y = PuzzleMix(model, 5, generator=seeded())(images, labels)
    again, (first, second, lam) = PuzzleMix(model, 5, generator=seeded()).pairs(images, labels)
    assert torch.equal(x, again)
    score = torch.randn(8, 5)
    split = lam * F.cross_entropy(score, first, reduction="none")
    split += (1 - lam) * F.cross_entropy(score, second, reduction="none")
    torch.testing.assert_close(F.cross_entropy(score, y), split.mean())


def test_soft_and_multi_hot_targets_mix_too():
    model, (images, labels) = network(), batch()
    hard_x, hard_y = PuzzleMix(model, 5, generator=seeded())(images, labels)
    soft_x, soft_y = PuzzleMix(model, generator=seeded())(images, F.one_hot(labels, 5).float())
    torch.testing.assert_close(hard_y, soft_y)
    torch.testing.assert_close(hard_x, soft_x)
    _, hot = PuzzleMix(model, generator=seeded())(images, torch.ones(8, 5, dtype=torch.int64))
    assert torch.equal(hot, torch.ones(8, 5))


def test_the_generator_alone_decides_and_its_state_can_be_restored():
    model, (images, labels) = network(), batch()
    one, other = (PuzzleMix(model, 5, generator=seeded()) for _ in range(2))
    torch.manual_seed(99)
    one(images, labels)
    state = one.state_dict()
    following = one(images, labels)
    other.load_state_dict(state)
    for ours, theirs in zip(other(images, labels), following, strict=True):
        assert torch.equal(ours, theirs)


def test_global_random_state_is_left_alone():
    model, (images, labels) = network(), batch()
    before = torch.get_rng_state()
    PuzzleMix(model, 5, generator=seeded(), adversarial=Adversarial(prob=1.0))(images, labels)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_last_call_can_be_replayed():
    model, (images, labels) = network(), batch()
    mixup = PuzzleMix(model, 5, generator=seeded(), adversarial=Adversarial(prob=1.0))
    x, y = mixup(images, labels)
    record = mixup.last
    mixup(images, labels)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()  # a replay does not look at the model
    again_x, again_y = mixup.replay(images, labels, record)
    assert torch.equal(x, again_x)
    assert torch.equal(y, again_y)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_odd_batches(count):
    images, labels = batch(count)
    x, y = PuzzleMix(network(), 5, generator=seeded())(images, labels)
    assert x.shape == images.shape
    if count == 1:
        assert torch.equal(x, images)
        assert torch.equal(y, F.one_hot(labels, 5).float())


def test_gradients_being_accumulated_are_kept():
    model, (images, labels) = network(), batch()
    mixup = PuzzleMix(model, 5, generator=seeded())
    F.cross_entropy(model(images), labels).backward()
    before = [parameter.grad.clone() for parameter in model.parameters()]
    mixup(images, labels)
    assert all(torch.equal(p.grad, kept) for p, kept in zip(model.parameters(), before, strict=True))


def test_autocast_and_channels_last():
    model, (images, labels) = network(), batch()
    expected, _ = PuzzleMix(model, 5, generator=seeded())(images, labels)
    with torch.autocast("cpu", torch.bfloat16):
        x, y = PuzzleMix(model, 5, generator=seeded())(images.to(memory_format=torch.channels_last), labels)
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert y.dtype == torch.float32
    torch.testing.assert_close(x, expected)


def test_own_saliency_replaces_the_gradient():
    images, labels = batch()
    given = torch.rand(8, 16, 16)
    drawn = Draw(torch.arange(7, -1, -1), 0.5, 4)

    def broken(_):
        raise AssertionError("the model must not run")

    by_tensor, _ = PuzzleMix(broken, 5, generator=seeded())(images, labels, saliency=given, draw=drawn)
    by_function, _ = PuzzleMix(broken, 5, generator=seeded(), saliency=lambda x, y: given)(images, labels, draw=drawn)
    expected = puzzle_mix(images, given, index=drawn.index, lam=0.5, grid=4).images
    assert torch.equal(by_tensor, expected)
    assert torch.equal(by_function, expected)


class Counting(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.seen = 0

    def forward(self, images):
        self.seen += len(images)
        return self.inner(images)


@pytest.mark.parametrize("settings", [{}, {"refresh": 2}, {"adversarial": Adversarial(prob=1.0)}])
def test_a_model_that_normalises_itself_has_the_saliency_of_normalised_images(settings):
    mean, std = (0.4, 0.5, 0.3), (0.1, 0.2, 0.5)
    model, (images, labels) = network(), batch()
    shaped_mean, shaped_std = (torch.tensor(values).view(3, 1, 1) for values in (mean, std))

    def normalising(x):
        return model((x - shaped_mean) / shaped_std)

    outside = PuzzleMix(model, 5, generator=seeded(), mean=mean, std=std, **settings)
    inside = PuzzleMix(normalising, 5, generator=seeded(), gradient_scale=std, **settings)
    x, _ = outside((images - shaped_mean) / shaped_std, labels, samples=torch.arange(8))
    model.eval()  # a plain function has no mode for the pass to set
    y, _ = inside(images, labels, samples=torch.arange(8))
    first, second = outside.last.saliency, inside.last.saliency
    scale = first.flatten(1).amax(1)[:, None, None], second.flatten(1).amax(1)[:, None, None]
    torch.testing.assert_close(first / scale[0], second / scale[1])
    torch.testing.assert_close(x * shaped_std + shaped_mean, y, atol=1e-5, rtol=1e-5)


def test_maps_are_reused_for_refresh_calls():
    model, (images, labels) = Counting(network()), batch()
    mixup = PuzzleMix(model, 5, generator=seeded(), refresh=3)
    samples = torch.arange(8)
    for _ in range(6):
        mixup(images, labels, samples=samples)
    assert model.seen == 16
    mixup(images, labels, samples=torch.arange(4, 12))
    assert model.seen == 16 + 4 + 4  # four new ones, and four that have served three times


def test_a_remembered_map_follows_flip_and_crop():
    model, (images, labels) = network(), batch()
    mixup = PuzzleMix(model, 5, generator=seeded(), refresh=2)
    zero = torch.zeros(8, dtype=torch.int64)
    mixup(images, labels, samples=torch.arange(8), view=View(zero, zero, flip=zero.bool()))
    before = mixup.last.saliency
    mixup(images.flip(-1), labels, samples=torch.arange(8), view=View(zero, zero, flip=~zero.bool()))
    turned = mixup.last.saliency.flip(-1)
    ratio = turned / before.clamp_min(1e-6)
    assert (ratio / ratio.flatten(1).median(1).values[:, None, None] - 1).abs().median() < 1e-2


def test_a_cache_survives_a_restart():
    model, (images, labels) = network(), batch()
    one = PuzzleMix(model, 5, generator=seeded(), refresh=4)
    one(images, labels, samples=torch.arange(8))
    other = PuzzleMix(model, 5, generator=seeded(9), refresh=4)
    other.load_state_dict(one.state_dict())
    for ours, theirs in zip(
        one(images, labels, samples=torch.arange(8)), other(images, labels, samples=torch.arange(8)), strict=True
    ):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("roles", [(True, False), (False, True), (True, True)])
@pytest.mark.parametrize("normalised", [False, True])
def test_adversarial_noise_follows_algorithm_2(roles, normalised):
    model, (images, labels) = network(), batch()
    mean, std = ([0.4, 0.5, 0.6], [0.2, 0.3, 0.25]) if normalised else ([0.0] * 3, [1.0] * 3)
    mean_C, std_C = (torch.tensor(values)[:, None, None] for values in (mean, std))
    given = (images - mean_C) / std_C
    index = torch.arange(7, -1, -1)
    drawn = Draw(index, 0.5, 4, adversarial=AdversarialDraw(*roles, decay=0.7, seed=5))
    mixup = PuzzleMix(model, 5, generator=seeded(), adversarial=Adversarial(prob=1.0), mean=mean, std=std)
    x, _ = mixup(given, labels, draw=drawn)

    eps, step = 10 / 255, 12 / 255
    start = torch.empty_like(images).uniform_(-eps, eps, generator=torch.Generator().manual_seed(5))
    noisy = (images + start).clamp(0, 1)
    leaf = ((noisy - mean_C) / std_C).requires_grad_()
    model.eval()
    (slope,) = torch.autograd.grad(F.cross_entropy(model(leaf), labels), leaf)
    model.train()
    noise = (noisy - images + step * slope.sign()).clamp(-eps, eps) * 0.7
    attacked = (images + noise).clamp(0, 1)
    plan = puzzle_mix(given, slope.square().mean(1).sqrt(), index=index, lam=0.5, grid=4, mean=mean, std=std)
    pick = [attacked if role else images for role in roles]
    expected = (plan.apply(pick[0], pick[1]) - mean_C) / std_C
    assert ((x - expected).abs() > 1e-5).float().mean() < 1e-3  # a sign may turn where the slope is next to nothing


def test_adversarial_noise_takes_no_extra_pass():
    model, (images, labels) = Counting(network()), batch()
    PuzzleMix(model, 5, generator=seeded(), adversarial=Adversarial(prob=1.0))(images, labels)
    assert model.seen == 8


def test_the_adversarial_draw_keeps_its_promises():
    shared = [Adversarial(prob=0.5, shared=True).draw(seeded(n)) for n in range(50)]
    assert all(d.first == d.second for d in shared)
    single = [Adversarial(prob=0.3).draw(seeded(n)) for n in range(300)]
    assert 0.2 < sum(d.first for d in single) / 300 < 0.4
    assert any(d.first != d.second for d in single)
    assert all(Adversarial(decay=False).draw(seeded(n)).decay == 1 for n in range(5))


def test_clean_gradient_is_left_by_request_only():
    model, (images, labels) = network(), batch()
    reference = copy.deepcopy(model)
    F.cross_entropy(reference(images), labels).mul(0.5).backward()
    mixup = PuzzleMix(model, 5, generator=seeded())
    x, y = mixup.with_clean_gradient(images, labels, weight=0.5)
    for ours, theirs in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad)
    assert x.shape == images.shape
    assert y.shape == (8, 5)


def test_a_clean_gradient_runs_the_pass_whatever_is_remembered():
    model, (images, labels) = Counting(network()), batch()
    mixup = PuzzleMix(model, 5, generator=seeded(), refresh=4)
    mixup(images, labels, samples=torch.arange(8))
    mixup.with_clean_gradient(images, labels)
    assert model.seen == 16


def test_an_unmixed_batch_still_gets_its_clean_gradient():
    model, (images, labels) = network(), batch()
    PuzzleMix(model, 5, generator=seeded(), prob=0.0).with_clean_gradient(images, labels)
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_signals():
    model = nn.Sequential(nn.Conv1d(2, 4, 5), nn.ReLU(), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(4, 5))
    x, y = PuzzleMix(model, 5, generator=seeded(), grids=(4, 8))(torch.rand(6, 2, 50), torch.arange(6) % 5)
    assert x.shape == (6, 2, 50)
    assert y.shape == (6, 5)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"prob": 1.5}, "prob=1.5"),
        ({"label_smoothing": -0.1}, "label_smoothing=-0.1"),
        ({"alpha": 0.0}, "alpha=0.0"),
        ({"alpha": "1"}, "alpha='1'"),
        ({"grids": ()}, r"grids=\(\).*at least one"),
        ({"grids": 4}, "grids=4.*sequence"),
        ({"grids": (2, 0)}, "grid=0"),
        ({"saliency": lambda x, y: x[:, 0], "adversarial": Adversarial()}, "leave out saliency"),
        ({"saliency": lambda x, y: x[:, 0], "refresh": 2}, "one of the two"),
        ({"refresh": 0}, "refresh"),
    ],
)
def test_bad_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        PuzzleMix(network(), 5, **settings)


def test_bad_calls_are_named():
    model, (images, labels) = network(), batch()
    with pytest.raises(ValueError, match=r"num_classes=2\.5"):
        PuzzleMix(model, 2.5)
    with pytest.raises(ValueError, match="targets run from 0 to 5 for 5 classes"):
        PuzzleMix(model, 5, saliency=lambda x, y: x[:, 0])(images, torch.arange(8) % 6)
    with pytest.raises(ValueError, match="num_classes"):
        PuzzleMix(model, generator=seeded())(images, labels)
    with pytest.raises(ValueError, match="samples="):
        PuzzleMix(model, 5, generator=seeded(), refresh=2)(images, labels)
    with pytest.raises(ValueError, match="no"):
        PuzzleMix(model, 5, generator=seeded(), adversarial=Adversarial(prob=1.0))(
            images, labels, saliency=torch.rand(8, 16, 16)
        )
    with pytest.raises(ValueError, match="mean and std"):
        PuzzleMix(model, 5, generator=seeded(), adversarial=Adversarial(prob=1.0))(images * 2 - 1, labels)


def test_mixing_follows_alpha_and_prob():
    model, (images, labels) = network(), batch(4)
    maps = torch.rand(4, 16, 16)
    mixup = PuzzleMix(model, 5, generator=seeded(), alpha=8.0, prob=0.5, config=PuzzleMixConfig(transport=None))
    lams, calls = [], 0
    for _ in range(200):
        mixup.last = None
        mixup(images, labels, saliency=maps)
        if mixup.last is not None:
            calls += 1
            lams.append(mixup.last.draw.lam)
    assert 70 < calls < 130
    spread = torch.tensor(lams).std()
    assert 0.09 < spread < 0.16  # Beta(8, 8) has a standard deviation of 0.121

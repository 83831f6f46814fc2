"""Attacks do what they say, on any model, and what others' implementations do."""

import math

import pytest
import torch
from torch import nn

from puzzlemix.evaluation.accuracy import evaluate
from puzzlemix.evaluation.attacks import PGD, attacked, fgsm, pgd
from puzzlemix.models import Normalized

PIXEL = 1 / 255


class Linear(nn.Module):
    """Logits (0, w x): the gradient of the loss is along w for class 0 and against it for class 1."""

    def __init__(self, weight, scale=1.0):
        super().__init__()
        self.weight = nn.Parameter(weight * scale)

    def forward(self, images):
        score = (images * self.weight).flatten(1).sum(1)
        return torch.stack([torch.zeros_like(score), score], 1)


@pytest.fixture
def weight(generator):
    return torch.randn(3, 4, 4, generator=generator)


@pytest.fixture
def grey():
    return torch.full((2, 3, 4, 4), 0.5)


def lengths(change):
    return change.flatten(1).norm(dim=1)


@pytest.mark.parametrize("scale", [1e-3, 1, 1e4, 1e8])
def test_fgsm_of_a_linear_model_is_known_whatever_its_logits_scale(weight, grey, scale):
    labels = torch.tensor([0, 1])
    signs = weight.sign() * torch.tensor([1, -1])[:, None, None, None]
    model = Linear(weight, scale)
    torch.testing.assert_close(fgsm(model, grey, labels, 8), grey + 8 * PIXEL * signs)
    torch.testing.assert_close(fgsm(model, grey, labels, 8, targeted=True), grey - 8 * PIXEL * signs)


def test_logits_scaled_until_the_plain_gradient_vanishes_protect_nothing(trained):
    class Loud(nn.Module):
        def forward(self, images):
            return trained.net(images) * 1e4

    sure = trained.net(trained.images).argmax(1) == trained.labels
    images, labels = trained.images[sure][:64], trained.labels[sure][:64]
    leaf = images.clone().requires_grad_()
    plain = torch.autograd.grad(nn.functional.cross_entropy(Loud()(leaf), labels), leaf)[0]
    assert (plain.flatten(1).abs().amax(1) == 0).float().mean() > 0.5  # what others' attacks would go by

    def fgsm_accuracy(model):
        return evaluate(model, [(fgsm(model, images, labels, 8), labels)]).top1

    def pgd_accuracy(model):
        hits = pgd(model, images, labels, PGD(eps_255=8, steps=5), torch.Generator().manual_seed(1)).hits
        return 1 - hits[-1].float().mean()

    for accuracy in (fgsm_accuracy, pgd_accuracy):
        assert accuracy(Loud()) <= accuracy(trained.net) + 0.05


def test_images_stay_in_range_and_within_reach(trained, generator):
    images, labels = trained.images[:16], trained.labels[:16]
    for norm, eps in (("linf", 4.0), ("l2", 128.0)):
        found = pgd(trained.net, images, labels, PGD(eps, eps / 3, steps=4, norm=norm), generator)
        change = found.images - images
        far = change.abs().flatten(1).amax(1) if norm == "linf" else lengths(change)
        assert found.images.min() >= 0
        assert found.images.max() <= 1
        assert far.max() <= eps * PIXEL + 1e-5
        assert far.median() > 0.9 * eps * PIXEL  # a cut-off corner of the ball would leave far less


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_the_start_is_spread_evenly_over_the_ball(norm, generator):
    images = torch.full((400, 1, 2, 2), 0.5)
    model = Linear(torch.ones(1, 2, 2))
    settings = PGD(eps_255=60, steps=0, norm=norm)
    found = pgd(model, images, torch.zeros(400, dtype=torch.int64), settings, generator)
    change = (found.images - images) * 255 / 60
    radius = change.abs().flatten(1).amax(1) if norm == "linf" else lengths(change)
    # the share of a ball of four dimensions that is within r of its middle is r^4
    shares = torch.tensor([(radius <= r).float().mean() for r in (0.5, 0.7, 0.9)])
    torch.testing.assert_close(shares, torch.tensor([0.5, 0.7, 0.9]) ** 4, atol=0.06, rtol=0)
    assert change.mean().abs() < 0.05


def test_the_curve_holds_what_each_number_of_steps_reaches(trained):
    images, labels = trained.images[:32], trained.labels[:32]

    def run(steps, restarts=1):
        settings = PGD(4, 1, steps=steps, restarts=restarts)
        return pgd(trained.net, images, labels, settings, torch.Generator().manual_seed(3))

    whole = run(6)
    assert whole.hits.shape == (7, 32)
    for steps in (0, 2, 6):
        part = run(steps)
        assert torch.equal(part.hits, whole.hits[: steps + 1])
        assert torch.equal(part.hits[-1], trained.net(part.images).argmax(1) != labels)
    assert (run(2, restarts=3).hits >= run(2).hits).all()
    assert whole.hits[-1].sum() > whole.hits[0].sum()


def test_of_restarts_the_one_that_succeeded_is_kept(trained):
    images, labels = trained.images[:64], trained.labels[:64]
    settings = PGD(2, 1, steps=1, restarts=4)
    found = pgd(trained.net, images, labels, settings, torch.Generator().manual_seed(0))
    assert torch.equal(found.hits[-1], trained.net(found.images).argmax(1) != labels)
    assert 0 < found.hits[-1].sum() < 64


@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_targets_are_reached(trained, generator, norm):
    images, labels = trained.images[:32], trained.labels[:32]
    targets = (labels + 3) % 10
    settings = PGD(40, 8, steps=20, norm=norm) if norm == "linf" else PGD(1000, 200, steps=20, norm=norm)
    found = pgd(trained.net, images, labels, settings, generator, targets=targets)
    assert torch.equal(found.hits[-1], trained.net(found.images).argmax(1) == targets)
    assert found.hits[-1].float().mean() > 0.9


def test_the_model_is_left_as_it_was(trained):
    net, images, labels = trained.net, trained.images[:8].requires_grad_(), trained.labels[:8]

    def attack():
        return fgsm(net, images, labels, 8), pgd(net, images, labels, PGD(), torch.Generator().manual_seed(0)).images

    expected = attack()
    try:
        net.train()
        net[1].eval()
        net[9].requires_grad_(True)
        before = {name: value.clone() for name, value in net.state_dict().items()}
        with torch.no_grad():
            found = attack()
        assert [module.training for module in net] == [True, False] + [True] * 8
        assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
        assert [p.requires_grad for p in net[9].parameters()] == [True, True]
        assert all(p.grad is None for p in net.parameters())
    finally:
        net.eval().requires_grad_(False)
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert images.grad is None


def test_a_diverged_model_withstands_nothing(grey, generator):
    model = Linear(torch.full((3, 4, 4), math.nan))
    labels = torch.tensor([0, 1])
    assert pgd(model, grey, labels, PGD(steps=1), generator).hits.all()
    assert not pgd(model, grey, labels, PGD(steps=1), generator, targets=labels).hits.any()
    assert evaluate(model, attacked(model, [(grey, labels)], 8)).top1 == 0


def test_a_model_of_normalised_images_is_attacked_where_pixels_live(weight, grey):
    model = Normalized(Linear(weight), mean=[0.4, 0.5, 0.6], std=[0.1, 0.2, 0.3])
    labels = torch.tensor([0, 0])
    torch.testing.assert_close(fgsm(model, grey, labels, 8) - grey, (8 * PIXEL * weight.sign()).expand(2, -1, -1, -1))
    # an l2 step of the model's own slope, whose channels the normalisation stretches
    slope = weight / torch.tensor([0.1, 0.2, 0.3])[:, None, None]
    found = pgd(model, grey, labels, PGD(100, 50, 1, norm="l2", random_start=False), torch.Generator())
    torch.testing.assert_close(found.images - grey, (50 * PIXEL * slope / slope.norm()).expand(2, -1, -1, -1))


def test_draws_follow_from_the_generator_alone(trained):
    images, labels = trained.images[:8], trained.labels[:8]

    def run(seed):
        torch.manual_seed(seed * 100)
        return pgd(trained.net, images, labels, PGD(steps=2), torch.Generator().manual_seed(seed)).images

    with torch.random.fork_rng():
        assert torch.equal(run(1), run(1))
        assert not torch.equal(run(1), run(2))


def test_attacked_batches_are_judged_like_others(trained):
    batches = [(trained.images[:50], trained.labels[:50]), (trained.images[50:80], trained.labels[50:80])]
    clean, after = evaluate(trained.net, batches), evaluate(trained.net, attacked(trained.net, batches, 8))
    assert after.images == clean.images == 80
    assert after.top1 < clean.top1 - 0.2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"eps_255": -1.0}, "eps_255=-1.0"),
        ({"step_255": math.inf}, "step_255=inf"),
        ({"steps": -1}, "at least 0 steps"),
        ({"restarts": 0}, "1 start"),
        ({"norm": "l1"}, "choose one of linf, l2"),
        ({"restarts": 2, "random_start": False}, "random_start=True"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        PGD(**settings)


def test_normalised_images_are_refused(trained, generator):
    images = trained.images[:4] * 4 - 2
    for attack in (
        lambda: fgsm(trained.net, images, trained.labels[:4], 8),
        lambda: pgd(trained.net, images, trained.labels[:4], PGD(), generator),
    ):
        with pytest.raises(ValueError, match="attacks work in"):
            attack()
    with pytest.raises(ValueError, match="eps_255=300"):
        fgsm(trained.net, trained.images[:4], trained.labels[:4], 300)


# ---- beside another implementation -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def torchattacks():
    return pytest.importorskip("torchattacks")


def the_same(ours, theirs):
    """All but a few pixels, whose gradient is too near to zero for two orders of summation to agree on its sign."""
    return ((ours - theirs).abs() > 1e-5).float().mean() < 2e-3


def test_fgsm_is_torchattacks(trained, torchattacks):
    images, labels = trained.images[:64], trained.labels[:64]
    theirs = torchattacks.FGSM(trained.net, eps=8 / 255)(images, labels)
    assert the_same(fgsm(trained.net, images, labels, 8), theirs)


@pytest.mark.parametrize("targeted", [False, True])
@pytest.mark.parametrize("norm", ["linf", "l2"])
def test_pgd_is_torchattacks(trained, torchattacks, norm, targeted):
    images, labels = trained.images[:64], trained.labels[:64]
    targets = (labels + 1) % 10 if targeted else None
    kind = torchattacks.PGD if norm == "linf" else torchattacks.PGDL2
    eps, step = (8, 2) if norm == "linf" else (128, 40)
    peer = kind(trained.net, eps=eps / 255, alpha=step / 255, steps=5, random_start=False)
    if targeted:
        peer.set_mode_targeted_by_function(lambda images, labels: targets)
    settings = PGD(eps, step, 5, norm=norm, random_start=False)
    ours = pgd(trained.net, images, labels, settings, torch.Generator(), targets=targets)
    theirs = peer(images, labels)
    said = trained.net(theirs).argmax(1)
    assert (ours.hits[-1] == (said != labels if targets is None else said == targets)).float().mean() > 0.98
    if norm == "l2":
        # its last step may leave an image a rounding error away, so compare where they went
        torch.testing.assert_close(ours.images, theirs, atol=2e-3, rtol=0)
    else:
        assert ((ours.images - theirs).abs() > 1e-5).float().mean() < 0.02

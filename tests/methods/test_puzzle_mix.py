"""Puzzle Mix as a method: the drop-in with all its variants, and its clean term in the loop's units."""

import itertools
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from puzzlemix import Adversarial, Draw, PuzzleMix, PuzzleMixConfig, View
from puzzlemix.core.adversarial import AdversarialDraw
from puzzlemix.methods import Augment, Puzzle, PuzzleSettings, build_method, softmax_bce
from puzzlemix.methods.augment import apply
from puzzlemix.methods.puzzle_mix import PuzzleDraw
from puzzlemix.models import Normalized

INDEX = torch.tensor([7, 6, 5, 4, 3, 2, 1, 0])
DRAW = Draw(INDEX, 0.4, 4)
PLAIN = PuzzleDraw(DRAW)


def gradients(model):
    return [parameter.grad for parameter in model.parameters()]


def assert_same_gradients(ours, theirs):
    for one, other in zip(gradients(ours), gradients(theirs), strict=True):
        torch.testing.assert_close(one, other)


def by_drop_in(model, batch, drawn=DRAW, **options):
    return PuzzleMix(model, 5, **options)(batch.images, batch.labels, draw=drawn)


@pytest.mark.parametrize("loss", ["cross_entropy", "bce"])
def test_a_step_is_the_loss_of_the_drop_ins_mix(nets, batch, loss):
    net, twin = nets(), nets()
    step = Puzzle(5, PuzzleSettings(loss=loss, label_smoothing=0.1)).apply(net, batch, PLAIN)
    images, targets = by_drop_in(twin, batch)
    assert torch.equal(step.logits, twin(images))
    assert torch.equal(step.targets, targets)
    formula = F.cross_entropy if loss == "cross_entropy" else softmax_bce
    torch.testing.assert_close(step.loss, formula(step.logits, targets * 0.9 + 0.02))
    assert all(gradient is None for gradient in gradients(net))


@pytest.mark.parametrize(
    ("settings", "options", "drawn"),
    [
        ({"mix": PuzzleMixConfig(labels=2)}, {"config": PuzzleMixConfig(labels=2)}, DRAW),
        ({"mix": PuzzleMixConfig(transport=None)}, {"config": PuzzleMixConfig(transport=None)}, DRAW),
        ({"precision": "bf16"}, {"precision": torch.bfloat16}, DRAW),
        *(
            (
                {"adversarial": adversarial},
                {"adversarial": adversarial},
                replace(DRAW, adversarial=AdversarialDraw(True, False, 0.5, 3)),
            )
            for adversarial in (Adversarial(0.1), Adversarial(decay=False), Adversarial(shared=True))
        ),
    ],
    ids=["binary", "mask only", "bf16", "adversarial", "fgsm", "shared"],
)
def test_variants_are_the_drop_ins(nets, batch, settings, options, drawn):
    net, twin = nets(), nets()
    step = Puzzle(5, PuzzleSettings(**settings)).apply(net, batch, PuzzleDraw(drawn))
    images, targets = by_drop_in(twin, batch, drawn, **options)
    assert torch.equal(step.logits, twin(images))
    assert torch.equal(step.targets, targets)


def test_variants_reach_the_draw(seeded):
    drawn = Puzzle(5, PuzzleSettings(adversarial=Adversarial(prob=1.0, decay=False))).draw(seeded(), 8).mix
    assert drawn.adversarial.first
    assert drawn.adversarial.second
    assert drawn.adversarial.decay == 1
    assert Puzzle(5, PuzzleSettings(grids=(3,))).draw(seeded(), 8).mix.grid == 3
    method, generator = Puzzle(5, PuzzleSettings(prob=0.5)), seeded()
    assert 25 < sum(method.draw(generator, 4).mix.mixed for _ in range(100)) < 75


def test_an_unmixed_batch_is_a_plain_one(nets, batch):
    step = Puzzle(5).apply(nets(), batch, PuzzleDraw(replace(DRAW, mixed=False)))
    torch.testing.assert_close(step.loss, F.cross_entropy(nets()(batch.images), batch.labels))


def test_aug_mixes_augmented_images(nets, batch, seeded):
    method = Puzzle(5, PuzzleSettings(augment=Augment(severity=2.0)))
    drawn = method.draw(seeded(), 8)
    assert drawn.augment is not None
    net, twin = nets(), nets()
    step = method.apply(net, batch, drawn)
    images, targets = by_drop_in(twin, batch._replace(images=apply(batch.images, drawn.augment)), drawn.mix)
    assert torch.equal(step.logits, twin(images))
    assert torch.equal(step.targets, targets)


@pytest.mark.parametrize("settings", [{}, {"clean_weight": 1.0}, {"refresh": 2}, {"adversarial": Adversarial(1.0)}])
def test_saliency_is_that_of_the_normalised_images(nets, batch, seeded, settings):
    """A model that normalises images itself is mixed for as one that is given them normalised."""
    mean, std = (0.4, 0.5, 0.6), (0.1, 0.25, 0.9)
    method = build_method(PuzzleSettings(**settings), classes=5, std=std)
    drawn = method.draw(seeded(), 8)
    method.apply(Normalized(nets(), mean, std), batch, drawn)

    shaped_mean, shaped_std = (torch.tensor(values).view(3, 1, 1) for values in (mean, std))
    outside = PuzzleMix(nets(), 5, mean=mean, std=std, adversarial=settings.get("adversarial"))
    by_hand = outside.with_clean_gradient if "clean_weight" in settings else outside
    by_hand((batch.images - shaped_mean) / shaped_std, batch.labels, draw=drawn.mix)
    ours, theirs = method.mixup.last.saliency, outside.last.saliency
    torch.testing.assert_close(peaked(ours), peaked(theirs), atol=1e-5, rtol=1e-4)
    unscaled = build_method(PuzzleSettings(**settings), classes=5)
    unscaled.apply(Normalized(nets(), mean, std), batch, drawn)
    assert (peaked(unscaled.mixup.last.saliency) - peaked(theirs)).abs().max() > 0.1


def peaked(maps):
    """Each map over its largest value: a factor per image means nothing."""
    return maps / maps.flatten(1).amax(1)[:, None, None]


# ---- the clean term ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("loss", "factor"), [("cross_entropy", 1.0), ("bce", 2 / 5)])
@pytest.mark.parametrize("scale", [None, lambda loss: loss * 1024 / 4])
def test_clean_term_by_its_formula(nets, batch, loss, factor, scale):
    """Both parts of the gradient, in the unit of the loop's scaling."""
    batch = batch._replace(scale=scale)
    scale = scale or (lambda loss: loss)
    ours, theirs = nets(), nets()
    step = Puzzle(5, PuzzleSettings(loss=loss, clean_weight=0.7)).apply(ours, batch, PLAIN)

    clean = 0.7 * factor * F.cross_entropy(theirs(batch.images), batch.labels)
    scale(clean).backward()
    assert_same_gradients(ours, theirs)

    scale(step.loss).backward()
    twin = nets()
    images, targets = PuzzleMix(twin, 5).with_clean_gradient(batch.images, batch.labels, draw=DRAW)
    formula = F.cross_entropy if loss == "cross_entropy" else softmax_bce
    scale(formula(theirs(images), targets)).backward()
    assert_same_gradients(ours, theirs)


def test_clean_terms_of_accumulated_batches_add_up(nets, batch):
    net, twin = nets(), nets()
    method = Puzzle(5, PuzzleSettings(clean_weight=1.0))
    for _ in range(2):
        part = batch._replace(scale=lambda loss: loss / 2)
        part.scale(method.apply(net, part, PLAIN).loss).backward()
    step = method.apply(twin, batch, PLAIN)
    step.loss.backward()
    assert_same_gradients(net, twin)


def test_clean_term_with_a_grad_scaler(nets, batch):
    scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
    net, twin = nets(), nets()
    Puzzle(5, PuzzleSettings(clean_weight=1.0)).apply(net, batch._replace(scale=scaler.scale), PLAIN)
    (512 * F.cross_entropy(twin(batch.images), batch.labels)).backward()
    assert_same_gradients(net, twin)


def test_the_clean_term_ends(nets, batch):
    method = Puzzle(5, PuzzleSettings(clean_weight=1.0, clean_until_epoch=40))
    for epoch, has_term in ((0, True), (39, True), (40, False), (99, False)):
        net = nets()
        method.apply(net, batch._replace(epoch=epoch), PLAIN)
        assert (net.head[2].weight.grad is not None) == has_term


# ---- refresh -------------------------------------------------------------------------------------------------------


class Counting(torch.nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.seen = 0

    def forward(self, images):
        self.seen += len(images)
        return self.inner(images)


def test_refresh_saves_passes(net, batch, seeded):
    model, method = Counting(net), Puzzle(5, PuzzleSettings(refresh=3))
    for _ in range(6):
        method.loss(model, batch, seeded())
    assert model.seen == 6 * 8 + 2 * 8


def test_remembered_saliency_follows_the_view(net, batch, seeded):
    method, zero = Puzzle(5, PuzzleSettings(refresh=2)), torch.zeros(8, dtype=torch.int64)
    method.loss(net, batch, seeded())
    before = method.mixup.last.saliency
    method.loss(net, batch._replace(images=batch.images.flip(-1), view=View(zero, zero, flip=~zero.bool())), seeded())
    peak = before.flatten(1).amax(1)[:, None, None]
    torch.testing.assert_close(method.mixup.last.saliency.flip(-1), before / peak, atol=1e-3, rtol=0)


def test_refresh_starts_after_the_clean_term(net, batch, seeded):
    model = Counting(net)
    method = Puzzle(5, PuzzleSettings(refresh=9, clean_weight=1.0, clean_until_epoch=1))
    for epoch in (0, 0, 1, 1):
        method.loss(model, batch._replace(epoch=epoch), seeded())
    assert model.seen == 4 * 8 + 3 * 8


def test_remembered_saliency_survives_a_restart(nets, batch, seeded, tmp_path):
    net, method = nets(), Puzzle(5, PuzzleSettings(refresh=4))
    method.loss(net, batch, seeded(1))
    torch.save(method.state_dict(), tmp_path / "state.pt")
    resumed = Puzzle(5, PuzzleSettings(refresh=4))
    resumed.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    model = Counting(net)
    for number in (2, 3):
        ours, theirs = method.loss(net, batch, seeded(number)), resumed.loss(model, batch, seeded(number))
        assert torch.equal(ours.loss, theirs.loss)
    assert model.seen == 2 * 8


def test_states_and_settings_must_agree():
    state = Puzzle(5, PuzzleSettings(refresh=4)).state_dict()
    assert Puzzle(5).state_dict() == {}
    with pytest.raises(ValueError, match="holds remembered saliency, but refresh=None"):
        Puzzle(5).load_state_dict(state)
    with pytest.raises(ValueError, match="lacks remembered saliency, but refresh=4"):
        Puzzle(5, PuzzleSettings(refresh=4)).load_state_dict({})


def test_refresh_needs_sample_numbers(net, batch, seeded):
    with pytest.raises(ValueError, match="samples"):
        Puzzle(5, PuzzleSettings(refresh=4)).loss(net, batch._replace(samples=None), seeded())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0}, "alpha=0"),
        ({"prob": -0.1}, "prob=-0.1"),
        ({"grids": ()}, "at least one"),
        ({"clean_weight": -1.0}, "clean_weight=-1.0"),
        ({"clean_until_epoch": 3}, "pass clean_weight too"),
        ({"refresh": 0}, "refresh=0"),
        ({"refresh": 2, "augment": Augment()}, "never shows it twice"),
        ({"refresh": 2, "clean_weight": 1.0}, "clean term"),
        ({"precision": "bf61"}, "did you mean 'bf16'"),
    ],
)
def test_bad_settings_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        PuzzleSettings(**options)


def test_all_variants_combine(nets, batch, seeded):
    choices = {
        "adversarial": (None, Adversarial(1.0)),
        "augment": (None, Augment()),
        "clean_weight": (0.0, 1.0),
        "mix": (PuzzleMixConfig(labels=2), PuzzleMixConfig(transport=None)),
    }
    for values in itertools.product(*choices.values()):
        step = Puzzle(5, PuzzleSettings(**dict(zip(choices, values, strict=True)))).loss(nets(), batch, seeded())
        assert step.loss.isfinite()
        torch.testing.assert_close(step.targets.sum(1), torch.ones(8))

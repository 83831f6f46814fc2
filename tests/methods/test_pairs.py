"""Input mixup, CutMix and manifold mixup: each against its formula."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from puzzlemix.methods import (
    CutMix,
    CutMixSettings,
    InputMixup,
    InputMixupSettings,
    ManifoldMixup,
    ManifoldMixupSettings,
    softmax_bce,
)
from puzzlemix.methods.cutmix import CutMixDraw, cut_and_paste, rectangle
from puzzlemix.methods.manifold_mixup import ManifoldDraw, find_layer, mixed_after
from puzzlemix.methods.pairing import Pairing, PairingSettings, mix_pairs
from puzzlemix.models import Normalized

PARTNERS = torch.tensor([7, 6, 5, 4, 3, 2, 1, 0])


def soft_targets(labels, lam):
    rows = F.one_hot(labels, 5).float()
    return lam * rows + (1 - lam) * rows[PARTNERS]


# ---- the pairing ---------------------------------------------------------------------------------------------------


def test_a_pairing_is_a_permutation_and_a_share(seeded):
    drawn = PairingSettings().draw_pairing(seeded(), 8)
    assert drawn.partners.sort().values.tolist() == list(range(8))
    assert 0 <= drawn.lam <= 1


def test_shares_follow_alpha(seeded):
    generator = seeded()
    lams = torch.tensor([PairingSettings(alpha=8.0).draw_pairing(generator, 1).lam for _ in range(300)])
    assert abs(lams.mean() - 0.5) < 0.03
    assert 0.09 < lams.std() < 0.15  # Beta(8, 8) has a standard deviation of 0.121


def test_prob_leaves_some_batches_unmixed(seeded):
    generator = seeded()
    lams = [PairingSettings(prob=0.5).draw_pairing(generator, 1).lam for _ in range(200)]
    assert 70 < lams.count(1.0) < 130


# ---- input mixup ---------------------------------------------------------------------------------------------------


def test_input_mixup_by_its_formula(nets, batch):
    step = InputMixup(5).apply(nets(), batch, Pairing(PARTNERS, 0.3))
    logits = nets()(0.3 * batch.images + 0.7 * batch.images.flip(0))
    torch.testing.assert_close(step.logits, logits)
    torch.testing.assert_close(step.targets, soft_targets(batch.labels, 0.3))
    torch.testing.assert_close(step.loss, F.cross_entropy(logits, step.targets))


def test_the_loss_is_a_setting(nets, batch):
    settings = InputMixupSettings(loss="bce", label_smoothing=0.1)
    step = InputMixup(5, settings).apply(nets(), batch, Pairing(PARTNERS, 0.3))
    torch.testing.assert_close(step.loss, softmax_bce(step.logits, step.targets * 0.9 + 0.02))


def test_a_share_of_one_changes_no_bit(batch):
    assert torch.equal(mix_pairs(batch.images, Pairing(PARTNERS, 1.0)), batch.images)


# ---- CutMix --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lam", "top", "left", "rows", "columns"),
    [
        (0.75, 0.5, 0.5, (5, 15), (4, 12)),  # half of each side
        (0.75, 0.0, 0.99, (0, 5), (11, 16)),  # clipped in a corner
        (0.0, 0.5, 0.5, (0, 20), (0, 16)),
        (1.0, 0.5, 0.5, (10, 10), (8, 8)),
    ],
)
def test_cutmix_pixel_by_pixel(lam, top, left, rows, columns):
    images = torch.rand(8, 3, 20, 16)
    drawn = CutMixDraw(Pairing(PARTNERS, lam), top, left)
    mixed, share = cut_and_paste(images, drawn)
    for b in range(8):
        for y in range(20):
            for x in range(16):
                inside = rows[0] <= y < rows[1] and columns[0] <= x < columns[1]
                assert torch.equal(mixed[b, :, y, x], images[7 - b if inside else b, :, y, x])
    assert share == 1 - (rows[1] - rows[0]) * (columns[1] - columns[0]) / 320


def test_cutmix_weighs_labels_by_what_is_seen(nets, batch):
    drawn = CutMixDraw(Pairing(PARTNERS, 0.5), 0.1, 0.8)
    step = CutMix(5).apply(nets(), batch, drawn)
    rows, columns = rectangle(drawn, 16, 16)
    pasted = torch.zeros(16, 16)
    pasted[rows, columns] = 1
    images = torch.where(pasted > 0, batch.images.flip(0), batch.images)
    torch.testing.assert_close(step.logits, nets()(images))
    lam = 1 - pasted.mean().item()
    assert lam > 0.5
    torch.testing.assert_close(step.targets, soft_targets(batch.labels, lam))
    torch.testing.assert_close(step.loss, F.cross_entropy(step.logits, step.targets))


def test_cutmix_draws_places_everywhere(seeded):
    generator = seeded()
    drawn = [CutMix(5).draw(generator, 2) for _ in range(200)]
    for place in (torch.tensor([d.top for d in drawn]), torch.tensor([d.left for d in drawn])):
        assert place.min() < 0.05
        assert place.max() > 0.95
        assert abs(place.mean() - 0.5) < 0.08


def test_cutmix_needs_images():
    with pytest.raises(ValueError, match="rectangles"):
        cut_and_paste(torch.rand(8, 3, 20), CutMixDraw(Pairing(PARTNERS, 0.5), 0.5, 0.5))


# ---- manifold mixup ------------------------------------------------------------------------------------------------


def by_hand(net, images, layer, lam):
    features = images
    for name in ("input", "layer1", "layer2"):
        features = features if name == "input" else getattr(net, name)(features)
        if name == layer:
            features = lam * features + (1 - lam) * features[PARTNERS]
    return net.head(features)


def hooks(model):
    return sum(len(module._forward_hooks) for module in model.modules())


@pytest.mark.parametrize("layer", ["input", "layer1", "layer2"])
def test_manifold_mixup_by_its_formula(nets, batch, layer):
    net = nets()
    step = ManifoldMixup(5).apply(net, batch, ManifoldDraw(Pairing(PARTNERS, 0.3), layer))
    torch.testing.assert_close(step.logits, by_hand(nets(), batch.images, layer, 0.3))
    torch.testing.assert_close(step.targets, soft_targets(batch.labels, 0.3))
    torch.testing.assert_close(step.loss, F.cross_entropy(step.logits, step.targets))
    assert hooks(net) == 0


def test_gradients_flow_through_the_mixed_features(nets, batch):
    ours, theirs = nets(), nets()
    ManifoldMixup(5).apply(ours, batch, ManifoldDraw(Pairing(PARTNERS, 0.3), "layer1")).loss.backward()
    F.cross_entropy(by_hand(theirs, batch.images, "layer1", 0.3), soft_targets(batch.labels, 0.3)).backward()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_layers_are_drawn_evenly(net, seeded):
    method, generator = ManifoldMixup(5), seeded()
    layers = method.layers(net)
    assert layers == ("input", "layer1", "layer2")
    drawn = [method.draw(generator, 4, layers).layer for _ in range(300)]
    assert all(70 < drawn.count(layer) < 130 for layer in layers)


def test_layers_of_ones_own(net, batch, seeded):
    method = ManifoldMixup(5, ManifoldMixupSettings(layers=("head.1",)))
    assert method.loss(net, batch, seeded()).loss.isfinite()


@pytest.fixture
def process_group(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


def test_through_normalisation(nets, batch, seeded):
    model, plain = Normalized(nets(), 0.5, 0.25), nets()
    drawn = ManifoldDraw(Pairing(PARTNERS, 0.3), "layer1")
    step = ManifoldMixup(5).apply(model, batch, drawn)
    torch.testing.assert_close(step.logits, by_hand(plain, (batch.images - 0.5) / 0.25, "layer1", 0.3))
    assert ManifoldMixup(5).layers(model) == ("input", "model.layer1", "model.layer2")
    assert ManifoldMixup(5).loss(model, batch, seeded()).loss.isfinite()


@pytest.mark.usefixtures("process_group")
def test_through_ddp(nets, batch):
    model = nn.parallel.DistributedDataParallel(Normalized(nets(), 0.5, 0.25))
    step = ManifoldMixup(5).apply(model, batch, ManifoldDraw(Pairing(PARTNERS, 0.3), "layer2"))
    torch.testing.assert_close(step.logits, by_hand(nets(), (batch.images - 0.5) / 0.25, "layer2", 0.3))
    assert ManifoldMixup(5).layers(model)[1] == "module.model.layer1"
    assert hooks(model) == 0


@pytest.mark.parametrize("in_place", [False, True])
def test_compiled_models_are_not_left_unmixed(nets, batch, in_place):
    """A graph compiled without the hook does not see it come."""
    net, twin = nets(), nets()
    compiled = torch.compile(net, backend="eager")
    if in_place:
        net.compile(backend="eager")
        compiled = net
    twin(batch.images)
    plain = compiled(batch.images)
    step = ManifoldMixup(5).apply(compiled, batch, ManifoldDraw(Pairing(PARTNERS, 0.3), "layer1"))
    torch.testing.assert_close(step.logits, by_hand(twin, batch.images, "layer1", 0.3))
    assert not torch.allclose(step.logits, plain)
    torch.testing.assert_close(compiled(batch.images), plain)
    torch.compiler.reset()


def test_the_hook_goes_even_when_the_model_fails(net, batch):
    def broken(module, inputs):
        raise RuntimeError("broken")

    net.layer2.register_forward_pre_hook(broken)
    with pytest.raises(RuntimeError, match="broken"):
        ManifoldMixup(5).apply(net, batch, ManifoldDraw(Pairing(PARTNERS, 0.3), "layer1"))
    assert hooks(net) == 0


class Shared(nn.Module):
    """Calls one layer twice."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.idle = nn.Linear(4, 4)
        self.pair = Pair()

    def forward(self, rows):
        return self.pair(self.layer(self.layer(rows)))[0]


class Pair(nn.Module):
    def forward(self, rows):
        return rows, rows


def test_a_layer_that_is_called_twice_mixes_once():
    model, rows = Shared(), torch.rand(8, 4)
    with mixed_after(model, "layer", Pairing(PARTNERS, 0.3)):
        mixed = model(rows)
    hidden = model.layer(rows)
    torch.testing.assert_close(mixed, model.layer(0.3 * hidden + 0.7 * hidden.flip(0)))


@pytest.mark.parametrize(
    ("layer", "count", "words"),
    [
        ("layr", 8, "did you mean 'layer'"),
        ("nothing_alike", 8, "choose one of 'layer'"),
        ("idle", 8, "took no part"),
        ("pair", 8, "returned a tuple"),
        ("layer", 6, r"shape \(6, 4\) for 8 images"),
    ],
)
def test_unfit_layers_are_named(layer, count, words):
    model = Shared()
    with pytest.raises(ValueError, match=words), mixed_after(model, layer, Pairing(PARTNERS, 0.3)):
        model(torch.rand(count, 4))
    assert hooks(model) == 0


def test_a_name_of_the_outer_model_comes_first(net):
    outer = Normalized(net, 0.5, 0.25)
    assert find_layer(outer, "model.layer1") is net.layer1
    assert find_layer(outer, "layer1") is net.layer1
    assert find_layer(outer, "model") is net


@pytest.mark.parametrize(
    ("settings", "options", "words"),
    [
        (InputMixupSettings, {"alpha": 0.0}, "alpha=0.0"),
        (CutMixSettings, {"prob": 2.0}, "prob=2.0"),
        (ManifoldMixupSettings, {"layers": ()}, "at least one name"),
        (ManifoldMixupSettings, {"layers": "layer1"}, "in a tuple"),
    ],
)
def test_bad_settings_are_named(settings, options, words):
    with pytest.raises(ValueError, match=words):
        settings(**options)

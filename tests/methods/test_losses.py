import pytest
import torch
import torch.nn.functional as F

from puzzlemix.methods import LossSettings, pair_cross_entropy, soft_cross_entropy, softmax_bce
from puzzlemix.methods.losses import LOSSES, Objective, smooth

LOGITS = torch.tensor([[2.0, -1.0, 0.5], [0.0, 0.0, 3.0]])
TARGETS = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.0, 1.0]])


def objective(classes=3, **settings):
    return Objective(LossSettings(**settings), classes)


def gradient(loss, logits, targets):
    leaf = logits.clone().requires_grad_()
    return torch.autograd.grad(loss(leaf, targets), leaf)[0]


def test_cross_entropy_is_torchs():
    torch.testing.assert_close(soft_cross_entropy(LOGITS, TARGETS), F.cross_entropy(LOGITS, TARGETS))


def test_bce_is_the_references():
    expected = F.binary_cross_entropy(LOGITS.softmax(1), TARGETS)
    torch.testing.assert_close(softmax_bce(LOGITS, TARGETS), expected)
    by_torch = gradient(lambda x, t: F.binary_cross_entropy(x.softmax(1), t), LOGITS, TARGETS)
    torch.testing.assert_close(gradient(softmax_bce, LOGITS, TARGETS), by_torch)


def test_pairs_say_the_same_as_soft_targets():
    first, second, lam = torch.tensor([0, 2]), torch.tensor([1, 2]), torch.tensor([0.7, 0.2])
    torch.testing.assert_close(pair_cross_entropy(LOGITS, first, second, lam), soft_cross_entropy(LOGITS, TARGETS))
    expected = 0.4 * F.cross_entropy(LOGITS, first) + 0.6 * F.cross_entropy(LOGITS, second)
    torch.testing.assert_close(pair_cross_entropy(LOGITS, first, second, 0.4), expected)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("lead", [0.0, 20.0, 200.0, 1e4])
def test_sure_and_wrong_models_give_finite_losses_and_gradients(name, lead):
    for truth in (0, 1):
        logits, targets = torch.tensor([[lead, 0.0, 0.0]]), F.one_hot(torch.tensor([truth]), 3).float()
        loss = LOSSES[name].function(logits, targets)
        assert loss.isfinite()
        assert gradient(LOSSES[name].function, logits, targets).isfinite().all()
        if truth == 1:
            assert loss >= lead / 3


def test_bce_keeps_its_slope_where_float32_has_no_room_for_1_minus_p():
    logits, targets = torch.tensor([[40.0, 0.0, 0.0]]), torch.tensor([[0.0, 1.0, 0.0]])
    exact = gradient(softmax_bce, logits.double(), targets.double())
    torch.testing.assert_close(gradient(softmax_bce, logits, targets).double(), exact, atol=1e-5, rtol=1e-4)
    assert exact[0, 0] > 0.3


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(name, dtype):
    loss = LOSSES[name].function(LOGITS.to(dtype), TARGETS)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, LOSSES[name].function(LOGITS.to(dtype).float(), TARGETS))
    with torch.autocast("cpu", torch.bfloat16):
        assert LOSSES[name].function(LOGITS.to(dtype), TARGETS).isfinite()


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_right(name):
    leaf = LOGITS.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: LOSSES[name].function(x, TARGETS.double()), leaf)


def test_label_smoothing_is_torchs():
    labels = torch.tensor([0, 2])
    smoothed = objective(label_smoothing=0.2)
    expected = F.cross_entropy(LOGITS, labels, label_smoothing=0.2)
    torch.testing.assert_close(smoothed(LOGITS, smoothed.one_hot(labels)), expected)
    torch.testing.assert_close(smooth(TARGETS, 0.2).sum(1), torch.ones(2))


def test_a_step_keeps_the_unsmoothed_targets_and_no_graph():
    step = objective(label_smoothing=0.2).step(LOGITS.clone().requires_grad_(), TARGETS)
    assert step.loss.requires_grad
    assert not step.logits.requires_grad
    assert torch.equal(step.targets, TARGETS)


def test_the_clean_weight_follows_the_loss():
    assert objective(100, loss="cross_entropy").clean_weight == 1
    assert objective(100, loss="bce").clean_weight == 0.02


def test_one_hot():
    labels = torch.tensor([2, 0], dtype=torch.int32)
    assert torch.equal(objective().one_hot(labels), torch.tensor([[0.0, 0, 1], [1, 0, 0]]))


def test_bad_values_are_named():
    with pytest.raises(ValueError, match="did you mean 'cross_entropy'"):
        LossSettings(loss="crossentropy")
    with pytest.raises(ValueError, match="choose one of 'cross_entropy', 'bce'"):
        LossSettings(loss="x")
    with pytest.raises(ValueError, match=r"label_smoothing=1\.5"):
        LossSettings(label_smoothing=1.5)
    with pytest.raises(ValueError, match="classes=1"):
        objective(1)
    with pytest.raises(ValueError, match="run from 0 to 3"):
        objective().one_hot(torch.tensor([0, 3]))
    with pytest.raises(ValueError, match="same number of classes"):
        objective(4)(LOGITS, torch.zeros(2, 4))

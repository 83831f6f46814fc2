"""Input gradients: right up to a factor per image, from any model, which is left as it was."""

import copy
import gc
import threading
import weakref
from collections import OrderedDict, namedtuple
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from puzzlemix.core.saliency import (
    clean_gradient,
    gradient_saliency,
    input_gradient,
    input_saliency,
    scale_to_peak,
)

BATCH, CLASSES = 6, 5


def small_net(*, signal: bool = False) -> nn.Sequential:
    """A net with all that makes passes differ: batch-norm, dropout, and a ReLU in place."""
    conv, norm, pool = (
        (nn.Conv1d, nn.BatchNorm1d, nn.AdaptiveAvgPool1d)
        if signal
        else (nn.Conv2d, nn.BatchNorm2d, nn.AdaptiveAvgPool2d)
    )
    net = nn.Sequential(
        conv(3, 4, 3, padding=1), norm(4), nn.ReLU(inplace=True), pool(3), nn.Flatten(), nn.Dropout(), nn.LazyLinear(8)
    )
    net.append(nn.Tanh()).append(nn.Linear(8, CLASSES))
    torch.manual_seed(0)
    net(torch.randn(2, 3, 9) if signal else torch.randn(2, 3, 8, 9))
    for parameter in net.parameters():
        nn.init.normal_(parameter, std=0.5)
    return net


@pytest.fixture
def net() -> nn.Sequential:
    return small_net()


@pytest.fixture
def images() -> Tensor:
    return torch.randn(BATCH, 3, 8, 9, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def targets() -> Tensor:
    return torch.arange(BATCH) % CLASSES


def plain_gradient(model: nn.Module, images: Tensor, compute_loss, dtype=torch.float64) -> Tensor:
    """The oracle: autograd through a copy of the model in its current mode, each image over its largest magnitude."""
    leaf = images.to(dtype, copy=True).requires_grad_()
    gradient = torch.autograd.grad(compute_loss(copy.deepcopy(model).to(dtype)(leaf)), leaf)[0]
    return (gradient / gradient.abs().flatten(1).amax(1).view(-1, *[1] * (images.dim() - 1))).float()


def margin_loss(targets: Tensor):
    """Cross-entropy's gradient up to a factor per image, without underflow: log-sum-exp of the others less the own."""
    others = F.one_hot(targets, CLASSES).bool()
    return lambda scores: (scores.masked_fill(others, -torch.inf).logsumexp(1) - scores[others]).sum()


def state_of(model: nn.Module):
    """Everything about a model that a pass must not change."""
    tensors = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    flags = {name: module.training for name, module in model.named_modules()}
    asks = {name: parameter.requires_grad for name, parameter in model.named_parameters()}
    grads = {name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()}
    return tensors, flags, asks, grads


def assert_same_state(before, model: nn.Module):
    after = state_of(model)
    assert before[1:3] == after[1:3]
    for old, new in ((before[0], after[0]), (before[3], after[3])):
        assert old.keys() == new.keys()
        assert all(a is b is None or torch.equal(a, b) for a, b in zip(old.values(), new.values(), strict=True))


# ---- the gradient ------------------------------------------------------------------------------------------------


def soft_targets() -> Tensor:
    return torch.rand(BATCH, CLASSES, generator=torch.Generator().manual_seed(2)).softmax(1)


LOSSES = {
    "indices": (torch.arange(BATCH) % CLASSES, lambda t: lambda s: F.cross_entropy(s, t)),
    "int32 indices": ((torch.arange(BATCH) % CLASSES).int(), lambda t: lambda s: F.cross_entropy(s, t.long())),
    "uint8 indices": ((torch.arange(BATCH) % CLASSES).byte(), lambda t: lambda s: F.cross_entropy(s, t.long())),
    "soft": (soft_targets(), lambda t: lambda s: F.cross_entropy(s, t.double())),
    "unnormalised soft": (3 * soft_targets(), lambda t: lambda s: F.cross_entropy(s, t.double())),
    "half soft": (soft_targets().half(), lambda t: lambda s: F.cross_entropy(s, t.double())),
    "multi-hot": (soft_targets() > 0.2, lambda t: lambda s: F.binary_cross_entropy_with_logits(s, t.double())),
    "int multi-hot": (
        (soft_targets() > 0.2).int(),
        lambda t: lambda s: F.binary_cross_entropy_with_logits(s, t.double()),
    ),
}


@pytest.mark.parametrize("signal", [False, True])
@pytest.mark.parametrize(("targets", "make_loss"), LOSSES.values(), ids=LOSSES.keys())
def test_equals_autograd_up_to_a_factor_per_image(targets, make_loss, signal):
    net = small_net(signal=signal)
    images = torch.randn(BATCH, 3, 9) if signal else torch.randn(BATCH, 3, 8, 9)
    gradient = input_gradient(net, images, targets)
    assert gradient.shape == images.shape
    assert gradient.dtype == torch.float32
    torch.testing.assert_close(gradient, plain_gradient(net.eval(), images, make_loss(targets)), atol=1e-5, rtol=1e-4)


def test_saliency_is_the_root_mean_square_over_channels(net, images, targets):
    gradient = input_gradient(net, images, targets)
    saliency = input_saliency(net, images, targets)
    torch.testing.assert_close(saliency, (gradient.double() ** 2).mean(1).sqrt().float())
    assert torch.equal(saliency, gradient_saliency(gradient))
    assert saliency.shape == (BATCH, 8, 9)
    assert input_saliency(small_net(signal=True), torch.randn(2, 3, 9), targets[:2]).shape == (2, 9)


def test_largest_magnitude_is_one(net, images, targets):
    peaks = input_gradient(net, images, targets).abs().flatten(1).amax(1)
    assert torch.equal(peaks, torch.ones(BATCH))


def test_gradient_that_is_zero_stays_zero(net, images, targets):
    gradient = input_gradient(net, images, targets, loss=lambda scores, _: scores[1:].sum() + 0 * scores[0].sum())
    assert not gradient[0].any()
    assert (gradient[1:].abs().flatten(1).amax(1) == 1).all()


@pytest.mark.parametrize("reduce", [torch.mean, torch.sum, lambda per_sample: per_sample])
def test_own_loss_of_any_reduction(net, images, targets, reduce):
    hinge = lambda scores, t: reduce(F.multi_margin_loss(scores, t, reduction="none"))  # noqa: E731
    expected = plain_gradient(net.eval(), images, lambda scores: F.multi_margin_loss(scores, targets))
    torch.testing.assert_close(input_gradient(net, images, targets, loss=hinge), expected, atol=1e-5, rtol=1e-4)


def test_own_loss_takes_any_logits_and_targets(images):
    dense = nn.Conv2d(3, CLASSES, 1)
    wanted = {"classes": torch.zeros(BATCH, 8, 9, dtype=torch.long)}
    loss = lambda scores, target: F.cross_entropy(scores, target["classes"])  # noqa: E731
    expected = plain_gradient(dense, images, lambda scores: F.cross_entropy(scores, wanted["classes"]))
    torch.testing.assert_close(input_gradient(dense, images, wanted, loss=loss), expected, atol=1e-5, rtol=1e-4)


# ---- samples the model is sure of ----------------------------------------------------------------------------------


def sure_net(net: nn.Module, gap: float) -> nn.Module:
    """The net with class 0 ahead by about `gap`, whatever the image."""
    with torch.no_grad():
        net[-1].weight.mul_(0.2)
        net[-1].bias.copy_(torch.tensor([gap, 0.1, -0.2, 0.0, 0.3]))
    return net


@pytest.mark.parametrize("gap", [0, 5, 20, 60, 200, 1000])
@pytest.mark.parametrize("as_rows", [False, True])
def test_sure_samples_keep_their_map(net, images, gap, as_rows):
    targets = torch.tensor([0, 0, 0, 1, 2, 0])
    given = F.one_hot(targets, CLASSES).float() if as_rows else targets
    expected = plain_gradient(sure_net(net, gap).eval(), images, margin_loss(targets))
    torch.testing.assert_close(input_gradient(net, images, given), expected, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("gap", [0, 60, 200])
def test_sure_multi_hot_samples_keep_their_map(net, images, gap):
    sure_net(net, 0)[-1].bias.data.copy_(gap * torch.tensor([1.0, -1, -1, 1, 1]) - torch.arange(5))
    hot = torch.tensor([1, 0, 0, 1, 1]).expand(BATCH, CLASSES)
    leaf = images.double().requires_grad_()
    scores = copy.deepcopy(net).eval().double()(leaf)
    signed = torch.where(hot > 0, -scores, scores)  # d loss / d signed is sigmoid(signed), here times e^gap
    (gradient,) = torch.autograd.grad(scores, leaf, (1 - 2 * hot) * (F.logsigmoid(signed) + gap).exp().detach())
    expected = (gradient / gradient.abs().amax((1, 2, 3), keepdim=True)).float()
    torch.testing.assert_close(input_gradient(net, images, hot), expected, atol=1e-4, rtol=1e-3)


def test_sure_samples_keep_their_map_in_bfloat16(net, images):
    targets = torch.zeros(BATCH, dtype=torch.long)
    saliency = input_saliency(sure_net(net, 25), images, targets, precision=torch.bfloat16)
    expected = gradient_saliency(plain_gradient(net.eval(), images, margin_loss(targets)))
    likeness = F.cosine_similarity(saliency.flatten(1), expected.flatten(1))
    assert (likeness > 0.99).all()


def test_two_classes_that_lead_together_still_count(net, images):
    sure_net(net, 0)[-1].bias.data.copy_(torch.tensor([70.0, 70, 0, 0, 0]))
    targets = torch.tensor([0, 1, 2, 3, 4, 0])
    expected = plain_gradient(net.eval(), images, margin_loss(targets))
    torch.testing.assert_close(input_gradient(net, images, targets), expected, atol=1e-4, rtol=1e-3)


# ---- the model is left as it was -----------------------------------------------------------------------------------


def test_no_weight_gradient_is_computed_and_none_touched(net, images, targets):
    net[0].weight.grad = torch.full_like(net[0].weight, 7)
    net[1].requires_grad_(False)
    fired = []
    for parameter in filter(lambda parameter: parameter.requires_grad, net.parameters()):
        parameter.register_post_accumulate_grad_hook(lambda _: fired.append("accumulated"))
        parameter.register_hook(lambda _: fired.append("computed"))
    asked = []
    net[0].register_forward_hook(lambda *_: asked.extend(p.requires_grad for p in net.parameters()))
    before = state_of(net)
    input_gradient(net, images, targets)
    assert_same_state(before, net)
    assert not fired
    assert asked
    assert not any(asked)
    net(images).sum().backward()  # the hooks are still there
    assert "computed" in fired
    assert "accumulated" in fired


@pytest.mark.parametrize("stage", ["forward", "backward", "loss", "targets"])
def test_everything_is_restored_after_an_error(net, images, targets, stage):
    def fail(*_):
        raise RuntimeError("stop here")

    net[3].eval()
    net[1].bias.requires_grad_(False)
    options = {"loss": fail} if stage == "loss" else {}
    if stage == "forward":
        net[-1].register_forward_pre_hook(fail)
    if stage == "backward":
        net[-1].register_forward_hook(lambda module, given, out: out.register_hook(fail) and None)
    before = state_of(net)
    with pytest.raises((RuntimeError, ValueError)):
        input_gradient(net, images, targets + 99 * (stage == "targets"), **options)
    assert_same_state(before, net)


def test_runs_in_eval_mode_and_restores_every_module_of_its_own(net, images, targets):
    net[1].eval()  # frozen batch-norm
    net[5].eval()
    seen = []
    net[-1].register_forward_hook(lambda *_: seen.extend(module.training for module in net.modules()))
    before = state_of(net)
    input_gradient(net, images, targets)
    assert seen
    assert not any(seen)
    assert_same_state(before, net)


def test_does_not_call_the_models_own_train_or_eval(images, targets):
    class Stubborn(nn.Sequential):
        def train(self, mode=True):
            raise AssertionError("called")

    input_gradient(Stubborn(*small_net()), images, targets)


def test_train_keeps_every_modules_own_mode(net, images, targets):
    net[5].p = 0.0
    net[1].eval()
    expected = plain_gradient(net, images, lambda scores: F.cross_entropy(scores, targets))
    torch.testing.assert_close(
        input_gradient(net, images, targets, train=True), expected, atol=1e-5, rtol=1e-4
    )  # no batch statistics: the images do not see each other
    net[1].train()
    counted = net[1].num_batches_tracked.clone()
    input_gradient(net, images, targets, train=True)
    assert net[1].num_batches_tracked == counted + 1


def test_recurrent_layers_without_dropout_keep_their_mode(images, targets):
    """cuDNN differentiates them in train mode only."""

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain, self.dropped = nn.LSTM(3, 4), nn.LSTM(4, CLASSES, num_layers=2, dropout=0.5)

        def forward(self, x):
            self.seen = self.plain.training, self.dropped.training
            return self.dropped(self.plain(x.permute(2, 0, 1))[0])[0][-1]

    reader = Reader()
    input_gradient(reader, images.flatten(2), targets)
    assert reader.seen == (True, False)
    assert reader.dropped.training


def test_draws_nothing_at_random(net, images, targets):
    before = torch.get_rng_state()
    first, second = (input_gradient(net, images, targets) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, torch.get_rng_state())


def test_images_and_targets_are_not_modified(net, images, targets):
    class InPlace(nn.Sequential):
        def forward(self, x):
            return super().forward(x.sub_(0.5).div_(2))

    kept = images.clone()
    for model_images in (images, images.clone().requires_grad_()):
        gradient = input_gradient(InPlace(*net), model_images, targets)
        expected = plain_gradient(net.eval(), (kept - 0.5) / 2, lambda s: F.cross_entropy(s, targets))
        torch.testing.assert_close(gradient, expected, atol=1e-5, rtol=1e-4)
        assert torch.equal(model_images, kept)
        assert model_images.grad is None


def test_no_graph_stays_alive(net, images, targets):
    alive = []
    net[2].register_forward_hook(lambda module, given, out: alive.append(weakref.ref(out)))
    gradient = input_gradient(net, images, targets)
    gc.collect()
    assert not gradient.requires_grad
    assert gradient.grad_fn is None
    assert alive[0]() is None


def test_two_threads_may_share_a_model(net, images, targets):
    before = state_of(net)
    expected = input_gradient(net, images, targets)
    results = []
    work = lambda: results.extend(input_gradient(net, images, targets) for _ in range(10))  # noqa: E731
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 30
    assert all(torch.equal(result, expected) for result in results)
    assert_same_state(before, net)


# ---- callers' modes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_works_where_gradients_are_off(net, images, targets, mode):
    expected = input_saliency(net, images, targets)
    soft = soft_targets()
    expected_own = input_gradient(net, images, soft, loss=F.cross_entropy)
    with mode():
        assert torch.equal(input_saliency(net, images, targets), expected)
        made_here = images.clone(), targets.clone(), soft.clone()
        assert torch.equal(input_saliency(net, *made_here[:2]), expected)
        own = input_gradient(net, made_here[0], made_here[2], loss=F.cross_entropy)
        assert not torch.is_grad_enabled()
    assert torch.equal(own, expected_own)
    assert not own.is_inference()


def test_works_with_a_frozen_model(net, images, targets):
    expected = input_gradient(net, images, targets)
    net.requires_grad_(False)
    assert torch.equal(input_gradient(net, images, targets), expected)
    assert not any(parameter.requires_grad for parameter in net.parameters())


def test_float32_under_autocast(net, images, targets):
    expected = input_gradient(net, images, targets)
    seen = []
    net[-1].register_forward_hook(lambda module, given, out: seen.append(out.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        gradient = input_gradient(net, images, targets)
        assert torch.is_autocast_enabled("cpu")
        net(images)
    assert torch.equal(gradient, expected)
    assert seen == [torch.float32, torch.bfloat16]


@pytest.mark.parametrize("precision", [torch.bfloat16, torch.float16])
def test_reduced_precision_on_request(net, images, targets, precision):
    seen = []
    hook = net[-1].register_forward_hook(lambda module, given, out: seen.append(out.dtype))
    saliency = input_saliency(net, images, targets, precision=precision)
    assert seen == [precision]
    assert saliency.dtype == torch.float32
    hook.remove()
    likeness = F.cosine_similarity(saliency.flatten(1), input_saliency(net, images, targets).flatten(1))
    assert (likeness > 0.98).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_models_of_other_dtypes(net, images, targets, dtype):
    expected = input_saliency(net, images, targets)
    saliency = input_saliency(net.to(dtype), images.to(dtype), targets)
    assert saliency.dtype == torch.float32
    assert (F.cosine_similarity(saliency.flatten(1), expected.flatten(1)) > 0.98).all()


def test_channels_last(net, images, targets):
    gradient = input_gradient(net, images.contiguous(memory_format=torch.channels_last), targets)
    torch.testing.assert_close(gradient, input_gradient(net, images, targets), atol=1e-6, rtol=1e-4)


# ---- kinds of models -----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # torch's own, silent unless made an error
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_models(net, images, targets, backend):
    net[1].eval()
    expected = input_gradient(net, images, targets)
    torch.compiler.reset()
    compiled = torch.compile(net, backend=backend)
    before = state_of(net)
    for _ in range(2):
        torch.testing.assert_close(input_gradient(compiled, images, targets), expected, atol=1e-6, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(input_gradient(compiled, images, targets), expected, atol=1e-6, rtol=1e-4)
    assert_same_state(before, net)
    torch.compiler.reset()


def test_models_that_are_plain_functions(images, targets):
    weight = torch.randn(3 * 8 * 9, CLASSES, requires_grad=True)
    gradient = input_gradient(lambda x: x.flatten(1) @ weight, images, targets)
    assert (gradient.abs().flatten(1).amax(1) == 1).all()
    assert weight.grad is None
    assert weight.requires_grad


def test_data_parallel(net, images, targets):
    expected = input_gradient(net, images, targets)
    assert torch.equal(input_gradient(nn.DataParallel(net), images, targets), expected)


class Output(OrderedDict):
    """Like the outputs of Hugging Face models: a mapping whose entries are attributes too."""

    def __getattr__(self, name):
        return self[name]


Auxiliary = namedtuple("Auxiliary", ["aux", "logits"])
OUTPUTS = {
    "tuple": lambda s: (s, s * 0),
    "list": lambda s: [s],
    "dict": lambda s: {"loss": None, "logits": s},
    "segmentation dict": lambda s: {"out": s, "aux": s * 0},
    "mapping": lambda s: Output(hidden=s * 0, logits=s),
    "object": lambda s: SimpleNamespace(logits=s),
    "named tuple": lambda s: Auxiliary(s * 0, s),
}


@pytest.mark.parametrize("pack", OUTPUTS.values(), ids=OUTPUTS.keys())
def test_outputs_of_many_kinds(net, images, targets, pack):
    expected = input_gradient(net, images, targets)
    net.register_forward_hook(lambda module, given, out: pack(out))
    assert torch.equal(input_gradient(net, images, targets), expected)


def test_logits_hook(net, images, targets):
    expected = input_gradient(net, images, targets)
    net.register_forward_hook(lambda module, given, out: {"scores": [0 * out, out]})
    assert torch.equal(input_gradient(net, images, targets, logits=lambda out: out["scores"][1]), expected)


@pytest.mark.parametrize("pack", [lambda s: {"scores": s}, lambda s: (), lambda s: ("a",), lambda s: 3, lambda s: None])
def test_unknown_outputs_name_the_remedy(net, images, targets, pack):
    given = type(pack(0)).__name__
    with pytest.raises(TypeError, match=rf"(?s){given}.*logits="):
        input_gradient(lambda x: pack(net(x)), images, targets)


# ---- distributed ---------------------------------------------------------------------------------------------------


@pytest.fixture
def process_group(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/meet", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


class Watched(nn.parallel.DistributedDataParallel):
    """Notes whatever is sent: buffers at the start of a forward, gradients at the end of a backward."""

    def __init__(self, module: nn.Module, **options):
        super().__init__(module, **options)
        self.sent = []
        self.register_comm_hook(None, self._note)

    def _sync_buffers(self):
        self.sent.append("buffers")
        super()._sync_buffers()

    def _note(self, state, bucket):
        self.sent.append("gradients")
        future = torch.futures.Future()
        future.set_result(bucket.buffer())
        return future


def kept(parameter: nn.Parameter) -> Tensor:
    assert parameter.grad is not None
    return parameter.grad.clone()


@pytest.mark.usefixtures("process_group")
@pytest.mark.parametrize("compiled", [False, True])
def test_nothing_is_sent_by_the_saliency_pass(net, images, targets, compiled):
    watched = Watched(net)
    model = torch.compile(watched, backend="eager") if compiled else watched
    for _ in range(3):
        assert torch.equal(input_gradient(model, images, targets), input_gradient(net, images, targets))
        assert not watched.sent
        watched(images).sum().backward()
        assert watched.sent == ["buffers", "gradients"]
        watched.sent.clear()


@pytest.mark.usefixtures("process_group")
def test_wrapped_deep_inside_another_model(net, images, targets):
    model = nn.Sequential(nn.Identity(), Watched(net))
    for _ in range(2):
        assert torch.equal(input_gradient(model, images, targets), input_gradient(net, images, targets))
        assert "gradients" not in model[1].sent
        model(images).sum().backward()
        assert model[1].sent.count("gradients") == 1
        model[1].sent.clear()


@pytest.mark.usefixtures("process_group")
@pytest.mark.parametrize("options", [{}, {"gradient_as_bucket_view": True}, {"find_unused_parameters": True}], ids=str)
def test_clean_gradients_are_sent_with_the_next_backward(net, images, targets, options):
    net[5].p = 0.0
    alone = copy.deepcopy(net)
    (0.5 * F.cross_entropy(alone(images), targets) + alone(images.flip(0)).square().mean()).backward()
    watched = Watched(net, **options)
    for _ in range(3):
        watched.zero_grad()
        watched.sent.clear()
        clean_gradient(watched, images, targets, weight=0.5)
        assert not watched.sent
        watched(images.flip(0)).square().mean().backward()
        assert watched.sent == ["buffers", "gradients"]
        for parameter, other in zip(net.parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(kept(parameter), kept(other), atol=1e-5, rtol=1e-4)


@pytest.mark.usefixtures("process_group")
def test_static_graphs(net, images, targets):
    """They count gradient hooks per step: a clean pass before the first step would leave its sum unsent."""
    watched = Watched(net, static_graph=True)
    with pytest.raises(ValueError, match="static_graph"):
        clean_gradient(watched, images, targets)
    for _ in range(3):
        input_gradient(watched, images, targets)
        watched(images).sum().backward()
    assert watched.sent == ["buffers", "gradients"] * 3


# ---- hostile input -------------------------------------------------------------------------------------------------

BAD_TARGETS = {
    "too large": (torch.tensor([0, 1, 2, 3, 4, 5]), r"from 0 to 5.*0 to 4"),
    "negative": (torch.tensor([0, 1, -100, 3, 4, 1]), r"from -100 to 4.*0 to 4"),
    "short": (torch.zeros(3, dtype=torch.long), r"\(3,\)"),
    "column": (torch.zeros(BATCH, 1, dtype=torch.long), r"\(6, 1\)"),
    "float vector": (torch.zeros(BATCH), "float32"),
    "bool vector": (torch.zeros(BATCH, dtype=torch.bool), "bool"),
    "wrong classes": (torch.zeros(BATCH, 4), r"\(6, 4\)"),
    "negative soft": (torch.full((BATCH, CLASSES), -0.5), "-0.5.*probabilities"),
    "NaN soft": (torch.full((BATCH, CLASSES), torch.nan), "probabilities"),
    "counts": (torch.full((BATCH, CLASSES), 2), "from 2 to 2.*zeros and ones"),
}


@pytest.mark.parametrize("compute", [input_gradient, clean_gradient])
@pytest.mark.parametrize(("bad", "message"), BAD_TARGETS.values(), ids=BAD_TARGETS.keys())
def test_bad_targets(net, images, bad, message, compute):
    with pytest.raises(ValueError, match=message):
        compute(net, images, bad)


def test_targets_that_are_no_tensor(net, images):
    with pytest.raises(TypeError, match=r"list.*loss="):
        input_gradient(net, images, [0] * BATCH)


def test_targets_elsewhere(net, images, targets):
    with pytest.raises(ValueError, match=r"meta.*cpu"):
        input_gradient(net, images, targets.to("meta"))


@pytest.mark.parametrize("compute", [input_gradient, clean_gradient])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda x: x.byte(), ValueError, "uint8"),
        (lambda x: x[0, 0], ValueError, r"\(8, 9\)"),
        (lambda x: x[None], ValueError, r"\(1, 6, 3, 8, 9\)"),
        (lambda x: x[:, :0], ValueError, r"\(6, 0, 8, 9\)"),
        (lambda x: x.numpy(), TypeError, "ndarray"),
    ],
)
def test_bad_images(net, images, targets, change, error, message, compute):
    with pytest.raises(error, match=message):
        compute(net, change(images), targets)


def test_bad_models(net, images, targets):
    one_score = nn.Sequential(nn.Flatten(), nn.Linear(216, 1))
    with pytest.raises(ValueError, match=r"constant.*loss="):
        input_gradient(one_score, images, targets * 0)
    assert (input_gradient(one_score, images, targets[:, None] % 2).abs().amax((1, 2, 3)) == 1).all()
    with pytest.raises(ValueError, match=r"\(6, 3, 8, 9\).*logits="):
        input_gradient(nn.Identity(), images, targets)
    with pytest.raises(ValueError, match=r"\(3, 5\) for 6 images"):
        input_gradient(lambda x: net(x)[:3], images, targets)
    with pytest.raises(ValueError, match="do not depend"):
        input_gradient(torch.no_grad()(lambda x: net(x)), images, targets)
    with pytest.raises(TypeError, match="NoneType"):
        input_gradient(net, images, targets, logits=lambda _: None)


def test_bad_precision(net, images, targets):
    with pytest.raises(ValueError, match=r"float64.*float32"):
        input_gradient(net, images, targets, precision=torch.float64)


def test_empty_batch(net):
    empty, no_targets = torch.empty(0, 3, 8, 9, dtype=torch.bfloat16), torch.empty(0, dtype=torch.long)
    before = state_of(net)
    assert input_gradient(net, empty, no_targets).shape == (0, 3, 8, 9)
    assert input_saliency(net, empty, no_targets).shape == (0, 8, 9)
    assert input_saliency(net, empty, no_targets).dtype == torch.float32
    assert clean_gradient(net, empty, no_targets).shape == (0, 3, 8, 9)
    assert_same_state(before, net)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_a_hostile_image_spoils_only_its_own_map(net, images, targets, bad):
    expected = input_gradient(net, images, targets)
    images[2, 1, 3, 4] = bad
    gradient = input_gradient(net, images, targets)
    others = torch.arange(BATCH) != 2
    torch.testing.assert_close(gradient[others], expected[others], atol=1e-6, rtol=1e-4)
    assert not gradient[2].isfinite().all()


def test_scaling_never_hides_what_is_not_finite():
    rows = torch.tensor([[0.0, 0], [2, -4], [torch.inf, 1], [torch.nan, 1], [1e-42, 5e-43]])
    scaled = scale_to_peak(rows)
    assert torch.equal(scaled[:3], torch.tensor([[0.0, 0], [0.5, -1], [torch.inf, 1]]))
    assert scaled[3].isnan().tolist() == [True, False]
    torch.testing.assert_close(scaled[4], torch.tensor([1, 0.5]), atol=1e-2, rtol=0)


# ---- the clean term ------------------------------------------------------------------------------------------------


def clean_targets():
    return {key: LOSSES[key] for key in ("indices", "soft", "multi-hot")}


@pytest.mark.parametrize(("targets", "make_loss"), clean_targets().values(), ids=clean_targets().keys())
@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_clean_gradients_of_the_weights(net, images, targets, make_loss, weight):
    net[5].p = 0.0
    alone = copy.deepcopy(net).double()
    (weight * make_loss(targets)(alone(images.double()))).backward()
    expected_map = plain_gradient(net, images, make_loss(targets))
    gradient = clean_gradient(net, images, targets, weight=weight)
    torch.testing.assert_close(gradient, expected_map, atol=1e-5, rtol=1e-3)
    for parameter, other in zip(net.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(kept(parameter), kept(other).float(), atol=1e-6, rtol=1e-3)
    assert net[1].num_batches_tracked == alone[1].num_batches_tracked  # one pass, in train mode
    assert not gradient.requires_grad


def test_clean_gradients_accumulate_under_any_mode(net, images, targets):
    net.eval()
    first = clean_gradient(net, images, targets)
    once = [kept(parameter) for parameter in net.parameters()]
    with torch.no_grad():
        assert torch.equal(clean_gradient(net, images, targets, weight=2.0), first)
    with torch.inference_mode():
        clean_gradient(net, images.clone(), targets.clone())
    for parameter, single in zip(net.parameters(), once, strict=True):
        torch.testing.assert_close(kept(parameter), 4 * single)
    assert all(parameter.requires_grad for parameter in net.parameters())


def test_clean_map_equals_the_plain_one_in_the_same_mode(net, images, targets):
    net.eval()
    expected = input_gradient(net, images, targets)
    torch.testing.assert_close(clean_gradient(net, images, targets), expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("enabled", [True, False])
def test_clean_gradients_take_the_scaler(net, images, targets, enabled):
    net.eval()
    expected_map = clean_gradient(net, images, targets)
    expected = [kept(parameter) * (8 if enabled else 1) for parameter in net.parameters()]
    net.zero_grad()
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=enabled)
    gradient = clean_gradient(net, images, targets, scaler=scaler)
    torch.testing.assert_close(gradient, expected_map, atol=1e-6, rtol=1e-4)
    for parameter, single in zip(net.parameters(), expected, strict=True):
        torch.testing.assert_close(kept(parameter), single)


def test_clean_pass_runs_under_the_callers_autocast(net, images, targets):
    net.eval()
    clean_gradient(net, images, targets)
    single = [kept(parameter) for parameter in net.parameters()]
    net.zero_grad()
    seen = []
    net[-1].register_forward_hook(lambda module, given, out: seen.append(out.dtype))
    with torch.autocast("cpu", torch.bfloat16):
        gradient = clean_gradient(net, images, targets)
        loss = F.cross_entropy(net(images), targets)
    loss.backward()  # the weights' bfloat16 copies are shared with the first pass
    assert seen == [torch.bfloat16] * 2
    assert gradient.dtype == torch.float32
    for parameter, one in zip(net.parameters(), single, strict=True):
        torch.testing.assert_close(kept(parameter), 2 * one, atol=0.02, rtol=0.1)


def test_clean_pass_leaves_modes_and_frozen_weights_alone(net, images, targets):
    net[1].eval().requires_grad_(False)
    before = state_of(net)
    clean_gradient(net, images, targets)
    assert state_of(net)[1:3] == before[1:3]
    assert net[1].weight.grad is None
    assert torch.equal(net[1].running_mean, before[0]["1.running_mean"])
    net.requires_grad_(False)
    assert clean_gradient(net, images, targets).any()


def test_clean_pass_with_own_loss_and_logits(net, images, targets):
    net.eval()
    clean_gradient(net, images, targets)
    expected = [kept(parameter) for parameter in net.parameters()]
    net.zero_grad()
    net.register_forward_hook(lambda module, given, out: [None, out])
    own = lambda scores, t: F.cross_entropy(scores, t, reduction="none")  # noqa: E731
    clean_gradient(net, images, targets, loss=own, logits=lambda out: out[1])
    for parameter, single in zip(net.parameters(), expected, strict=True):
        torch.testing.assert_close(kept(parameter), single)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("nan"), float("inf")])
def test_bad_clean_weight(net, images, targets, weight):
    with pytest.raises(ValueError, match=f"weight={weight!r}"):
        clean_gradient(net, images, targets, weight=weight)

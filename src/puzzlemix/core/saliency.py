"""Saliency by input gradients: how strongly each pixel moves the loss, while the model's own state stays untouched.

A map matters only up to a factor per image, so the loss gradient at the logits is taken up to a factor per image too,
in forms that neither cancel nor underflow: a sample the model is sure of has a map like any other.

Shape suffixes: B batch, C channels, H height, W width, T length of a signal, N classes.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from .checks import check_images, require, span
from .inputs import channel_numbers
from .targets import one_hot

Model = Callable[..., Any]
Loss = Callable[[Tensor, Any], Tensor]
Logits = Callable[[Any], Tensor]

_PRECISIONS = (torch.float32, torch.bfloat16, torch.float16)
_LARGEST_LEAD = 80.0  # of the top logit over the next: beyond it exp leaves float32, and the map has long converged
_pass_lock = threading.RLock()  # two threads that freeze one model would restore each other's frozen state


def input_saliency(
    model: Model,
    images: Tensor,
    targets: Any,
    *,
    loss: Loss | None = None,
    logits: Logits | None = None,
    precision: torch.dtype = torch.float32,
    train: bool = False,
) -> Tensor:
    """How strongly each pixel moves the loss, up to a factor per image; the arguments are `input_gradient`'s.

    images (B,C,H,W) or (B,C,T) -> float32 (B,H,W) or (B,T).
    """
    gradient = input_gradient(model, images, targets, loss=loss, logits=logits, precision=precision, train=train)
    return gradient_saliency(gradient)


def gradient_saliency(gradient: Tensor, scale: Sequence[float] | Tensor | None = None) -> Tensor:
    """Root mean square over the channels: (B,C,H,W) or (B,C,T) -> float32 (B,H,W) or (B,T).

    scale: multiplies each channel before. For a model that normalises images itself its standard deviations turn the
    gradient into that at the normalised images, whose saliency the paper uses.
    """
    gradient = gradient.float()
    if scale is not None:
        gradient = gradient * _per_channel(scale, gradient)
    return gradient.square().mean(1).sqrt()


def _per_channel(scale: Sequence[float] | Tensor, gradient: Tensor) -> Tensor:
    values = channel_numbers(scale, gradient.device)
    channels = gradient.shape[1]
    if values.shape != (channels,):
        raise ValueError(f"scale has {values.numel()} values for {channels} channels: pass one per channel")
    return values.view(-1, *[1] * (gradient.dim() - 2))


def input_gradient(
    model: Model,
    images: Tensor,
    targets: Any,
    *,
    loss: Loss | None = None,
    logits: Logits | None = None,
    precision: torch.dtype = torch.float32,
    train: bool = False,
) -> Tensor:
    """Gradient of the loss at the images, each image's scaled to a largest magnitude of 1 (or all zero).

    images (B,C,H,W) or (B,C,T) -> float32 of the same shape. targets: class indices (B,), probabilities (B,N), or
    integers or bools (B,N), multi-hot. loss: takes (logits, targets) instead of the cross-entropy (binary for
    multi-hot) and returns one number or one per sample. logits: takes what the model returns and gives (B,N).
    precision: float32, or the dtype to autocast to. train=True keeps every module's own mode instead of eval mode;
    batch-norm in train mode then also updates its statistics, and lets the images of a batch see each other.
    """
    check_images(images)
    if precision not in _PRECISIONS:
        raise ValueError(f"precision={precision}: choose one of {', '.join(map(str, _PRECISIONS))}")
    if not len(images):
        return torch.zeros_like(images, dtype=torch.float32, requires_grad=False)
    bare = _without_ddp(model)
    reduced = torch.autocast(images.device.type, precision, enabled=precision != torch.float32)
    with _gradients_on(), reduced, _frozen(bare), _unsynchronised(bare), ExitStack() as mode:
        if not train:
            mode.enter_context(_eval_mode(bare))
        leaf = _leaf(images)
        scores = _scores(bare(leaf.clone()), logits, len(images))  # a copy: the model may work on its input in place
        start = scale_to_peak(_score_gradient(scores.detach(), targets, loss))
        (gradient,) = torch.autograd.grad(scores, leaf, start.to(scores.dtype))
        return scale_to_peak(gradient).float()


def clean_gradient(
    model: Model,
    images: Tensor,
    targets: Any,
    *,
    weight: float = 1.0,
    scaler: torch.amp.GradScaler | None = None,
    loss: Loss | None = None,
    logits: Logits | None = None,
) -> Tensor:
    """Clean-input regularisation: `input_gradient`'s result, and `weight` times the clean loss's gradients in `.grad`.

    One pass gives both: in every module's own mode, under the caller's autocast, the loss averaged over the batch.
    Gradients are added to what is there, and not communicated: the next backward pass reduces the sum. `scaler` scales
    the loss as it does in the caller's own step.
    """
    check_images(images)
    if not 0 < weight < float("inf"):
        raise ValueError(f"weight={weight!r}: pass a positive number (or, for no clean term, use input_gradient)")
    if any(module.static_graph for module in _distributed(model)):
        raise ValueError("static_graph=True counts on one backward pass per step: wrap the model without it")
    if not len(images):
        return torch.zeros_like(images, dtype=torch.float32, requires_grad=False)
    with _gradients_on(), _unsynchronised(model):
        leaf = _leaf(images)
        scores = _scores(_without_ddp(model)(leaf.clone()), logits, len(images))
        clean = weight * (loss or _default_loss)(_at_least_float32(scores), _usable(targets)).mean()
        (clean if scaler is None else scaler.scale(clean)).backward()
        assert leaf.grad is not None
        return scale_to_peak(leaf.grad).float()


def scale_to_peak(values: Tensor) -> Tensor:
    """Each row (all but the first dimension) over its largest magnitude, in at least float32.

    A row of zeros stays, and so does one with an infinite or NaN value: scaling would pass it off as a valid map.
    """
    values = _at_least_float32(values)
    peak = values.abs().amax(tuple(range(1, values.dim())), keepdim=True).nan_to_num(1, posinf=1)
    return values / (peak + (peak == 0))


# ---- the loss at the logits --------------------------------------------------------------------------------------


def _score_gradient(scores: Tensor, targets: Any, loss: Loss | None) -> Tensor:
    """Gradient of each image's loss at its logits, up to a positive factor per image, in at least float32."""
    scores, targets = _at_least_float32(scores), _usable(targets)
    if loss is not None:
        leaf = scores.requires_grad_()
        return torch.autograd.grad(loss(leaf, targets).sum(), leaf)[0]
    shares_BN, multi_hot = _read_targets(targets, scores)
    return _binary_gradient(scores, shares_BN) if multi_hot else _cross_entropy_gradient(scores, shares_BN)


def _cross_entropy_gradient(scores_BN: Tensor, shares_BN: Tensor) -> Tensor:
    """p_k sum(t) - t_k, written p_k sum_{j!=k} t_j - t_k sum_{j!=k} p_j: no difference of nearly equal numbers."""
    second_B1 = scores_BN.topk(2).values[:, 1:]
    weight_BN = (scores_BN - second_B1).clamp(max=_LARGEST_LEAD).exp()  # p up to a factor: the wrong classes stay > 0
    return weight_BN * _sum_of_others(shares_BN) - shares_BN * _sum_of_others(weight_BN)


def _sum_of_others(values_BN: Tensor) -> Tensor:
    """For each class, the sum over all other classes; for the largest, added up without it, so that nothing is lost."""
    top_B1 = values_BN.argmax(1, keepdim=True)
    below_top_B1 = values_BN.scatter(1, top_B1, 0).sum(1, keepdim=True)
    return (values_BN.sum(1, keepdim=True) - values_BN).scatter(1, top_B1, below_top_B1)


def _binary_gradient(scores_BN: Tensor, hot_BN: Tensor) -> Tensor:
    """sigmoid(score) - t, relative to the image's largest, from logarithms: a sure image's terms do not vanish."""
    log_BN = F.logsigmoid(torch.where(hot_BN > 0, -scores_BN, scores_BN))
    return (1 - 2 * hot_BN) * (log_BN - log_BN.amax(1, keepdim=True)).exp()


def _default_loss(scores_BN: Tensor, targets: Any) -> Tensor:
    """Mean cross-entropy, or for multi-hot targets mean binary cross-entropy over images and classes."""
    shares_BN, multi_hot = _read_targets(targets, scores_BN)
    mean_loss = F.binary_cross_entropy_with_logits if multi_hot else F.cross_entropy
    return mean_loss(scores_BN, shares_BN)


# ---- targets, images, outputs ------------------------------------------------------------------------------------


def _read_targets(targets: Any, scores: Tensor) -> tuple[Tensor, bool]:
    """Checked targets as (B,N) in the dtype of the scores, and whether they are multi-hot."""
    if not isinstance(targets, Tensor):
        raise TypeError(f"targets are a {type(targets).__name__}: pass a tensor, or your own loss=")
    if scores.dim() != 2:
        raise ValueError(f"the logits have shape {tuple(scores.shape)}, not (B,N): pass logits= or your own loss=")
    if targets.device != scores.device:
        raise ValueError(f"targets are on {targets.device}, the logits on {scores.device}: move them to one device")
    if targets.shape == scores.shape:
        return _read_rows(targets, scores)
    if targets.shape != scores.shape[:1] or targets.is_floating_point() or targets.dtype == torch.bool:
        raise ValueError(
            f"targets have shape {tuple(targets.shape)} and dtype {targets.dtype}, the logits shape "
            f"{tuple(scores.shape)}: pass integers of shape ({len(scores)},), rows like the logits, or your own loss="
        )
    _check_classes(scores)
    return one_hot(targets, scores.shape[1], scores.dtype), False


def _read_rows(targets_BN: Tensor, scores_BN: Tensor) -> tuple[Tensor, bool]:
    multi_hot = not targets_BN.is_floating_point()
    hot_BN = targets_BN.detach().to(scores_BN.dtype)
    if multi_hot:
        require(
            (hot_BN == 0) | (hot_BN == 1), lambda: f"multi-hot targets {span(hot_BN)}: pass zeros and ones, or floats"
        )
        return hot_BN, True
    _check_classes(scores_BN)
    require(hot_BN >= 0, lambda: f"soft targets {span(hot_BN)}: pass probabilities")
    return hot_BN, False


def _check_classes(scores_BN: Tensor) -> None:
    if scores_BN.shape[1] < 2:
        raise ValueError(
            f"the logits have shape {tuple(scores_BN.shape)}, and the cross-entropy of fewer than two classes is "
            "constant: pass integer targets of the same shape (0 or 1), or your own loss="
        )


def _scores(output: Any, logits: Logits | None, batch: int) -> Tensor:
    """The logits in what the model returned."""
    scores = find_logits(output) if logits is None else logits(output)
    if not isinstance(scores, Tensor):
        raise TypeError(f"logits= returned a {type(scores).__name__}: return the tensor (B,N)")
    if not scores.dim() or len(scores) != batch:
        raise ValueError(f"the logits have shape {tuple(scores.shape)} for {batch} images: return (B,N) from logits=")
    if not scores.requires_grad:
        raise ValueError(
            "the logits do not depend on the images: remove no_grad, detach and argmax from the model's forward (and "
            "from logits=)"
        )
    return scores


def find_logits(output: Any) -> Tensor:
    """The logits in what a model returned: a tensor, or something that holds one, first or by a usual name."""
    if isinstance(output, Tensor):
        return output
    if isinstance(output, Mapping):
        found = output.get("logits", output.get("out"))
    elif hasattr(output, "logits"):
        found = output.logits
    else:
        found = output[0] if isinstance(output, tuple | list) and output else None
    if isinstance(found, Tensor):
        return found
    keys = f" with keys {list(output)}" if isinstance(output, Mapping) else ""
    raise TypeError(
        f"the model returned a {type(output).__name__}{keys}, in which no logits were found: "
        "pass logits=, a function from what the model returns to its logits (B,N)"
    )


def _leaf(images: Tensor) -> Tensor:
    return _usable(images.detach()).requires_grad_()


def _usable(value: Any) -> Any:
    """Replace a tensor made in inference mode, which autograd refuses, by a copy."""
    return value.clone() if isinstance(value, Tensor) and value.is_inference() else value


def _at_least_float32(values: Tensor) -> Tensor:
    return values.to(torch.promote_types(values.dtype, torch.float32))


# ---- the model's state during the pass ---------------------------------------------------------------------------


@contextmanager
def _gradients_on() -> Iterator[None]:
    """Gradients are recorded, whatever the caller's mode; one pass at a time."""
    with _pass_lock, torch.inference_mode(False), torch.enable_grad():
        yield


@contextmanager
def _changed(owners: Iterable[Any], attribute: str, value: bool) -> Iterator[None]:
    """Set an attribute of every owner, and give each its own value back."""
    before = [(owner, getattr(owner, attribute)) for owner in owners]
    try:
        for owner, _ in before:
            setattr(owner, attribute, value)
        yield
    finally:
        for owner, old in before:
            setattr(owner, attribute, old)


def _frozen(model: Model) -> AbstractContextManager[None]:
    """No weight asks for a gradient: compiled models leave them out, and activations only they need are not kept."""
    parameters = model.parameters() if isinstance(model, nn.Module) else ()
    return _changed([p for p in parameters if p.requires_grad and p.is_leaf], "requires_grad", False)


def _eval_mode(model: Model) -> AbstractContextManager[None]:
    """Every module in eval mode, without its `eval` method, which models override."""
    # cuDNN cannot differentiate a recurrent layer in eval mode; without dropout both modes are the same
    return _changed(
        [m for m in _modules(model) if not (isinstance(m, nn.RNNBase) and not m.dropout)], "training", False
    )


@contextmanager
def _unsynchronised(model: Model) -> Iterator[None]:
    """No gradients travel between processes."""
    with ExitStack() as stack:
        for module in _distributed(model):
            stack.enter_context(module.no_sync())
        yield


def _distributed(model: Model) -> list[DistributedDataParallel]:
    return [module for module in _modules(model) if isinstance(module, DistributedDataParallel)]


def _modules(model: Model) -> list[nn.Module]:
    return list(model.modules()) if isinstance(model, nn.Module) else []


def _without_ddp(model: Model) -> Model:
    """What DistributedDataParallel (compiled or not) wraps: its own forward would broadcast buffers."""
    wrapper = getattr(model, "_orig_mod", model)
    return wrapper.module if isinstance(wrapper, DistributedDataParallel) else model

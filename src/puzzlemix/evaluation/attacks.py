"""Images changed so that a classifier errs."""

from collections.abc import Iterable, Iterator

from torch import Tensor, nn

from ..core.saliency import input_gradient


def fgsm(model: nn.Module, images: Tensor, labels: Tensor, eps_255: float) -> Tensor:
    """The fast gradient sign method: every pixel of images (B,C,H,W) in [0, 1] moves eps_255 / 255 up the loss.

    The gradient is the cross-entropy's with the model in eval mode. It is scaled per image, which its sign does not
    feel, so that the gradient of an image the model is sure of does not vanish.
    """
    if not 0 <= eps_255 <= 255:
        raise ValueError(f"eps_255={eps_255!r}: pass a number of 1/255 steps from 0 to 255")
    slope = input_gradient(model, images, labels)
    return (images + eps_255 / 255 * slope.sign()).clamp(0, 1)


def attacked(model: nn.Module, batches: Iterable, eps_255: float) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches with their images changed by `fgsm`, for `evaluate`."""
    for images, labels, *_ in batches:
        yield fgsm(model, images, labels, eps_255), labels

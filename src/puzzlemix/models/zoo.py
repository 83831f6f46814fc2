"""The classification models of torchvision, by name."""

import functools

from torch import nn

from .extras import require

# Their auxiliary heads return tuples in training; stating the initialisation silences torchvision's word about it.
_SINGLE_OUTPUT = {"aux_logits": False, "init_weights": True}
_DEFAULTS = {"googlenet": _SINGLE_OUTPUT, "inception_v3": _SINGLE_OUTPUT}


@functools.cache
def torchvision_names() -> tuple[str, ...]:
    """The classification models that the installed torchvision can build."""
    models = require("torchvision").models
    return tuple(models.list_models(module=models))


def torchvision_model(name: str, classes: int, channels: int = 3, **options) -> nn.Module:
    """Build torchvision's model `name` without weights; `options` are torchvision's own."""
    options = _DEFAULTS.get(name, {}) | options
    model = require("torchvision").models.get_model(name, weights=None, num_classes=classes, **options)
    if channels != 3:
        replace_first_convolution(model, channels)
    return model


def replace_first_convolution(model: nn.Module, channels: int) -> nn.Conv2d:
    """Let a model of colour images take `channels` channels: its first convolution anew, in torch's initialisation."""
    first = next(module for module in model.modules() if isinstance(module, nn.Conv2d))
    first.in_channels = channels
    first.weight = nn.Parameter(first.weight.new_empty(first.out_channels, channels, *first.kernel_size))
    first.reset_parameters()
    return first

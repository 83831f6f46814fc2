"""ResNet-50: torchvision's, so that weights interchange, with the initialisation of the reference's ImageNet runs."""

from torch import nn

from .zoo import replace_first_convolution, torchvision_model


def resnet50(
    classes: int, channels: int = 3, *, zero_last_gain: bool = False, head_std: float | None = None
) -> nn.Module:
    """Build torchvision's ResNet-50.

    The reference's 100-epoch ImageNet runs have `zero_last_gain` (the gain of each block's last batch-norm starts at
    0, so that every block starts as its shortcut) and `head_std=0.01` (the last layer's weights are N(0, head_std)).
    """
    model = torchvision_model("resnet50", classes, zero_init_residual=zero_last_gain)
    if channels != 3:
        first = replace_first_convolution(model, channels)
        nn.init.kaiming_normal_(first.weight, mode="fan_out", nonlinearity="relu")
    if head_std is not None:
        nn.init.normal_(model.get_parameter("fc.weight"), std=head_std)
    return model

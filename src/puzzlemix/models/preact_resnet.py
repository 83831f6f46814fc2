"""PreActResNet-18 for small images, with the parameter names of the authors' published weights."""

from torch import Tensor, nn
from torch.nn import functional as F


class PreActBlock(nn.Module):
    """Two 3x3 convolutions, each after batch-norm and ReLU, beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            # A sequence of one, because the published weights are called `shortcut.0`.
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False))

    def forward(self, features: Tensor) -> Tensor:
        """(B,inputs,H,W) -> (B,outputs,H/stride,W/stride)."""
        active = F.relu(self.bn1(features))
        beside = features if self.shortcut is None else self.shortcut(active)
        return self.conv2(F.relu(self.bn2(self.conv1(active)))) + beside


class PreActResNet18(nn.Module):
    """Four stages of two blocks between a 3x3 convolution and a linear layer on the mean over all positions.

    The reference ends without batch-norm and ReLU, and so does the default; `final_norm` adds them before the mean.
    `width` is the first stage's (the reference's: 64), `stride` the first convolution's (1 for CIFAR, 2 for
    Tiny-ImageNet). Images may have any size and any number of channels.
    """

    stage_names = ("layer1", "layer2", "layer3", "layer4")

    def __init__(
        self, classes: int, channels: int = 3, *, width: int = 64, stride: int = 1, final_norm: bool = False
    ) -> None:
        super().__init__()
        if width < 1:
            raise ValueError(f"width {width} leaves no channels: pass at least 1, the reference's is 64")
        self.conv1 = nn.Conv2d(channels, width, 3, stride=stride, padding=1, bias=False)
        self.layer1 = _stage(width, width, stride=1)
        self.layer2 = _stage(width, 2 * width, stride=2)
        self.layer3 = _stage(2 * width, 4 * width, stride=2)
        self.layer4 = _stage(4 * width, 8 * width, stride=2)
        self.bn1 = nn.BatchNorm2d(8 * width) if final_norm else None
        self.linear = nn.Linear(8 * width, classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> logits (B,classes)."""
        features = self.layer4(self.layer3(self.layer2(self.layer1(self.conv1(images)))))
        if self.bn1 is not None:
            features = F.relu(self.bn1(features))
        return self.linear(F.adaptive_avg_pool2d(features, 1).flatten(1))


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(PreActBlock(inputs, outputs, stride), PreActBlock(outputs, outputs))

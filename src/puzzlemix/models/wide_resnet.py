"""Wide ResNets (WRN-28-10 and its kin), with the parameter names of the authors' published weights."""

from torch import Tensor, nn
from torch.nn import functional as F


class WideBlock(nn.Module):
    """Two 3x3 convolutions with bias, each after batch-norm and ReLU, beside a shortcut.

    As in the reference, the second convolution carries the stride and the shortcut starts from the raw features.
    """

    def __init__(self, inputs: int, outputs: int, stride: int = 1):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, stride=stride, padding=1)
        self.shortcut = None
        if stride != 1 or inputs != outputs:
            # A sequence of one, because the published weights are called `shortcut.0`.
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride))

    def forward(self, features: Tensor) -> Tensor:
        """(B,inputs,H,W) -> (B,outputs,H/stride,W/stride)."""
        beside = features if self.shortcut is None else self.shortcut(features)
        inner = self.conv1(F.relu(self.bn1(features)))
        return self.conv2(F.relu(self.bn2(inner))) + beside


class WideResNet(nn.Module):
    """Three stages of (depth - 4) / 6 blocks, 16, 32 and 64 times `width` channels wide, then batch-norm and ReLU.

    `stride` is the first convolution's (1 for CIFAR, 2 for Tiny-ImageNet). Images may have any size and any number of
    channels.
    """

    stage_names = ("layer1", "layer2", "layer3")

    def __init__(self, depth: int, width: int, classes: int, channels: int = 3, *, stride: int = 1):
        super().__init__()
        _check(depth, width)
        blocks = (depth - 4) // 6
        self.conv1 = nn.Conv2d(channels, 16, 3, stride=stride, padding=1)
        self.layer1 = _stage(16, 16 * width, blocks, stride=1)
        self.layer2 = _stage(16 * width, 32 * width, blocks, stride=2)
        self.layer3 = _stage(32 * width, 64 * width, blocks, stride=2)
        # The reference's momentum: here the running statistics follow the latest batches closely.
        self.bn1 = nn.BatchNorm2d(64 * width, momentum=0.9)
        self.linear = nn.Linear(64 * width, classes)

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W) -> logits (B,classes)."""
        features = self.layer3(self.layer2(self.layer1(self.conv1(images))))
        features = F.relu(self.bn1(features))
        return self.linear(F.adaptive_avg_pool2d(features, 1).flatten(1))


def _stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Sequential:
    rest = (WideBlock(outputs, outputs) for _ in range(blocks - 1))
    return nn.Sequential(WideBlock(inputs, outputs, stride), *rest)


def _check(depth: int, width: int) -> None:
    if depth < 10 or (depth - 4) % 6:
        nearest = max(10, 6 * round((depth - 4) / 6) + 4)
        raise ValueError(f"a wide ResNet of depth {depth} does not exist: pass 6 n + 4, the nearest is {nearest}")
    if width < 1:
        raise ValueError(f"width {width} leaves no channels: pass at least 1, WRN-28-10 has 10")

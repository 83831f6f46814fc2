"""Puzzle Mix in a plain PyTorch loop."""

import torch
import torch.nn.functional as F
import torchvision

from puzzlemix import PuzzleMix
from puzzlemix.data.synthetic import CLASSES, draw_scenes


def main(steps: int = 30, batch_size: int = 32) -> float:
    """Train a torchvision model on generated images; the last loss."""
    scenes = draw_scenes(range(steps * batch_size))
    images, labels = scenes.images.float() / 255, scenes.labels
    model = torchvision.models.resnet18(num_classes=len(CLASSES))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    mixup = PuzzleMix(model, num_classes=len(CLASSES), generator=torch.Generator().manual_seed(0))

    loss = torch.tensor(0.0)
    for x, y in zip(images.split(batch_size), labels.split(batch_size), strict=True):
        x, y = mixup(x, y)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    print(f"loss {main():.3f}")

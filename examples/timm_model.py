"""Puzzle Mix with a timm model and timm's loss, where `timm.data.Mixup` would stand."""

import timm
import torch
from timm.data.config import resolve_data_config
from timm.loss.cross_entropy import SoftTargetCrossEntropy

from puzzlemix import PuzzleMix
from puzzlemix.data.synthetic import CLASSES, draw_scenes


def main(steps: int = 10, batch_size: int = 16) -> float:
    """Train a timm model on generated images; the last loss."""
    scenes = draw_scenes(range(steps * batch_size), size=64)
    model = timm.create_model("mobilenetv3_small_050", pretrained=False, num_classes=len(CLASSES))
    settings = resolve_data_config(model=model)
    mean, std = settings["mean"], settings["std"]
    images = (scenes.images.float() / 255 - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    criterion = SoftTargetCrossEntropy()
    mixup = PuzzleMix(model, len(CLASSES), label_smoothing=0.1, mean=mean, std=std)

    loss = torch.tensor(0.0)
    for x, y in zip(images.split(batch_size), scenes.labels.split(batch_size), strict=True):
        x, y = mixup(x, y)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    print(f"loss {main():.3f}")

"""Puzzle Mix in a LightningModule: make it once, call it in `training_step`."""

import lightning
import torch
import torch.nn.functional as F
import torchvision
from torch import Tensor
from torch.utils.data import DataLoader, TensorDataset

from puzzlemix import PuzzleMix
from puzzlemix.data.synthetic import CLASSES, draw_scenes


class Classifier(lightning.LightningModule):
    """A classifier whose batches are mixed in training and left alone in validation."""

    def __init__(self):
        super().__init__()
        self.model = torchvision.models.resnet18(num_classes=len(CLASSES))
        self.mixup = PuzzleMix(self.model, num_classes=len(CLASSES))

    def training_step(self, batch: list[Tensor], batch_idx: int) -> Tensor:
        """One mixed step."""
        x, y = self.mixup(*batch)
        return F.cross_entropy(self.model(x), y)

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        """The clean loss."""
        self.log("val_loss", F.cross_entropy(self.model(batch[0]), batch[1]))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Plain SGD."""
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


def main(steps: int = 10, batch_size: int = 16) -> float:
    """Train on generated images; the validation loss."""
    scenes = draw_scenes(range(steps * batch_size))
    data = DataLoader(TensorDataset(scenes.images.float() / 255, scenes.labels), batch_size, shuffle=True)
    trainer = lightning.Trainer(
        max_steps=steps, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False
    )
    trainer.fit(Classifier(), data, data)
    return trainer.callback_metrics["val_loss"].item()


if __name__ == "__main__":
    print(f"validation loss {main():.3f}")

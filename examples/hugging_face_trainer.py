"""Puzzle Mix in the Hugging Face Trainer: mix in `compute_loss`, with the model it hands over."""

import tempfile
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import ResNetConfig, ResNetForImageClassification, Trainer, TrainingArguments

from puzzlemix import PuzzleMix
from puzzlemix.data.synthetic import CLASSES, draw_scenes


class MixingTrainer(Trainer):
    """A Trainer whose training batches are mixed; evaluation sees them as they are."""

    mixup: PuzzleMix | None = None

    def compute_loss(  # pyright: ignore[reportIncompatibleMethodOverride]  (what else is passed goes into _)
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False, **_: Any
    ) -> Tensor | tuple[Tensor, Any]:
        """Cross-entropy against the mixed targets."""
        self.mixup = self.mixup or PuzzleMix(model, num_classes=len(CLASSES))
        x, y = self.mixup(inputs["pixel_values"], inputs["labels"])
        outputs = model(pixel_values=x)
        loss = F.cross_entropy(outputs.logits, y)
        return (loss, outputs) if return_outputs else loss


class Scenes(Dataset):
    """Generated images as the dictionaries the Trainer collates."""

    def __init__(self, count: int):
        self.scenes = draw_scenes(range(count), size=64)

    def __len__(self) -> int:
        return len(self.scenes.labels)

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        return {"pixel_values": self.scenes.images[number].float() / 255, "labels": self.scenes.labels[number]}


def main(steps: int = 10, batch_size: int = 16) -> float:
    """Train a small ResNet on generated images; the evaluation loss."""
    torch.manual_seed(0)
    sizes = {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic"}
    model = ResNetForImageClassification(ResNetConfig(num_labels=len(CLASSES), **sizes))  # pyright: ignore[reportCallIssue]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=batch_size,
            learning_rate=1e-3,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        data = Scenes(steps * batch_size)
        trainer = MixingTrainer(model, arguments, train_dataset=data, eval_dataset=data)
        trainer.train()
        return trainer.evaluate()["eval_loss"]


if __name__ == "__main__":
    print(f"evaluation loss {main():.3f}")

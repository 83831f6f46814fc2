"""What a run reads: the batches of each epoch, by the run's settings."""

from collections.abc import Iterator

import torch
from torch import Tensor

from ..core.saliency_cache import View
from ..data.draws import generator_of
from ..data.synthetic import draw_scenes
from ..methods import Batch
from .config import TrainConfig
from .schedule import phase_at


class _Spec:
    classes = 10; channels = 3; mean = (0.5,) * 3; std = (0.25,) * 3


class Feed:
    """Batches."""

    def __init__(self, config: TrainConfig):
        self.config = config
        self.spec = _Spec()
        self.train_set = draw_scenes(range(config.data.train_images or 1000), size=config.data.size or 32)
        self.test_set = draw_scenes(range(config.data.test_images or 500), split="test", size=config.data.size or 32)

    @property
    def images(self):
        return len(self.train_set.labels)

    def batch_size(self, epoch: int) -> int:
        """Images per step in this epoch."""
        phase = phase_at(self.config.loop.phases, epoch)
        return self.config.loop.batch_size if phase is None else phase.batch_size

    def steps(self, epoch: int) -> int:
        """Steps in this epoch."""
        return len(self.train_set.labels) // self.batch_size(epoch)

    def train(self, epoch: int, start: int) -> Iterator[Batch]:
        size = self.batch_size(epoch)
        order = torch.randperm(len(self.train_set.labels), generator=generator_of("order", self.config.seed, epoch))
        for step in range(start, self.steps(epoch)):
            g = generator_of("crop", self.config.seed, epoch, step)
            rows = order[step * size:(step + 1) * size]
            flip = torch.rand(len(rows), generator=g) < 0.5
            images = self.train_set.images[rows]
            images = torch.where(flip[:, None, None, None], images.flip(-1), images)
            zero = torch.zeros(len(rows), dtype=torch.int64)
            yield Batch(images.float() / 255, self.train_set.labels[rows], rows, View(zero, zero, flip=flip), epoch)

    def test(self) -> Iterator[tuple[Tensor, Tensor]]:
        for start in range(0, len(self.test_set.labels), 500):
            yield Batch(self.test_set.images[start:start + 500].float() / 255, self.test_set.labels[start:start + 500])

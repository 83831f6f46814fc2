"""What a run reads: the batches of each epoch, by the run's settings."""

from collections.abc import Iterator

import torch

from ..core.saliency_cache import View
from ..data import DataSpec, Loader, load_data
from ..data.spec import InMemory
from ..methods import Batch
from .config import TrainConfig
from .schedule import phase_at


class Feed:
    """The batches of a run; batch sizes are those of all processes together."""

    def __init__(self, config: TrainConfig, *, device: torch.device | str = "cpu"):
        """Load the data set; the batches' images and labels will be on `device`."""
        data, machine = config.data, config.machine
        self.data = load_data(
            data.name,
            root=machine.root,
            download=machine.download,
            size=data.size,
            train_images=data.train_images,
            test_images=data.test_images,
        )
        self._loop = config.loop
        self._train, self._test = (
            Loader(split, seed=config.seed, workers=machine.workers, device=device)
            for split in (self.data.train, self.data.test)
        )
        for epoch in (0, *(phase.epoch for phase in self._loop.phases)):
            self.steps(epoch)
            self._check_crop(epoch)

    @property
    def spec(self) -> DataSpec:
        """The facts of the set."""
        return self.data.spec

    @property
    def images(self) -> int:
        """How many training images there are."""
        return len(self.data.train)

    def batch_size(self, epoch: int) -> int:
        """Images per step in this epoch."""
        phase = phase_at(self._loop.phases, epoch)
        return self._loop.batch_size if phase is None else phase.batch_size

    def size(self, epoch: int) -> int:
        """Side of the training images in this epoch."""
        phase = phase_at(self._loop.phases, epoch)
        return self.spec.size if phase is None else phase.size

    def crop(self, epoch: int) -> float | None:
        """The least share of an image's area that is cut out in this epoch; None where the data set says it."""
        phase = phase_at(self._loop.phases, epoch)
        return None if phase is None else phase.crop

    def _check_crop(self, epoch: int) -> None:
        if self.crop(epoch) is not None and isinstance(self.data.train, InMemory):
            raise ValueError(
                f"a phase has the crop {self.crop(epoch)}, but images of {self.spec.name} are shifted, not cut out: "
                "leave it out"
            )

    def steps(self, epoch: int) -> int:
        """Steps in this epoch."""
        return self._train.steps(self.batch_size(epoch))

    def train(self, epoch: int, start_step: int = 0, *, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        """Batches of an epoch from a step on; of each, process `rank` of `world` gets its part."""
        kinds = {"size": self.size(epoch), "crop": self.crop(epoch)}
        pages = self._train.train(epoch, self.batch_size(epoch), start=start_step, rank=rank, world=world, **kinds)
        for page in pages:
            assert page.cut is not None
            yield Batch(page.images, page.labels, page.samples, View(*page.cut), epoch)

    def test(self, *, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        """Every test image once, shared among `world` processes; in batches of the run's last size."""
        for page in self._test.test(self.batch_size(self._loop.epochs), rank=rank, world=world):
            yield Batch(page.images, page.labels, page.samples)

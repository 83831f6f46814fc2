"""A split as batches: from memory they are cut at once, from disk they come through worker processes.

Which samples a batch holds and how they are cut follows from (seed, epoch) alone, so an epoch can be taken up at any
step, by any number of workers, and shared by any number of processes.

Shape suffixes: B batch, C channels, H height, W width, N samples.
"""

import os
import signal
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from .colours import drawn_colours, recoloured
from .cuts import Cut, cut_out, rescaled, shifted, streams_of, zoom, zoomed
from .decode import centred, pixels_of
from .draws import hashed
from .errors import DataError
from .spec import InMemory, OnDisk, Split


class Page(NamedTuple):
    """Images (B,C,H,W) float32 in [0, 1], labels and sample numbers (B), and their cuts, None in evaluation."""

    images: Tensor
    labels: Tensor
    samples: Tensor
    cut: Cut | None


class _Order(NamedTuple):
    """A batch to be read: sample numbers (B), side of the images, epoch (None in evaluation), least crop."""

    samples: np.ndarray  # a tensor would travel to the workers through shared memory, and take a file of it each
    size: int
    epoch: int | None
    crop: float | None = None


class Loader:
    """Reads a split in batches.

    seed: what order and cuts follow from. workers: processes that read images from disk, 0 for none; never more than
    there are processors. device: where images and labels end up.
    """

    def __init__(self, split: Split, *, seed: int = 0, workers: int = 0, device: torch.device | str = "cpu"):
        self.split, self.seed, self.device = split, seed, torch.device(device)
        self.workers = min(workers, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else workers)

    def steps(self, batch_size: int) -> int:
        """How many full batches an epoch has; the rest, of other samples in every epoch, is left out."""
        steps = len(self.split) // batch_size
        if not steps:
            raise ValueError(
                f"batch_size={batch_size} is more than the {len(self.split)} training images: pass at most that many"
            )
        return steps

    def train(
        self,
        epoch: int,
        batch_size: int,
        *,
        start: int = 0,
        size: int | None = None,
        crop: float | None = None,
        rank: int = 0,
        world: int = 1,
    ) -> Iterator[Page]:
        """Read an epoch in its order from step `start` on; of each batch, process `rank` of `world` gets its part.

        crop: the least share of its area that is cut out of an image on disk, if not as its set says.
        """
        if batch_size % world:
            raise ValueError(f"batch_size={batch_size} cannot be shared evenly by {world} processes: pass a multiple")
        order_N = epoch_order(len(self.split), self.seed, epoch).numpy()
        part = batch_size // world
        firsts = [step * batch_size + rank * part for step in range(start, self.steps(batch_size))]
        size = self.split.spec.size if size is None else size
        return self._read([_Order(order_N[first : first + part], size, epoch, crop) for first in firsts])

    def test(self, batch_size: int, *, rank: int = 0, world: int = 1) -> Iterator[Page]:
        """Read every image once, as it is or its centre; process `rank` of `world` gets every `world`-th."""
        samples_N, size = np.arange(rank, len(self.split), world), self.split.spec.size
        starts = range(0, len(samples_N), batch_size)
        return self._read([_Order(samples_N[start : start + batch_size], size, None) for start in starts])

    def _read(self, orders: Sequence[_Order]) -> Iterator[Page]:
        """Read pages, whose images are still bytes, and finish them on the device."""
        if isinstance(self.split, InMemory):
            split, seed = self.split, self.seed
            pages = (_cut_in_memory(split, order, seed) for order in orders)
        else:
            pages = self._read_disk(self.split, orders)
        for page, order in zip(pages, orders, strict=True):
            images = self._recoloured(rescaled(as_floats(page.images, self.device), order.size), order)
            yield page._replace(images=images, labels=page.labels.to(self.device, non_blocking=True))

    def _recoloured(self, images_BCHW: Tensor, order: _Order) -> Tensor:
        spec = self.split.spec
        if order.epoch is None or not spec.recolours:
            return images_BCHW
        drawn = drawn_colours(self.seed, order.epoch, order.samples, spec.jitter, spec.lighting)
        return recoloured(images_BCHW, drawn)

    def _read_disk(self, split: OnDisk, orders: Sequence[_Order]) -> Iterator[Page]:
        loader = DataLoader(
            _Reader(split, self.seed),
            batch_size=None,
            sampler=orders,  # each is a whole batch
            num_workers=self.workers,
            collate_fn=_as_is,  # pyright: ignore[reportArgumentType]
            worker_init_fn=_leave_signals if self.workers else None,
            pin_memory=self.device.type == "cuda",
            generator=torch.Generator(),  # or it would draw from the global one
        )
        try:
            for page in loader:
                if isinstance(page, DataError):
                    raise page
                yield page
        except RuntimeError as error:
            if "DataLoader worker" not in str(error):
                raise
            raise DataError(
                f"a process that reads images died ({error}): it may lack memory, pass fewer --workers"
            ) from error


def epoch_order(count: int, seed: int, epoch: int) -> Tensor:
    """A random order of 0 ... count - 1 that depends on (seed, epoch) alone: (count,) int64."""
    return torch.from_numpy(hashed("order", seed, epoch, np.arange(count)).argsort(kind="stable"))


def as_floats(images_BCHW: Tensor, device: torch.device) -> Tensor:
    """Bring bytes to a device, as floats in [0, 1]."""
    if device.type == "cpu":
        return torch.from_numpy(np.divide(images_BCHW.numpy(), 255, dtype=np.float32))
    return images_BCHW.to(device, non_blocking=True).float().div_(255)


def _cut_in_memory(split: InMemory, order: _Order, seed: int) -> Page:
    images_BCHW, spec, cut = split.images.numpy()[order.samples], split.spec, None
    if order.epoch is not None:
        height, width = images_BCHW.shape[2:]
        streams = streams_of(seed, order.epoch, order.samples)
        cut = shifted(streams, (height, width), spec.padding, flip=spec.flip)
        images_BCHW = cut_out(images_BCHW, cut, spec.padding)
    return _page(images_BCHW, split, order, cut)


def _page(images_BCHW: np.ndarray, split: Split, order: _Order, cut: Cut | None) -> Page:
    samples_B = torch.from_numpy(order.samples)
    return Page(torch.from_numpy(images_BCHW), split.labels[samples_B], samples_B, cut)


class _Reader(Dataset):
    """Reads whole batches from disk, as uint8; what is wrong with a file comes back as a value, without a traceback."""

    def __init__(self, split: OnDisk, seed: int):
        self.split, self.seed = split, seed

    def __getitem__(self, order: _Order) -> Page | DataError:
        try:
            return self._page(order)
        except DataError as error:
            return error

    def _page(self, order: _Order) -> Page:
        images_BCHW = np.empty((len(order.samples), 3, order.size, order.size), dtype=np.uint8)
        cuts = []
        for place, sample in enumerate(order.samples.tolist()):
            image, spec = self.split.picture(sample), self.split.spec
            if order.epoch is None:
                image = centred(image, order.size, spec.resize or order.size)
            else:
                streams = streams_of(self.seed, order.epoch, order.samples[place : place + 1])
                least, most = spec.crop_scale or (1.0, 1.0)
                scale = (least if order.crop is None else order.crop, most)
                cuts.append(zoomed(streams, (image.height, image.width), scale, flip=spec.flip))
                image = zoom(image, cuts[-1], order.size)
            images_BCHW[place] = pixels_of(image)
        cut = Cut(*map(torch.cat, zip(*cuts, strict=True))) if cuts else None
        return _page(images_BCHW, self.split, order, cut)


def _as_is(page: Page | DataError) -> Page | DataError:
    return page


def _leave_signals(worker: int) -> None:
    """Leave stopping to the main process, which saves its work first: signals often go to all processes of a job.

    Ctrl-C is ignored for good, SIGTERM once: a second one is the main process's own, when it ends in a hurry.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _ignore_once)


def _ignore_once(number: int, frame: FrameType | None) -> None:
    signal.signal(number, signal.SIG_DFL)

import os
import signal

import numpy as np
import pytest
import torch

from puzzlemix.core.saliency_cache import SaliencyCache, View
from puzzlemix.data import DataError, DataSpec, InMemory, Loader, load_data
from puzzlemix.data.loader import epoch_order

COUNT = 50


@pytest.fixture
def in_memory():
    images = torch.randint(256, (COUNT, 3, 12, 12), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    return InMemory(images, torch.arange(COUNT) % 5, DataSpec("x", 5, 12, padding=2))


@pytest.fixture
def on_disk(write, image):
    """Images of several sizes, whose pixels rise to the right and to the bottom."""
    files = {}
    for role, count in (("train", COUNT // 2), ("val", 4)):
        for name in ("cat", "dog"):
            for number in range(count):
                rows, cols = np.mgrid[: 100 + number, :120]
                pixels = np.stack([rows * 2, cols * 2, np.full_like(rows, number * 5)], 2)
                files[f"{role}/{name}/{number}.jpg"] = image(pixels, "JPEG")
    return load_data(write(files), size=16)


@pytest.fixture(params=["in_memory", "on_disk"])
def split(request):
    found = request.getfixturevalue(request.param)
    return found if isinstance(found, InMemory) else found.train


def same(pages, others):
    pages, others = list(pages), list(others)
    return len(pages) == len(others) and all(
        torch.equal(page.images, other.images)
        and torch.equal(page.labels, other.labels)
        and torch.equal(page.samples, other.samples)
        and all(map(torch.equal, page.cut or (), other.cut or ()))
        for page, other in zip(pages, others, strict=True)
    )


def joined(*pages):
    """The parts of a batch as one."""
    images, labels, samples = (
        torch.cat([getattr(page, name) for page in pages]) for name in ("images", "labels", "samples")
    )
    return pages[0]._replace(images=images, labels=labels, samples=samples, cut=None)


def test_an_epoch_shows_every_sample_once_in_an_order_of_its_own(split):
    orders = []
    for epoch in (0, 1):
        pages = list(Loader(split).train(epoch, 10))
        assert [len(page.images) for page in pages] == [10] * 5
        orders.append(torch.cat([page.samples for page in pages]))
        assert orders[-1].sort().values.tolist() == list(range(COUNT))
        assert all(torch.equal(page.labels, split.labels[page.samples]) for page in pages)
    assert not torch.equal(*orders)
    assert not torch.equal(orders[0], torch.cat([page.samples for page in Loader(split, seed=1).train(0, 10)]))


def test_what_does_not_fill_a_batch_is_left_out_in_turn(in_memory):
    loader = Loader(in_memory)
    assert loader.steps(15) == 3
    seen = [set(torch.cat([page.samples for page in loader.train(epoch, 15)]).tolist()) for epoch in range(2)]
    assert [len(part) for part in seen] == [45, 45]
    assert seen[0] != seen[1]
    with pytest.raises(ValueError, match="batch_size=51 is more than the 50 training images"):
        loader.steps(51)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_an_epoch_is_taken_up_at_any_step_by_any_number_of_workers(split, workers, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    whole = list(Loader(split, seed=3).train(2, 8))
    loader = Loader(split, seed=3, workers=workers)
    assert loader.workers == workers
    for start in (0, 4):
        assert same(loader.train(2, 8, start=start), whole[start:])
    assert list(Loader(split).train(0, 8, start=6)) == []


@pytest.mark.parametrize("world", [2, 5])
def test_processes_share_every_batch(split, world):
    whole = [joined(page) for page in Loader(split).train(1, 10)]
    parts = [list(Loader(split).train(1, 10, rank=rank, world=world)) for rank in range(world)]
    assert same((joined(*pages) for pages in zip(*parts, strict=True)), whole)
    with pytest.raises(ValueError, match="batch_size=10 cannot be shared evenly by 3 processes"):
        Loader(split).train(0, 10, rank=0, world=3)


def test_every_test_image_is_read_once_whatever_the_number_of_processes(split):
    for world in (1, 3, 7):
        pages = [page for rank in range(world) for page in Loader(split).test(4, rank=rank, world=world)]
        assert torch.cat([page.samples for page in pages]).sort().values.tolist() == list(range(COUNT))
        assert all(page.cut is None for page in pages)
        assert all(torch.equal(page.labels, split.labels[page.samples]) for page in pages)


def test_test_images_in_memory_are_shown_as_they_are(in_memory):
    pages = list(Loader(in_memory).test(20))
    assert [len(page.images) for page in pages] == [20, 20, 10]
    assert torch.equal(torch.cat([page.images for page in pages]), in_memory.images / 255)


def test_test_images_on_disk_show_their_centre(on_disk):
    (page,) = Loader(on_disk.test).test(100)
    assert page.images.shape == (8, 3, 16, 16)
    centre = page.images[0, :2].mean((1, 2)) * 255
    assert (centre - torch.tensor([99.0, 119.0])).abs().max() < 6  # half a pixel of the small image


def test_training_images_show_what_the_cut_says(in_memory):
    for page in Loader(in_memory).train(0, 25):
        for row, sample in enumerate(page.samples.tolist()):
            padded = torch.nn.functional.pad(in_memory.images[sample], [2] * 4)
            top, left, height, width, flip = (int(values[row]) for values in page.cut)
            shown = padded[:, top + 2 :, left + 2 :][:, :height, :width]
            assert torch.equal(page.images[row], (shown.flip(2) if flip else shown) / 255)


@pytest.mark.parametrize("size", [None, 12, 24])
def test_a_map_of_one_epoch_follows_into_the_cut_of_another(in_memory, size):
    """Brightness, taken for saliency, is remembered in one epoch and laid over the images of the next."""
    smooth = torch.nn.functional.interpolate(torch.rand(COUNT, 3, 3, 3), (12, 12), mode="bilinear") * 255
    split = InMemory(smooth.to(torch.uint8), in_memory.labels, in_memory.spec)
    cache, loader = SaliencyCache(refresh=5), Loader(split)
    followed, stayed = [], []
    for epoch in (0, 1):
        for page in loader.train(epoch, COUNT, size=size):
            bright = page.images.mean(1)
            if not epoch:
                cache.store(page.samples, bright, View(*page.cut))
                continue
            maps = cache.load(page.samples, tuple(bright.shape[1:]), View(*page.cut))
            inner = slice(bright.shape[1] // 3, -(bright.shape[1] // 3))
            followed.append(correlation(maps[:, inner, inner], bright[:, inner, inner]))
            still = cache.load(page.samples, tuple(bright.shape[1:]))
            stayed.append(correlation(still[:, inner, inner], bright[:, inner, inner]))
    assert min(followed) > 0.97
    assert max(stayed) < 0.9


def correlation(maps, images):
    """The mean over images of how far two fields rise and fall together."""
    maps, images = (values.flatten(1) - values.flatten(1).mean(1, keepdim=True) for values in (maps, images))
    return float(torch.nn.functional.cosine_similarity(maps, images).mean())


def test_a_zoom_on_disk_is_known_too(on_disk):
    """Pixels say where they come from: rows in the red channel, columns in the green one."""
    for page in Loader(on_disk.train).train(0, 10):
        for image, *cut in zip(page.images, *page.cut, strict=True):
            top, left, height, width, flip = map(int, cut)
            red, green = image[:2].mean((1, 2)) * 255 / 2
            assert abs(float(red) - (top + height / 2 - 0.5)) < 2
            assert abs(float(green) - (left + width / 2 - 0.5)) < 2
            assert bool(image[1, :, 0].mean() > image[1, :, -1].mean()) == bool(flip)


@pytest.mark.parametrize("size", [8, 20])
def test_progressive_sizes_change_the_images_and_not_the_cuts(split, size):
    usual, other = (list(Loader(split).train(0, 10, size=side)) for side in (None, size))
    for page, scaled in zip(usual, other, strict=True):
        assert scaled.images.shape[2:] == (size, size)
        assert torch.equal(page.samples, scaled.samples)
        assert all(map(torch.equal, page.cut, scaled.cut))
        assert (page.images.mean((2, 3)) - scaled.images.mean((2, 3))).abs().max() < 0.06


def test_nothing_is_drawn_from_the_global_generators(split):
    states = torch.get_rng_state(), np.random.get_state()[1].copy()
    list(Loader(split, workers=1).train(0, 25))
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_image_is_named(on_disk, workers):
    broken = on_disk.train.names[7]
    (on_disk.train.tree.path / broken).write_bytes(b"no")
    with pytest.raises(DataError, match=rf"{broken} \(2 bytes\) is no image"):
        list(Loader(on_disk.train, workers=workers).train(0, 10))


def test_a_reader_that_dies_is_said_and_does_not_hang(on_disk, monkeypatch):
    monkeypatch.setattr("puzzlemix.data.loader.centred", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(DataError, match=r"a process that reads images died .*--workers"):
        list(Loader(on_disk.test, workers=1).test(2))


def test_readers_leave_signals_to_the_process_that_saves(on_disk, monkeypatch):
    """Ctrl-C and the first SIGTERM go to all processes of a job; the pages under way are still read."""

    signals = [signal.SIGINT, signal.SIGTERM, signal.SIGINT]

    def centred(image, size, resize):
        if signals:
            os.kill(os.getpid(), signals.pop())
        return image.resize((size, size))

    monkeypatch.setattr("puzzlemix.data.loader.centred", centred)
    assert len(list(Loader(on_disk.test, workers=1).test(8))) == 1


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_workers_read_archives_side_by_side(image_folder, write, monkeypatch, kind):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    data = load_data(write(image_folder(train=12, size=97, kind="JPEG", suffix="jpg"), kind), size=16)
    assert same(Loader(data.train, workers=3).train(0, 2), Loader(data.train).train(0, 2))


def test_workers_are_no_more_than_processors(in_memory, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1}, raising=False)
    assert Loader(in_memory, workers=8).workers == 2


def test_orders_are_permutations_of_any_length():
    for count in (1, 2, 1000):
        assert epoch_order(count, 0, 0).sort().values.tolist() == list(range(count))


def test_orders_are_even():
    """Over many epochs every sample comes first, and everywhere else, equally often."""
    places = torch.stack([epoch_order(10, 0, epoch) for epoch in range(3000)])
    counts = torch.stack([column.bincount(minlength=10) for column in places.T])
    assert (counts - 300).abs().max() < 5 * 300**0.5

import dataclasses

import pytest
import torch
from PIL import Image

from puzzlemix.data import DataError
from puzzlemix.training.config import DataConfig, LoopConfig, MachineConfig, TrainConfig
from puzzlemix.training.feed import Feed
from puzzlemix.training.loop import train

DATA = DataConfig(train_images=60, test_images=25)


@pytest.fixture(autouse=True)
def one_thread(threads):
    threads(1)


def make_config(seed=0, data=DATA, machine=None, **loop):
    return TrainConfig(
        data=data, loop=LoopConfig(**{"batch_size": 20, **loop}), seed=seed, machine=machine or MachineConfig()
    )


def test_batches_say_where_they_come_from():
    feed = Feed(make_config())
    batches = list(feed.train(3))
    assert (feed.images, feed.steps(3), len(batches)) == (60, 3, 3)
    assert torch.cat([batch.samples for batch in batches]).sort().values.tolist() == list(range(60))
    for batch in batches:
        assert batch.images.shape == (20, 3, 32, 32)
        assert 0 <= float(batch.images.min()) <= float(batch.images.max()) <= 1
        assert torch.equal(batch.labels, feed.data.train.labels[batch.samples])
        assert batch.epoch == 3
        assert batch.view.top.abs().max() <= 2


def test_an_epoch_goes_on_at_any_step():
    whole, rest = list(Feed(make_config()).train(1)), list(Feed(make_config()).train(1, 2))
    assert len(rest) == 1
    assert torch.equal(whole[2].images, rest[0].images)
    assert all(map(torch.equal, whole[2].view, rest[0].view))


def test_the_seed_of_a_run_changes_the_order_and_not_the_data():
    feeds = [Feed(make_config(seed)) for seed in (0, 1)]
    assert feeds[0].data.fingerprint() == feeds[1].data.fingerprint()
    first, second = (next(iter(feed.train(0))).samples for feed in feeds)
    assert not torch.equal(first, second)


def test_phases_change_sizes_and_batches():
    feed = Feed(make_config(epochs=4, phases=((1, 16, 30), (3, 24, 10))))
    assert [feed.batch_size(epoch) for epoch in range(5)] == [20, 30, 30, 10, 10]
    assert [feed.size(epoch) for epoch in range(5)] == [32, 16, 16, 24, 24]
    assert [feed.steps(epoch) for epoch in range(5)] == [3, 2, 2, 6, 6]
    assert [tuple(next(feed.train(epoch)).images.shape) for epoch in (0, 1, 3)] == [
        (20, 3, 32, 32), (30, 3, 16, 16), (10, 3, 24, 24),
    ]  # fmt: skip
    assert next(feed.test()).images.shape == (10, 3, 32, 32)


def test_images_in_memory_are_not_cut_out():
    with pytest.raises(ValueError, match=r"a phase has the crop 0\.5, but images of synthetic are shifted"):
        Feed(make_config(epochs=4, phases=((0, 16, 30), (2, 32, 20, 0.5))))


def test_a_phase_says_how_much_is_cut_out_at_least(tmp_path):
    # too large to be kept in memory
    for number, place in enumerate(["train/cat", "train/dog", "val/cat", "val/dog"]):
        (tmp_path / place).mkdir(parents=True)
        for count in range(4):
            Image.new("RGB", (100, 80), (count, number, 0)).save(tmp_path / place / f"{count}.png")
    data = DataConfig(str(tmp_path), size=16)
    feed = Feed(make_config(data=data, machine=MachineConfig(workers=0), batch_size=8, phases=((1, 16, 8, 0.9),)))
    shares = [
        torch.cat([batch.view.height * batch.view.width for batch in feed.train(epoch)]) / 8000 for epoch in (0, 1)
    ]
    assert float(shares[0].min()) < 0.8
    assert float(shares[1].min()) > 0.85  # sides are rounded to whole pixels


def test_a_phase_that_wants_more_images_than_there_are_fails_at_once():
    with pytest.raises(ValueError, match="batch_size=61 is more than the 60 training images"):
        Feed(make_config(epochs=4, phases=((2, 32, 61),)))


def test_processes_share_batches_and_test_images():
    feed = Feed(make_config())
    whole = next(feed.train(0))
    parts = [next(feed.train(0, rank=rank, world=2)) for rank in range(2)]
    assert torch.equal(torch.cat([part.images for part in parts]), whole.images)
    seen = [batch.samples for rank in range(2) for batch in feed.test(rank=rank, world=2)]
    assert torch.cat(seen).sort().values.tolist() == list(range(25))


def test_settings_reach_the_data_set(tmp_path):
    feed = Feed(make_config(data=dataclasses.replace(DATA, size=16)))
    assert feed.data.train.images.shape == (60, 3, 16, 16)
    with pytest.raises(DataError, match=f"cifar10 is not in {tmp_path}"):
        Feed(make_config(data=DataConfig(name="cifar10"), machine=MachineConfig(root=str(tmp_path))))


def test_images_arrive_on_the_device():
    """On the meta device, which has no values: nothing there is read back."""
    batch = next(Feed(make_config(), device="meta").train(0))
    assert (batch.images.device.type, batch.labels.device.type) == ("meta", "meta")
    assert batch.samples.device.type == "cpu"
    assert batch.view.top.device.type == "cpu"


@pytest.mark.parametrize(("name", "classes", "size"), [("cifar10-subset", 10, 32), ("tiny-imagenet-20", 20, 64)])
def test_real_images_are_learned_from(shared, tiny, tmp_path, name, classes, size):
    archive = shared / "data" / f"{name}.zip"
    config = tiny(method="puzzle", name=str(archive), train_images=120, test_images=40, width=4, epochs=3)
    outcome = train(config, tmp_path)
    spec = Feed(config).spec
    assert (spec.classes, spec.size) == (classes, size)
    losses = [epoch["train_loss"] for epoch in outcome.history]
    assert losses[-1] < losses[0]

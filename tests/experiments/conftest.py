"""A table of two short runs on a few drawn images."""

from dataclasses import replace

import pytest

from puzzlemix.experiments.published import PublishedTable
from puzzlemix.experiments.recipes import CIFAR100_PREACT, Table, mini
from puzzlemix.experiments.run import Places, plan
from puzzlemix.training.config import DataConfig, MachineConfig

MACHINE = MachineConfig(device="cpu", tensorboard=False)


def tiny(config):
    """The same method, in a second."""
    config = mini(config, "synthetic")
    return replace(
        config,
        data=DataConfig("synthetic", train_images=20, test_images=10, size=16),
        loop=replace(config.loop, epochs=1, batch_size=10),
        model=replace(config.model, width=2),
    )


@pytest.fixture
def table():
    published = PublishedTable("A table", ("top1", "fgsm"), {"Vanilla": (21.14, 63.92), "Puzzle Mix": (15.95, 63.71)})
    return Table(published, {row: lambda row=row: CIFAR100_PREACT.run(row) for row in published.rows})


@pytest.fixture
def places(tmp_path):
    return Places(tmp_path / "runs", tmp_path / "records")


@pytest.fixture
def planned(table):
    return plan(table, 1, tiny, MACHINE)

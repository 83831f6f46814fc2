"""Every row of every table takes two steps: its own network, method and schedule, on few and small stand-in images.

Rows that differ in nothing but numbers of the objective (sweeps, plans) are told apart by the slow ones only.
"""

import io
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from puzzlemix.data import DataSet, DataSpec, InMemory, OnDisk
from puzzlemix.experiments.recipes import TABLES
from puzzlemix.methods import PuzzleSettings
from puzzlemix.training import feed as feeds
from puzzlemix.training.feed import Feed
from puzzlemix.training.loop import build_engine
from puzzlemix.training.schedule import learning_rate
from puzzlemix.training.seeds import step_generator

from .conftest import MACHINE

CLASSES = {"cifar10": 10, "cifar100": 100, "tiny_imagenet": 200, "imagenet": 1000, "imagenet_colour": 1000}
SIZE, LARGE, BATCH = 16, 64, 2  # the finest grid has cells of one pixel; ResNet-50 leaves 1/32 to normalise over


def kind(config):
    """What decides which code a run goes through: all but how long it is and the numbers of the objective."""
    settings = config.settings
    if isinstance(settings, PuzzleSettings):
        mix = settings.mix
        settings = (replace(settings, mix=type(mix)()), mix.labels, mix.transport_block, mix.neighbours)
        settings = (*settings, mix.transport is None)
    return repr((settings, config.model, config.data, config.optimiser))


def exact(config):
    """What a run goes through, numbers and all."""
    return repr((config.settings, config.model, config.data, config.optimiser))


def rows_by(key):
    """One row of every kind."""
    found = {}
    for table, entry in TABLES.items():
        for row, recipe in entry.recipes.items():
            found.setdefault(key(recipe()), (table, row))
    return list(found.values())


FEW, ALL = rows_by(kind), rows_by(exact)


class Pictures:
    """Stands in for a folder of images."""

    def read(self, name):
        pixels = np.random.default_rng(int(name)).integers(256, size=(48, 40, 3), dtype=np.uint8)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        return file.getvalue()

    def describe(self, name):
        return name


def stand_in(name, **_):
    """Random images with the classes, and the way into memory, of the set of this name."""
    classes = CLASSES[name]
    large = name.startswith("imagenet")
    spec = DataSpec(name, classes, SIZE, padding=2)
    if large:
        spec = DataSpec(name, classes, LARGE, crop_scale=(0.08, 1.0))
    if name == "imagenet_colour":
        spec = replace(spec, jitter=0.4, lighting=0.1)
    labels = torch.arange(2 * BATCH) * (classes // (2 * BATCH))
    if large:
        split = OnDisk(Pictures(), tuple(map(str, range(len(labels)))), labels, spec)
    else:
        images = torch.randint(256, (len(labels), 3, SIZE, SIZE), generator=torch.Generator().manual_seed(0))
        split = InMemory(images.to(torch.uint8), labels, spec)
    return DataSet(split, split, tuple(map(str, range(classes))))


def reduced(config):
    """The same run with few and small images."""
    phases = tuple(phase._replace(size=LARGE, batch_size=BATCH) for phase in config.loop.phases)
    return replace(config, loop=replace(config.loop, batch_size=BATCH, phases=phases), machine=MACHINE)


def take_two_steps(table, row):
    full = TABLES[table].recipes[row]()
    config = reduced(full)
    feed = Feed(config)
    engine = build_engine(config, feed)
    engine.net.train()
    before = [parameter.detach().clone() for parameter in itertools.islice(engine.model.parameters(), 2)]
    epochs = config.loop.epochs
    for epoch in (0, epochs - 1):  # phases and the clean term may be others at the end
        # so few images bear as much less of a rate
        rate = learning_rate(config.schedule, epoch, epochs) * BATCH / full.loop.batch_size
        assert rate > 0
        batch = next(iter(feed.train(epoch)))
        sums = engine.step(batch, rate, epoch + 1, lambda part, epoch=epoch: step_generator(0, epoch, 0, 0, part))
        assert all(math.isfinite(value) for value in sums.tolist())
    after = list(itertools.islice(engine.model.parameters(), 2))
    assert all(bool(parameter.isfinite().all()) for parameter in after)
    assert any(not torch.equal(old, new) for old, new in zip(before, after, strict=True))


@pytest.fixture(autouse=True)
def small(monkeypatch, threads):
    threads(1)
    monkeypatch.setattr(feeds, "load_data", stand_in)


@pytest.mark.parametrize(("table", "row"), FEW)
def test_a_row_of_every_kind_takes_two_steps(table, row):
    take_two_steps(table, row)


@pytest.mark.slow
@pytest.mark.parametrize(("table", "row"), [entry for entry in ALL if entry not in FEW])
def test_the_other_rows_take_two_steps(table, row):
    take_two_steps(table, row)


def test_no_row_is_left_out():
    kinds = {kind(TABLES[table].recipes[row]()) for table, row in FEW}
    assert kinds == {kind(recipe()) for table in TABLES.values() for recipe in table.recipes.values()}
    methods = {(table, TABLES[table].recipes[row]().method) for table, row in FEW}
    protocols = {name: {recipe().method for recipe in TABLES[name].recipes.values()} for name in TABLES}
    for name in ("mini", "table2", "table3", "table4", "table5", "table6"):
        assert {(name, method) for method in protocols[name]} <= methods

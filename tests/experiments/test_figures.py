import csv
from dataclasses import replace

import pytest
import torch

from puzzlemix.data import InMemory, Loader
from puzzlemix.experiments import figures
from puzzlemix.experiments.figures import FIGURES, Source, make
from puzzlemix.experiments.recipes import CIFAR100_PREACT
from puzzlemix.training.log import Quiet
from puzzlemix.training.loop import train

from .conftest import MACHINE, tiny


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    train(replace(tiny(CIFAR100_PREACT.run("Vanilla")), machine=MACHINE), folder, Quiet())
    return Source(folder, MACHINE, pairs=8, trials=1, networks={"Vanilla": [folder, folder], "Other": [folder]})


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_a_picture_and_its_numbers(name, source, tmp_path):
    from PIL import Image

    picture, *numbers = make(name, source, tmp_path)
    with Image.open(picture) as image:
        assert image.width > 1000
        assert len(image.convert("RGB").getcolors(2**24)) > 50
    for path in numbers:
        rows = list(csv.DictReader(path.read_text().splitlines()))
        assert len(rows) >= 10
        assert all(all(name for name in row) for row in rows)


def test_pairs_are_as_many_as_asked_for_and_repeat(source):
    first, second = list(source.batches()), list(source.batches())
    assert sum(len(pairs.labels) for pairs in first) == 8
    for one, other in zip(first, second, strict=True):
        assert all((a == b).all() for a, b in zip(one, other, strict=True))
        assert (one.labels != one.labels[one.partners]).any()


def test_classes_are_mixed_though_test_images_are_in_their_order(source):
    ordered = replace(source, pairs=10)
    test = ordered.feed.data.test
    order = test.labels.argsort(stable=True)
    by_class = InMemory(test.images[order], test.labels[order], test.spec)
    patched = ordered.feed
    patched.data = replace(patched.data, test=by_class)
    patched._test = Loader(by_class)
    (pairs,) = list(ordered.batches())
    assert pairs.labels.tolist() != by_class.labels.tolist()
    assert sorted(pairs.labels.tolist()) == by_class.labels.tolist()
    for image, label in zip(pairs.images, pairs.labels, strict=True):
        places = [place for place, other in enumerate(by_class.images) if torch.equal(image, other / 255)]
        assert int(label) in by_class.labels[places]


def test_a_figure_of_images_needs_a_network(tmp_path):
    with pytest.raises(ValueError, match="pass the folder of a finished run"):
        make("figure-curves", Source(), tmp_path)


def test_methods_are_compared_by_the_runs_that_are_finished(tmp_path):
    with pytest.raises(ValueError, match="none of the table's runs is finished"):
        make("figure-pgd", Source(), tmp_path)


def test_curves_have_a_line_for_every_method_and_grid(source):
    lines = [[series.name for series in chart.series] for chart in curves_charts(source)]
    grids = [f"Puzzle Mix, grid {grid}" for grid in (2, 4, 8, 16)]
    images = ["Puzzle Mix", "input mixup", "CutMix", *grids]
    every = ["Puzzle Mix", "input mixup", "manifold mixup", "CutMix", *grids]
    assert lines == [images, images, every, every, every]


def curves_charts(source):
    """The charts of figure-curves, before they are drawn."""
    with pytest.MonkeyPatch.context() as patch:
        shown = []
        patch.setattr(figures, "draw_charts", lambda charts, **_: shown.extend(charts))
        FIGURES["figure-curves"].make(source)
    return shown


@pytest.mark.parametrize("settings", [{"pairs": 1}, {"trials": 0}])
def test_too_few_to_measure(settings):
    with pytest.raises(ValueError, match="at least 2 pairs and 1 trial"):
        Source(**settings)

"""The protocols against the paper's numbers (Supplementary C), epoch by epoch."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from puzzlemix.experiments import published
from puzzlemix.experiments.recipes import (
    CIFAR100_PREACT,
    CIFAR100_WRN,
    COSTS,
    IMAGENET_100,
    IMAGENET_300,
    TABLES,
    TINY_IMAGENET,
    on_data,
)
from puzzlemix.methods import METHODS, PuzzleSettings
from puzzlemix.models import build_model
from puzzlemix.training.config import DataConfig
from puzzlemix.training.schedule import learning_rate, phase_at

EVERY = [(table, row) for table, entry in TABLES.items() for row in entry.recipes]


def steps(*parts):
    """The rates of all epochs: pairs of a rate and how many epochs have it."""
    return [rate for rate, epochs in parts for _ in range(epochs)]


def imagenet_100():
    """Supplementary C.3: straight lines between these epochs, with a jump where the images grow."""
    small = np.interp(range(15), (0, 8, 15), (0.5, 1.0, 0.125))
    large = np.interp(range(15, 100), (15, 40, 65, 90, 100), (0.2, 0.02, 0.002, 0.0002, 0.00002))
    return [*small, *large]


@pytest.mark.parametrize(
    ("config", "rates"),
    [
        (CIFAR100_WRN.run("Vanilla"), steps((0.1, 200), (0.01, 100), (0.001, 100))),
        (CIFAR100_WRN.run("Puzzle Mix (half)"), steps((0.2, 120), (0.02, 50), (0.002, 30))),
        (CIFAR100_PREACT.run("CutMix"), steps((0.1, 400), (0.01, 400), (0.001, 400))),
        (CIFAR100_PREACT.run("Puzzle Mix (half, adv)"), steps((0.2, 350), (0.02, 150), (0.002, 100))),
        (TINY_IMAGENET.run("Input"), steps((0.2, 600), (0.02, 300), (0.002, 300))),
        (TINY_IMAGENET.run("Puzzle Mix (half)"), steps((0.2, 300), (0.02, 150), (0.002, 150))),
        (IMAGENET_100.run("Vanilla"), imagenet_100()),
        (IMAGENET_300.run("Vanilla"), steps((0.1, 75), (0.01, 75), (0.001, 75), (0.0001, 75))),
    ],
)
def test_learning_rates_are_the_papers_in_every_epoch(config, rates):
    epochs = config.loop.epochs
    assert [learning_rate(config.schedule, epoch, epochs) for epoch in range(epochs)] == pytest.approx(rates)


@pytest.mark.parametrize("protocol", [CIFAR100_WRN, CIFAR100_PREACT, TINY_IMAGENET, IMAGENET_100, IMAGENET_300])
def test_rows_of_a_protocol_share_its_schedule(protocol):
    for row in protocol.rows:
        config = protocol.run(row)
        assert (config.schedule, config.loop) == (protocol.base.schedule, protocol.base.loop)


def test_images_grow_on_imagenet_as_in_the_papers_runs():
    loop = IMAGENET_100.base.loop
    found = [phase_at(loop.phases, epoch) for epoch in range(loop.epochs)]
    assert found == [(0, 128, 1024, None)] * 15 + [(15, 224, 448, 0.087)] * 85


@pytest.mark.parametrize(("table", "row"), EVERY)
def test_every_row_is_a_run_of_its_own_method(table, row):
    config = TABLES[table].recipes[row]()
    assert METHODS[config.method].settings is type(config.settings)
    assert type(config).from_json(config.to_json()) == config
    assert config.essence() == TABLES[table].recipes[row]().essence()


def test_rows_of_a_table_differ():
    for table in TABLES.values():
        runs = [recipe().fingerprint() for recipe in table.recipes.values()]
        assert len(set(runs)) == len(runs)


def test_a_run_that_stands_in_two_tables_is_one_run():
    same = [TABLES[table].recipes["Puzzle Mix"]().fingerprint() for table in ("table2", "table7", "table8")]
    assert len(set(same)) == 1


@pytest.mark.parametrize(
    ("protocol", "epochs", "batch", "parameters"),
    [
        (CIFAR100_WRN, 400, 100, 36.5e6),
        (CIFAR100_PREACT, 1200, 100, 11.2e6),
        (TINY_IMAGENET, 1200, 100, 11.3e6),
        (IMAGENET_100, 100, 448, 25.6e6),
        (IMAGENET_300, 300, 256, 25.6e6),
    ],
)
def test_networks_and_lengths(protocol, epochs, batch, parameters):
    config = protocol.base
    classes = {"cifar100": 100, "tiny_imagenet": 200, "imagenet": 1000, "imagenet_colour": 1000}[config.data.name]
    model = build_model(config.model.name, classes, **config.model.options)
    assert (config.loop.epochs, config.loop.batch_size) == (epochs, batch)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(parameters, rel=0.01)


def test_in_equal_time_cheap_methods_have_the_same_runs_and_dear_ones_fewer_epochs():
    same, shorter = ({row: r() for row, r in TABLES[name].recipes.items()} for name in ("mini", "mini-time"))
    assert set(same) - set(shorter) == {"Puzzle Mix (half)"}
    for row, config in shorter.items():
        assert config.loop.epochs == round(40 / COSTS[row])
        assert replace(config, loop=replace(config.loop, epochs=40)) == same[row]
    assert [shorter[row].fingerprint() == same[row].fingerprint() for row in ("Vanilla", "CutMix", "Puzzle Mix")] == [
        True, True, False,
    ]  # fmt: skip


def test_small_tables_are_on_the_data_that_is_asked_for():
    plain = TABLES["mini"].recipes["Vanilla"]()
    assert on_data(plain, "my.zip") == replace(plain, data=DataConfig("my.zip"))


RECORD = Path(__file__).parents[2] / "records" / "train.json"
# the kind of step, as benchmarks/train.py calls it, whose time decides how long a row of the small tables has
STEPS = {
    "Input": "input_mixup",
    "Manifold": "manifold_mixup",
    "CutMix": "cutmix",
    "AugMix": "augmix",
    "Puzzle Mix": "puzzle",
    "Puzzle Mix (adv)": "puzzle (adv)",
    "Puzzle Mix (aug)": "puzzle (aug)",
    "Puzzle Mix (binary)": "puzzle (binary)",
    "Puzzle Mix (mask only)": "puzzle (mask only)",
    "Puzzle Mix (p = 0.5)": "puzzle, p = 0.5",
    "Puzzle Mix (refresh 4)": "puzzle, saliency every 4 epochs",
}


@pytest.mark.skipif(not RECORD.exists(), reason="no records beside the tests")
def test_costs_are_those_that_were_measured():
    rows = json.loads(RECORD.read_text())["rows"]
    measured = {row["case"]: row["ratios"]["vanilla"] for row in rows if row["part"] == "step"}
    assert {"Vanilla", *STEPS} == set(COSTS)
    known = {row: measured[step] for row, step in STEPS.items() if step in measured}
    assert known.keys() >= {"Input", "AugMix", "Puzzle Mix"}
    assert {row: COSTS[row] for row in known} == pytest.approx(known, rel=0.08)


def test_what_the_paper_changes_between_data_sets():
    cifar, tiny, imagenet = (p.rows["Puzzle Mix"] for p in (CIFAR100_WRN, TINY_IMAGENET, IMAGENET_100))
    assert all(isinstance(settings, PuzzleSettings) for settings in (cifar, tiny, imagenet))
    assert [s.mix.beta for s in (cifar, tiny, imagenet)] == [1.2, 1.2, 1.5]
    assert [s.mix.transport_block for s in (cifar, tiny, imagenet)] == [4, None, None]
    assert [s.mix.neighbours for s in (cifar, tiny, imagenet)] == [4, 4, 2]
    assert [(s.clean_weight, s.clean_until_epoch) for s in (cifar, tiny, imagenet)] == [(0, None), (1, None), (1, 40)]
    assert [s.loss for s in (cifar, tiny, imagenet)] == ["bce", "bce", "cross_entropy"]
    assert [p.rows["Manifold"].alpha for p in (CIFAR100_WRN, TINY_IMAGENET, IMAGENET_100)] == [2.0, 0.2, 0.2]
    assert [p.rows["Puzzle Mix (adv)"].adversarial.prob for p in (CIFAR100_WRN, TINY_IMAGENET)] == [0.1, 0.15]
    assert (TINY_IMAGENET.base.loop.fgsm_255, CIFAR100_WRN.base.loop.fgsm_255) == (4, 8)


def test_a_half_run_needs_a_protocol_that_has_them():
    with pytest.raises(ValueError, match="half"):
        IMAGENET_100.run("Puzzle Mix (half)")


def test_the_sweeps_include_the_papers_own_point():
    own = TABLES["table2"].recipes["Puzzle Mix"]().settings.mix
    for name, sweep in published.SWEEPS.items():
        assert getattr(own, name) in sweep.values
        varied = [recipe().settings.mix for recipe in TABLES[f"sweep-{name}"].recipes.values()]
        assert [getattr(mix, name) for mix in varied] == list(sweep.values)

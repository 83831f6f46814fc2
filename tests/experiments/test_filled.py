"""Tables with what records say, which are written here by hand."""

from dataclasses import replace

import pytest

from puzzlemix.experiments.filled import differences, filled, time_column
from puzzlemix.experiments.recipes import TABLES
from puzzlemix.experiments.run import plan, write_record

from .conftest import MACHINE, tiny

HERE = {"device": "cpu", "processor": "A", "threads": 2}
ELSEWHERE = {"device": "cuda, B", "processor": "A", "threads": 2}


def of(name, seeds):
    return plan(TABLES[name], seeds, tiny, MACHINE)


def test_plans_are_paired_by_seed(places):
    planned = of("plans", 3)
    # the second seed lacks its exact plan
    for run, error in zip(planned, (20.0, 19.5, 30.0, None, 22.0, 22.25), strict=True):
        if error is not None:
            write_record(run, places, {"top1": error}, {})
    assert differences(TABLES["plans"], planned, places) == [0.5, -0.25]
    text = filled(TABLES["plans"], planned, places)
    assert "| ours  |    2 |  0.125 |     0.530 |  0.333 | 0.795 |" in text
    assert "Welch" not in text


def test_a_sweep_ends_in_its_mean_and_deviation(places):
    planned = of("sweep-eta", 1)
    for run, error in zip(planned[:2], (16.0, 17.0), strict=True):
        write_record(run, places, {"top1": error}, {})
    text = filled(TABLES["sweep-eta"], planned, places)
    assert "| eta = 0.1  | 16.00 |" in text
    assert "| paper |      6 | 16.37 |      0.18 |\n| ours  |      2 | 16.50 |      0.71 |" in text


@pytest.mark.parametrize(
    ("machines", "times"),
    [
        ((HERE, HERE, HERE), {"Vanilla": "1.00", "Puzzle Mix": "1.70"}),
        ((HERE, HERE, ELSEWHERE), None),
        ((HERE, HERE, {**HERE, "threads": 1}), None),
        ((HERE, HERE, None), None),
    ],
)
def test_times_are_compared_on_one_kind_of_machine_only(machines, times, table, places):
    runs = plan(table, 2, tiny, MACHINE)[:3]
    for run, seconds, where in zip(runs, (10.0, 18.7, 12.0), machines, strict=True):
        about = {"seconds": seconds} if where is None else {"seconds": seconds, "where": where}
        write_record(run, places, {"top1": 20.0, "fgsm": 60.0}, about)
    column = time_column(runs, places)
    assert (None if column is None else column.cells) == times
    assert column is None or "cpu, A, 2 threads" in column.note


def test_rows_of_different_lengths_say_how_long_they_are(table, places):
    planned = plan(table, 1, tiny, MACHINE)
    assert "epochs" not in filled(table, planned, places)
    longer = replace(planned[0].config, loop=replace(planned[0].config.loop, epochs=3))
    text = filled(table, [replace(planned[0], config=longer), planned[1]], places)
    assert [line.split("|")[-2].strip() for line in text.splitlines()[2:6]] == ["epochs", "-----:", "3", "1"]

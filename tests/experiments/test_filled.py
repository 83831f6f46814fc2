"""Tables with what records say, which are written here by hand."""

from dataclasses import replace

from puzzlemix.experiments.filled import differences, filled, time_column
from puzzlemix.experiments.recipes import TABLES, on_data
from puzzlemix.experiments.run import plan, write_record

from .conftest import MACHINE, tiny


def on_cifar(config):
    return on_data(config, "cifar10")


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


def test_times_are_epochs_times_what_a_step_costs(places):
    planned = plan(TABLES["mini"], 1, on_cifar, MACHINE)
    column = time_column(planned)
    assert column.cells["Vanilla"] == "1.00"
    assert column.cells["Puzzle Mix"] == "1.70"
    assert column.cells["Puzzle Mix (half)"] == "0.85"
    assert "time, x vanilla" in filled(TABLES["mini"], planned, places)


def test_in_equal_time_all_take_about_as_long():
    times = time_column(plan(TABLES["mini-time"], 1, on_cifar, MACHINE)).cells.values()
    assert all(0.95 <= float(time) <= 1.05 for time in times)


def test_tables_of_unknown_costs_have_no_times(table, places):
    assert time_column(of("plans", 1)) is None
    assert "time" not in filled(table, plan(table, 1, tiny, MACHINE), places)


def test_rows_of_different_lengths_say_how_long_they_are(table, places):
    planned = plan(table, 1, tiny, MACHINE)
    assert "epochs" not in filled(table, planned, places)
    longer = replace(planned[0].config, loop=replace(planned[0].config.loop, epochs=3))
    text = filled(table, [replace(planned[0], config=longer), planned[1]], places)
    assert [line.split("|")[-2].strip() for line in text.splitlines()[2:6]] == ["epochs", "-----:", "3", "1"]

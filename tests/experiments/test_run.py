import json

import pytest

from puzzlemix.experiments.run import missing, passes, plan, results, write_record

from .conftest import MACHINE, tiny


def test_every_row_comes_before_the_next_seed(table):
    runs = plan(table, 2, tiny, MACHINE)
    assert [(run.row, run.config.seed) for run in runs] == [
        ("Vanilla", 0), ("Puzzle Mix", 0), ("Vanilla", 1), ("Puzzle Mix", 1),
    ]  # fmt: skip
    assert all(run.config.machine == MACHINE for run in runs)


def test_a_run_with_a_record_is_not_missing(planned, places):
    first, second = planned
    assert list(missing([first, second, first], places)) == [first, second]
    write_record(first, places, {"top1": 20.0, "fgsm": 60.0}, {"seconds": 1.0})
    assert list(missing(planned, places)) == [second]
    assert results(planned, places) == {"Vanilla": [{"top1": 20.0, "fgsm": 60.0}]}


def test_a_record_that_lacks_a_measure_is_added_to(planned, places):
    run = planned[0]
    write_record(run, places, {"top1": 20.0}, {})
    assert list(missing([run], places)) == [run]
    write_record(run, places, {"fgsm": 60.0}, {})
    assert run.result(places) == {"top1": 20.0, "fgsm": 60.0}


def test_a_damaged_record_is_named(planned, places):
    path = planned[0].record(places)
    path.parent.mkdir(parents=True)
    path.write_text('{"errors"')
    with pytest.raises(ValueError, match=f"{path.name} is damaged.*remove it"):
        list(missing(planned, places))


def test_a_record_holds_what_the_result_depends_on(planned, places):
    write_record(planned[0], places, {"top1": 20.0}, {"seconds": 2.5})
    content = json.loads(planned[0].record(places).read_text())
    assert content["config"] == planned[0].config.essence()
    assert content["seconds"] == 2.5


def test_what_a_run_costs(planned):
    vanilla, puzzle = (run.config for run in planned)
    assert passes(vanilla, 1_000_000) == 1
    assert passes(puzzle, 1_000_000) == 2

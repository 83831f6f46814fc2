import itertools

import pytest

from puzzlemix.bench import timing
from puzzlemix.bench.timing import Effort, Times, average, one_by_one, side_by_side


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on only when a function says so."""
    now = [0.0]
    monkeypatch.setattr(timing.time, "perf_counter", lambda: now[0])

    def taking(*seconds, calls=None, name=None):
        durations = itertools.cycle(seconds)

        def function():
            now[0] += next(durations)
            if calls is not None:
                calls.append(name)

        return function

    return taking


def test_functions_take_turns_after_a_run_to_warm_up(clock):
    calls = []
    functions = {name: clock(1.0, calls=calls, name=name) for name in "ab"}
    one_by_one(Effort(steps=3), functions)
    assert "".join(calls) == "ab" + 3 * "ab"


def test_a_turn_lasts_as_long_as_it_should(clock):
    calls = []
    functions = {name: clock(seconds, calls=calls, name=name) for name, seconds in (("a", 1.0), ("b", 4.0))}
    side_by_side(Effort(rounds=2, turn=2.5), functions)
    assert "".join(calls) == "ab" + 2 * "aaab"


def test_the_best_and_the_median_are_told_and_warming_up_is_not_counted(clock):
    times = one_by_one(Effort(steps=5), {"a": clock(100.0, 3.0, 1.0, 2.0, 9.0, 7.0)})
    assert times == {"a": Times(best=pytest.approx(1.0), median=pytest.approx(3.0))}


def test_an_average_weighs_each_kind():
    assert average((1, Times(10, 20)), (3, Times(2, 4))) == Times(4, 8)

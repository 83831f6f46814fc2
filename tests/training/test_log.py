import io
import json
import math

import pytest

from puzzlemix.training.log import Console, MetricsLog, Quiet, bar, clock


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def test_lines_are_json_even_where_a_run_diverged(tmp_path):
    log = MetricsLog(tmp_path, tensorboard=False)
    log.write("epoch", 7, {"loss": math.nan, "error": 0.5})
    log.close()
    assert lines(tmp_path) == [{"event": "epoch", "step": 7, "loss": None, "error": 0.5}]


def test_a_resumed_log_is_cut_to_its_checkpoint(tmp_path):
    log = MetricsLog(tmp_path, tensorboard=False)
    log.write("step", 1, {})
    position = log.position()
    log.write("step", 2, {})
    log._file.write(b'{"half a li')
    log.close()
    log = MetricsLog(tmp_path, tensorboard=False, position=position)
    log.write("step", 2, {"again": True})
    log.close()
    assert lines(tmp_path) == [{"event": "step", "step": 1}, {"event": "step", "step": 2, "again": True}]


def test_a_log_that_lost_its_end_is_not_padded(tmp_path):
    log = MetricsLog(tmp_path, tensorboard=False, position=1000)
    log.write("step", 2, {})
    log.close()
    assert lines(tmp_path) == [{"event": "step", "step": 2}]


def test_a_new_run_starts_an_empty_log(tmp_path):
    (tmp_path / "metrics.jsonl").write_text("old\n")
    MetricsLog(tmp_path, tensorboard=False).close()
    assert lines(tmp_path) == []


def test_tensorboard_reads_it(tmp_path):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    log = MetricsLog(tmp_path, tensorboard=True)
    log.write("epoch", 1, {"loss": 2.0, "name": "text is for the lines only"})
    log.write("epoch", 2, {"loss": 9.0})
    log.close()
    log = MetricsLog(tmp_path, tensorboard=True, step=1)
    log.write("epoch", 2, {"loss": 1.0})
    log.close()
    events = accumulator.EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("epoch/loss")] == [(1, 2.0), (2, 1.0)]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_a_bar_gives_way_to_lines():
    stream = Terminal()
    console = Console(stream)
    assert console.is_due()
    console.draw("half way")
    assert not console.is_due()
    console.say("done")
    assert stream.getvalue() == "half way\r        \rdone\n"


def test_elsewhere_there_is_no_bar():
    stream = io.StringIO()
    console = Console(stream)
    assert not console.is_due()
    console.warn("mind")
    assert stream.getvalue() == "warning: mind\n"


def test_quiet_says_nothing(capsys):
    Quiet().warn("nothing")
    assert not Quiet().is_due()
    assert capsys.readouterr() == ("", "")


def test_how_times_and_shares_are_written():
    assert [clock(s) for s in (0, 59.6, 3725)] == ["0:00", "1:00", "1:02:05"]
    assert bar(0).count("━") == 0
    assert bar(2).count("╌") == 0
    assert len(bar(0.37)) == len(bar(0.99))

"""Runs that are killed as the system kills, and go on as if nothing had happened."""

import json
import os
import random
import signal
import time

import pytest

from puzzlemix.methods import PuzzleSettings
from puzzlemix.training.checkpoint import list_checkpoints, load_latest

RUN = {
    "method": "puzzle",
    "settings": PuzzleSettings(refresh=2),
    "ema": 0.9,
    "accumulate": 2,
    "epochs": 8,
    "width": 4,
    "save_steps": 1,
}
STEPS = 40


def steps_done(folder):
    try:
        return (folder / "metrics.jsonl").read_bytes().count(b'"event": "step"')
    except FileNotFoundError:
        return 0


def wait_for(condition, seconds=200):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened for minutes"
        time.sleep(0.002)


def epochs_of(folder):
    lines = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    return [{k: v for k, v in line.items() if "second" not in k} for line in lines if line["event"] == "epoch"]


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys() == {"weights.safetensors", "weights-ema.safetensors"}
    for file, tensors in ours.items():
        assert all((tensor == theirs[file][name]).all() for name, tensor in tensors.items())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a run that nothing happens to, made by the first test that needs it."""
    return tmp_path_factory.mktemp("whole")


@pytest.fixture
def uninterrupted(whole, warm, tiny):
    if not (whole / "result.json").exists():
        assert warm.wait(warm.start(tiny(**RUN), whole)) == 0
    return whole


def test_killed_ten_times_at_random_it_ends_as_if_it_never_was(uninterrupted, warm, tiny, tmp_path, weights_of):
    dice, config = random.Random(7), tiny(**RUN)
    for _ in range(10):
        # anywhere within some two steps: in the model, in the solver, while a checkpoint is written, in evaluation
        enough = steps_done(tmp_path) + dice.choice((1, 2))
        pid = warm.start(config, tmp_path)
        wait_for(lambda enough=enough: steps_done(tmp_path) >= enough)
        time.sleep(dice.uniform(0, 0.04))
        os.kill(pid, signal.SIGKILL)
        assert warm.wait(pid) == -signal.SIGKILL
    assert load_latest(tmp_path / "checkpoints", lambda text: pytest.fail(text)) is not None
    assert warm.wait(warm.start(config, tmp_path)) == 0
    assert_same(weights_of(tmp_path), weights_of(uninterrupted))
    assert epochs_of(tmp_path) == epochs_of(uninterrupted)
    assert steps_done(tmp_path) == STEPS


def test_killed_in_the_middle_of_writing_a_checkpoint(uninterrupted, warm, tiny, tmp_path, weights_of):
    config, checkpoints = tiny(**RUN), tmp_path / "checkpoints"
    for number in (0, 3, 1):
        assert warm.wait(warm.start(config, tmp_path, kill_at_write=number)) == -signal.SIGKILL
        assert len(list(checkpoints.glob(".*.tmp"))) == 1
    assert len(list_checkpoints(checkpoints)) == 2
    assert warm.wait(warm.start(config, tmp_path)) == 0
    assert not list(checkpoints.glob(".*.tmp"))
    assert_same(weights_of(tmp_path), weights_of(uninterrupted))
    assert epochs_of(tmp_path) == epochs_of(uninterrupted)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_told_to_stop_it_saves_and_says_so(uninterrupted, warm, tiny, tmp_path, weights_of, number, code):
    config = tiny(**{**RUN, "save_steps": None})
    pid = warm.start(config, tmp_path)
    wait_for(lambda: steps_done(tmp_path) >= 2)
    os.kill(pid, number)
    assert warm.wait(pid) == code
    found = load_latest(tmp_path / "checkpoints", lambda text: pytest.fail(text))
    assert found.state["position"]["total"] >= 2
    assert found.state["position"]["total"] == steps_done(tmp_path)
    assert warm.wait(warm.start(config, tmp_path)) == 0
    assert_same(weights_of(tmp_path), weights_of(uninterrupted))

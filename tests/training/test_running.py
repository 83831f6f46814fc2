import math
import time

import pytest
import torch

from puzzlemix.training.running import Pace, Running


def test_loss_and_error_are_those_of_all_images_so_far():
    running = Running()
    assert all(math.isnan(value) for value in running.read().values())
    for loss, hits, images in ((20.0, 2.5, 10.0), (2.0, 5.0, 5.0)):
        running.add(torch.tensor([loss, hits, images]))
    assert running.read() == {"loss": pytest.approx(22 / 15), "error": pytest.approx(1 - 7.5 / 15)}
    running.reset()
    assert math.isnan(running.read()["loss"])


def test_long_epochs_are_counted_exactly():
    running = Running()
    running.sums += torch.tensor([0.0, 2.0**24, 2.0**24])
    running.add(torch.tensor([0.0, 0.0, 1.0]))
    assert running.sums[2] == 2**24 + 1


def test_pace(monkeypatch):
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    pace = Pace(0.5)
    pace.begin_epoch()
    pace.count(30)
    now += 10
    assert pace.seconds == 10
    assert pace.rate == 3
    assert pace.left(0.75) == 10  # a quarter took 10 seconds, and a quarter is left
    assert pace.left(1.0) == 0

"""Saliency that several processes remember, against one that sees everything."""

import pytest
import torch

from puzzlemix.methods import Puzzle, PuzzleSettings, build_method
from puzzlemix.methods.remembered import Remembered


class Seer(torch.nn.Module):
    """Counts the images of the passes."""

    def __init__(self, inner):
        super().__init__()
        self.inner, self.seen = inner, 0
        for norm in inner.modules():
            if isinstance(norm, torch.nn.BatchNorm2d):
                norm.momentum = 0.0  # or which images came together would leave a trace

    def forward(self, images):
        self.seen += len(images)
        return self.inner(images)


def some(batch, rows):
    view = batch.view._make(None if field is None else field[rows] for field in batch.view)
    return batch._replace(images=batch.images[rows], labels=batch.labels[rows], samples=batch.samples[rows], view=view)


def exchange_all(methods):
    """What two processes do at once: each gathers what both pass."""
    passed = []
    for method in methods:
        with pytest.raises(StopIteration):
            method.exchange(lambda part: passed.append(part) or next(iter(())))
    for method in methods:
        method.exchange(lambda part: list(passed))


def states(methods):
    return [Remembered.of(method.state_dict()["saliency"]) for method in methods]


@pytest.mark.parametrize("refresh", [2, 3, 4])
def test_together_they_remember_what_one_alone_would(nets, batch, seeded, refresh):
    settings = PuzzleSettings(refresh=refresh)
    alone, pair = Puzzle(5, settings), [Puzzle(5, settings) for _ in range(2)]
    one, two = Seer(nets()), Seer(nets())
    for epoch in range(7):
        order = torch.randperm(8, generator=seeded(epoch))
        alone.loss(one, some(batch, order), seeded())
        for method, rows in zip(pair, order.split(4), strict=True):
            method.loss(two, some(batch, rows), seeded())
        exchange_all(pair)
        first, second = states(pair)
        (expected,) = states([alone])
        assert two.seen == one.seen
        for ours in (first, second):
            assert torch.equal(ours.uses, expected.uses)
            assert torch.equal(ours.samples, expected.samples)
        assert torch.equal(first.maps, second.maps)
        torch.testing.assert_close(first.maps, expected.maps, atol=2e-3, rtol=0)


def test_an_exchange_in_the_middle_of_an_epoch_changes_nothing(nets, batch, seeded):
    results = []
    for often in (False, True):
        pair = [Puzzle(5, PuzzleSettings(refresh=3)) for _ in range(2)]
        for epoch in range(4):
            order = torch.randperm(8, generator=seeded(epoch))
            for half in order.split(4):
                for method, rows in zip(pair, half.split(2), strict=True):
                    method.loss(Seer(nets()), some(batch, rows), seeded())
                if often:
                    exchange_all(pair)
            exchange_all(pair)
        results.append(states(pair)[0])
    for one, other in zip(*results, strict=True):
        assert torch.equal(one, other)


def test_one_that_has_seen_nothing_learns_from_the_others(net, batch, seeded):
    pair = [Puzzle(5, PuzzleSettings(refresh=3)) for _ in range(2)]
    pair[0].loss(net, batch, seeded())
    exchange_all(pair)
    for one, other in zip(*states(pair), strict=True):
        assert torch.equal(one, other)


def test_a_state_that_was_loaded_is_known_to_all(net, batch, seeded):
    method, resumed = (Puzzle(5, PuzzleSettings(refresh=3)) for _ in range(2))
    method.loss(net, batch, seeded())
    resumed.load_state_dict(method.state_dict())
    passed = []
    resumed.exchange(lambda part: passed.append(part) or [part])
    assert len(passed[0].samples) == 0


@pytest.mark.parametrize("name", ["vanilla", "cutmix", "puzzle"])
def test_others_have_nothing_to_say(name):
    build_method(name, classes=5).exchange(lambda part: pytest.fail("nothing to gather"))

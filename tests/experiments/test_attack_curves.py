import pytest
import torch
from torch import nn

from puzzlemix.experiments.attack_curves import PAPER_PGD, REACHES_255, curves_of, measure
from puzzlemix.training.feed import Feed
from puzzlemix.training.log import Quiet
from puzzlemix.training.loop import train

from .conftest import MACHINE


class Brightness(nn.Module):
    """Class 1 from a mean of 0.5 on, class 0 below; the others never."""

    def forward(self, images):
        score = 20 * (images.mean((1, 2, 3)) - 0.5)
        return torch.stack([-score, score, *[torch.full_like(score, -99.0)] * 8], 1)


def test_accuracies_are_what_moving_every_pixel_by_hand_gives(planned):
    feed = Feed(planned[0].config)
    found = curves_of(Brightness(), feed)
    assert [len(found["fgsm"]), len(found["pgd"])] == [len(REACHES_255), PAPER_PGD.steps + 1]
    images, labels = feed.data.test.images / 255, feed.data.test.labels
    for reach, accuracy in zip(REACHES_255, found["fgsm"], strict=True):
        # up where the label is 0, down where it is 1; other labels are never said
        away = torch.where(labels == 0, reach / 255, -reach / 255)[:, None, None, None]
        said = ((images + away).clamp(0, 1).mean((1, 2, 3)) > 0.5).long()
        assert accuracy == pytest.approx(100 * float((said == labels).float().mean()))
    assert found["pgd"][-1] <= found["fgsm"][0]


def test_points_are_averages_over_runs(planned, places):
    folders = [run.folder(places) for run in planned]
    for run, folder in zip(planned, folders, strict=True):
        train(run.config, folder, Quiet())
    apart = measure({"a": folders[:1], "b": folders[1:]}, MACHINE)
    both = measure({"both": folders}, MACHINE)
    assert len(apart) == 2 * len(both)
    for one, other, mean in zip(apart, apart[len(both) :], both, strict=False):
        assert (one.runs, one.deviation, mean.runs) == (1, None, 2)
        assert mean.accuracy == pytest.approx((one.accuracy + other.accuracy) / 2)
        assert mean.deviation == pytest.approx(abs(one.accuracy - other.accuracy) / 2**0.5)

import pytest
import torch
from torch import nn

from puzzlemix.experiments.perform import corruption_error, perform, pgd_error
from puzzlemix.training.feed import Feed
from puzzlemix.training.log import Quiet


def test_a_run_ends_in_its_record(planned, places):
    perform(planned[1], places, Quiet())
    errors = planned[1].result(places)
    assert errors.keys() >= {"top1", "top5", "best_top1", "best_top5", "fgsm"}
    assert all(0 <= value <= 100 for value in errors.values())
    assert (planned[1].folder(places) / "weights.safetensors").exists()


class Constant(nn.Module):
    """Says class 3 of everything."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.eye(10)[3])

    def forward(self, images):
        return self.bias + 0 * images.mean((1, 2, 3))[:, None]


@pytest.mark.parametrize("error", [pgd_error, corruption_error])
def test_errors_of_a_model_that_is_known_by_construction(error, planned):
    feed = Feed(planned[0].config)
    expected = float((feed.data.test.labels != 3).float().mean())
    assert error(Constant(), feed) == pytest.approx(expected)

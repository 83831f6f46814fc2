import pytest
import torch

from puzzlemix.cli.pictures import shown_batch
from puzzlemix.methods import METHODS, Batch, build_method
from puzzlemix.models import build_model


@pytest.mark.parametrize("name", METHODS)
def test_what_the_network_is_given_is_shown(name, generator):
    images = torch.rand(4, 3, 16, 16, generator=generator)
    model = build_model("preact_resnet18", 3, width=2, seed=0).eval()
    batch = Batch(images, torch.tensor([0, 1, 2, 0]))
    shown = shown_batch(model, build_method(name, classes=3), batch, generator)
    assert shown.images.shape == images.shape
    assert 0 <= shown.images.min() <= shown.images.max() <= 1
    torch.testing.assert_close(shown.targets.sum(1), torch.ones(4))
    changed = not torch.equal(shown.images, images)
    assert changed == (name != "vanilla") or name == "manifold_mixup"  # which may mix features instead

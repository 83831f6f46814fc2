import torch

from puzzlemix.experiments.convergence import measure
from puzzlemix.experiments.lambda_curves import Pairs


def pairs(count=12):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, 3, 32, 32, generator=generator)
    saliency = torch.rand(count, 32, 32, generator=generator) ** 8
    return Pairs(images, torch.zeros(count, dtype=torch.long), saliency, torch.arange(count).roll(1))


def test_free_moves_keep_changing_and_dear_ones_do_not():
    found = {(change.xi, change.grid): change for change in measure([pairs()], torch.Generator().manual_seed(0))}
    assert found[0.0, 16].images > 0
    assert 0 < found[0.0, 16].pixels < found[0.0, 16].images
    assert found[1.0, 16].images < found[0.0, 16].images


def test_nothing_moves_on_one_cell():
    (change,) = measure([pairs()], torch.Generator().manual_seed(0), costs=(0.0,), grids=(1,))
    assert (change.images, change.pixels) == (0, 0)

import torch

from puzzlemix.experiments.convergence import PLANS, measure
from puzzlemix.experiments.lambda_curves import Pairs


def pairs(count=12):
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, 3, 32, 32, generator=generator)
    saliency = torch.rand(count, 32, 32, generator=generator) ** 8
    return Pairs(images, torch.zeros(count, dtype=torch.long), saliency, torch.arange(count).roll(1))


def test_free_moves_keep_changing_and_dear_ones_do_not():
    rows = measure([pairs()], torch.Generator().manual_seed(0), costs=(0.0, 1.0), grids=(16,))
    found = {(change.plan, change.xi, change.grid): change for change in rows}
    for plan in PLANS:
        assert found[plan, 0.0, 16].images > 0
        assert 0 < found[plan, 0.0, 16].pixels < found[plan, 0.0, 16].images
        assert found[plan, 1.0, 16].images < found[plan, 0.0, 16].images


def test_the_exact_plan_leaves_less_to_change():
    rows = measure([pairs(60)], torch.Generator().manual_seed(0), costs=(0.5,), grids=(16,))
    changing = {change.plan: change.images for change in rows}
    assert changing["exact"] < changing["paper"]


def test_nothing_moves_on_one_cell():
    changes = measure([pairs()], torch.Generator().manual_seed(0), costs=(0.0,), grids=(1,))
    assert [(change.plan, change.images, change.pixels) for change in changes] == [(plan, 0, 0) for plan in PLANS]

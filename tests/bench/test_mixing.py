import torch

from puzzlemix import puzzle_mix
from puzzlemix.bench import mixing
from puzzlemix.bench.timing import QUICK


def test_every_grid_is_timed_beside_plain_mixup():
    times = mixing.mix_times(QUICK, count=4, side=8, grids=(2, (2, 4)))
    assert list(times) == [mixing.PLAIN, "grid 2", "grid 2x4"]
    assert all(0 < time.best <= time.median for time in times.values())


def test_what_is_timed_is_the_mix():
    batch = mixing.scenes(4, 8)
    assert batch.images.shape == (4, 3, 8, 8)
    assert (batch.saliency >= 0).all()
    expected = puzzle_mix(batch.images, batch.saliency, index=batch.partner, lam=0.5, grid=2)
    assert torch.equal(mixing.mix(batch, 2), expected.images)
    assert torch.equal(mixing.mixup(batch), (batch.images + batch.images[batch.partner]) / 2)

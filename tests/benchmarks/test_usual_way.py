import pytest
import torch

from puzzlemix import puzzle_mix
from puzzlemix.core.mask import solve_mask

CASES = [f"case{number:02d}" for number in range(24)]


@pytest.fixture
def usual_way(benchmark_module):
    module = benchmark_module("usual_way")
    if module.gco is None:
        pytest.skip("gco is not installed")
    return module


@pytest.mark.parametrize("case", CASES)
def test_it_gives_the_images_of_the_authors_implementation(usual_way, golden, case):
    images = torch.tensor(golden["images"]).permute(0, 3, 1, 2).contiguous()
    saliency, index = torch.tensor(golden["saliency"]), torch.tensor(golden["index"])
    grid, lam, labels = (golden[f"{case}.{name}"].item() for name in ("grid", "lam", "labels"))
    mixed, mask = usual_way.usual_mix(images, saliency, index, int(grid), lam, int(labels))
    torch.testing.assert_close(mask.double(), torch.tensor(golden[f"{case}.mask"]).double(), atol=0, rtol=0)
    torch.testing.assert_close(mixed, torch.tensor(golden[f"{case}.mixed"]), atol=1e-6, rtol=0)


@pytest.mark.parametrize("side", [2, 8, 16])
def test_both_solve_the_same_objective_and_its_masks_are_never_better(usual_way, benchmark_module, side):
    mix = benchmark_module("mix")
    batch = mix.scenes(20)
    energy = mix.energy_of(batch, side)
    shares = usual_way.saliency_share(batch.saliency, side)
    terms = usual_way.mask_terms(batch.images, shares, batch.partner, 0.5, 3)
    for theirs, ours in zip(terms, energy, strict=True):
        torch.testing.assert_close(theirs.float(), ours, atol=1e-5, rtol=1e-5)
    assert (energy.evaluate(usual_way.graph_cuts(terms)) >= energy.evaluate(solve_mask(energy.problem())) - 1e-6).all()


def test_where_the_masks_agree_so_do_the_images(usual_way, benchmark_module):
    batch = benchmark_module("mix").scenes(20)
    theirs, mask = usual_way.usual_mix(batch.images, batch.saliency, batch.partner, 4, 0.5)
    ours = puzzle_mix(batch.images, batch.saliency, index=batch.partner, lam=0.5, grid=4)
    paired = batch.partner != torch.arange(20)  # ours leaves an image that is its own partner as it is
    same = (ours.mask == mask).all(2).all(1) & paired
    assert same.sum() > 5
    torch.testing.assert_close(ours.images[same], theirs[same], atol=1e-6, rtol=0)

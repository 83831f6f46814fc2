import itertools
import math

import numpy as np
import pytest
import torch

from puzzlemix import PuzzleMixConfig
from puzzlemix.core.blocks import layout_for
from puzzlemix.core.energy import cell_faces, data_seams, mask_energy, mixing_prior
from puzzlemix.core.mask import solve_mask


def pooled(image, size):
    channels, height, width = image.shape
    return image.reshape(channels, height // size[0], size[0], width // size[1], size[1]).mean((2, 4))


def border(near, far, axis, cell, next_cell, side):
    """phi between two cells by its definition: facing pooled pixels, cell by cell."""
    high, wide = side
    (row, col), (next_row, next_col) = cell, next_cell
    if axis == 0:
        one = near[:, (row + 1) * high - 1, col * wide : (col + 1) * wide]
        other = far[:, next_row * high, next_col * wide : (next_col + 1) * wide]
    else:
        one = near[:, row * high : (row + 1) * high, (col + 1) * wide - 1]
        other = far[:, next_row * high : (next_row + 1) * high, next_col * wide]
    return np.abs(one - other).mean()


def energy_by_definition(images, shares, grid, pool, lam, config, labels):
    """The whole objective for one pair of images, written as sums over cells and edges."""
    rows, cols = grid
    z = labels / config.top
    total = (z * shares[0] + (1 - z) * shares[1]).sum()
    for label in labels.ravel():
        chance = math.comb(config.top, label) * (1 - lam) ** label * lam ** (config.top - label)
        total -= config.eta * math.log(chance) / (rows * cols)
    small = [pooled(image, pool) for image in images]
    side = small[0].shape[1] // rows, small[0].shape[2] // cols
    for axis, row, col in itertools.product((0, 1), range(rows), range(cols)):
        cell, following = (row, col), (row + (axis == 0), col + (axis == 1))
        if following[0] == rows or following[1] == cols:
            continue
        beta = config.beta / 16 / (cols if axis == 0 else rows)
        phi = {(a, b): border(small[a], small[b], axis, cell, following, side) for a in (0, 1) for b in (0, 1)}
        z_i, z_j = z[cell], z[following]
        linear = (1 - z_i) * (phi[0, 0] + phi[0, 1]) / 2 + z_i * (phi[1, 0] + phi[1, 1]) / 2
        linear += (1 - z_j) * (phi[0, 0] + phi[1, 0]) / 2 + z_j * (phi[0, 1] + phi[1, 1]) / 2
        delta = (phi[1, 0] + phi[0, 1] - phi[1, 1] - phi[0, 0]) / 2 if config.data_smoothness == "reference" else 0
        total += beta * config.gamma * linear + beta * (1 + config.gamma * delta) * (z_i - z_j) ** 2
    return total


@pytest.mark.parametrize("form", ["reference", "paper"])
@pytest.mark.parametrize(
    ("size", "grid", "neighbours", "pool"),
    [
        ((16, 16), (4, 4), 4, (4, 4)),
        ((12, 18), (2, 3), 4, (3, 3)),
        ((1, 24), (1, 4), 2, (1, 2)),
        ((8, 6), (8, 2), 4, (1, 3)),
    ],
)
def test_the_energy_is_the_sum_of_its_terms(form, size, grid, neighbours, pool, generator):
    config = PuzzleMixConfig(labels=4, gamma=0.7, eta=0.3, neighbours=neighbours, data_smoothness=form)
    images = torch.rand(2, 3, *size, generator=generator)
    shares = torch.rand(2, *grid, generator=generator)
    labels = torch.randint(0, config.labels, (1, *grid), generator=generator)
    layout = layout_for(*size, *grid)
    std = torch.tensor([0.3, 0.2, 0.5])
    faces = cell_faces((images - 0.5) / std[:, None, None], layout, neighbours)
    one, other = (faces.of(torch.tensor([number])) for number in (0, 1))
    energy = mask_energy((shares[:1], shares[1:]), data_seams(one, other, std), torch.tensor([0.3]), layout, config)
    expected = energy_by_definition(images.numpy(), shares.numpy(), grid, pool, 0.3, config, labels[0].numpy())
    assert energy.evaluate(labels).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("top", range(1, 8))
def test_the_prior_is_the_exact_binomial_log_probability(top):
    lam = torch.tensor([0.3, 1e-30, 1 - 1e-6])
    prior = mixing_prior(lam, top, cells=16, eta=0.2)
    for row, share in zip(prior, lam.double().tolist(), strict=True):
        expected = [
            -0.2 / 16 * (math.log(math.comb(top, k)) + k * math.log1p(-share) + (top - k) * math.log(share))
            for k in range(top + 1)
        ]
        assert row.tolist() == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("eta", [0.0, 0.2])
def test_lam_0_and_1_forbid_all_labels_but_one(eta):
    prior = mixing_prior(torch.tensor([0.0, 1.0]), 2, cells=4, eta=eta)
    assert prior.tolist() == [[math.inf, math.inf, 0], [0, math.inf, math.inf]]


def random_energy(generator, batch=20, grid=(5, 6), top=3, lam=0.4):
    config = PuzzleMixConfig(labels=top + 1)
    images = torch.rand(batch, 3, grid[0] * 4, grid[1] * 4, generator=generator)
    shares = torch.rand(batch, *grid, generator=generator) ** 4
    shares /= shares.sum((1, 2), keepdim=True)
    layout = layout_for(*images.shape[2:], *grid)
    faces = cell_faces(images, layout, 4)
    index = torch.randperm(batch, generator=generator)
    seams = data_seams(faces, faces.of(index), None)
    return mask_energy((shares, shares[index]), seams, torch.full((batch,), lam), layout, config)


@pytest.mark.parametrize("top", [1, 2, 7])
def test_the_integers_rank_labellings_as_the_energy_does(top, generator):
    energy = random_energy(generator, top=top)
    problem = energy.problem()
    labellings = [torch.randint(0, top + 1, (20, 5, 6), generator=generator) for _ in range(2)]
    float_gap = energy.evaluate(labellings[0]) - energy.evaluate(labellings[1])
    whole_gap = (problem.evaluate(labellings[0]) - problem.evaluate(labellings[1])).double()
    scale = (whole_gap * float_gap).sum() / (float_gap**2).sum()
    assert torch.corrcoef(torch.stack([float_gap, whole_gap]))[0, 1] > 0.5
    images_scale = whole_gap / float_gap
    assert (images_scale > 0).all()
    assert scale > 0


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_lam_0_and_1_force_the_mask_at_any_strength_of_saliency(lam, generator):
    energy = random_energy(generator, lam=lam)
    assert (solve_mask(energy.problem()) == (0 if lam else 3)).all()


def test_a_mask_of_one_colour_pays_nothing_for_label_smoothness(generator):
    energy = random_energy(generator)
    flat = torch.full((20, 5, 6), 2)
    smooth = energy._replace(down=energy.down * 0, across=energy.across * 0)
    assert torch.equal(energy.evaluate(flat), smooth.evaluate(flat))


def test_edges_never_favour_a_difference_even_for_images_out_of_range(generator):
    images = 255 * torch.rand(8, 3, 16, 16, generator=generator)
    layout = layout_for(16, 16, 16, 16)
    faces = cell_faces(images, layout, 4)
    shares = torch.full((8, 16, 16), 1 / 256)
    seams = data_seams(faces, faces.of(torch.arange(7, -1, -1)), None)
    energy = mask_energy((shares, shares), seams, torch.full((8,), 0.5), layout, PuzzleMixConfig(gamma=1.0))
    assert min(energy.down.min(), energy.across.min()) == 0


def test_the_golden_energies_are_the_references(golden):
    images = torch.tensor(golden["images"]).permute(0, 3, 1, 2)
    saliency, index = torch.tensor(golden["saliency"]), torch.tensor(golden["index"])
    from puzzlemix.core.shares import saliency_shares

    for number in range(24):
        case = {name.split(".")[1]: value for name, value in golden.items() if name.startswith(f"case{number:02d}.")}
        side, config = int(case["grid"]), PuzzleMixConfig(labels=int(case["labels"]))
        layout = layout_for(32, 32, side, side)
        shares = saliency_shares(saliency, layout)
        faces = cell_faces(images, layout, config.neighbours)
        seams = data_seams(faces, faces.of(index), None)
        energy = mask_energy((shares, shares[index]), seams, torch.full((6,), float(case["lam"])), layout, config)
        for ours, theirs in (
            (energy.keep_first, case["cost_keep_first"]),
            (energy.keep_second, case["cost_keep_second"]),
            (energy.down, case["pair_rows"] + case["label_smoothness"]),
            (energy.across, case["pair_cols"] + case["label_smoothness"]),
        ):
            np.testing.assert_allclose(ours.numpy(), theirs, atol=1e-7)

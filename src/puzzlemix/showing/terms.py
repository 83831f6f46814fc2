"""The figures of a mix: its energy term by term, the cost of its moves, and how much saliency it keeps.

Shape suffixes: B pictures, R rows and K columns of a grid, N tiles.
"""

from dataclasses import replace
from typing import NamedTuple

import torch

from ..core import blocks
from ..core.inputs import read_inputs
from ..core.mix import Moves, moved_pairs
from ..core.pose import pair_energy
from ..core.shares import saliency_shares
from ..core.transport import transport_problem
from .mixing import Mixing, PictureMix


class EnergyTerms(NamedTuple):
    """The mask's energy: the saliency that it hides, how labels and pictures differ across borders, and the prior."""

    saliency: float
    label_smoothness: float
    data_smoothness: float
    prior: float


class Kept(NamedTuple):
    """The share of each picture's saliency that can be seen, from 0 to 1."""

    first: float
    second: float


def energy_terms(mix: PictureMix, mixing: Mixing, sample: int = 0) -> EnergyTerms:
    """Take the energy of the mask apart, for the pictures as they were before anything moved."""
    mixed, layout = mix.mixed, mix.mixed.layout
    inputs = read_inputs(mix.pictures.images, mix.saliency, mixed.index, mixing.lam, mixing.grid, None, None)
    pairs = moved_pairs(inputs, saliency_shares(inputs.saliency, layout), Moves(), layout)
    labels = ((1 - mixed.mask) * mixing.mix.top).round()

    def energy(**without: float) -> float:
        config = replace(mixing.mix, **without)
        return float(pair_energy(pairs, inputs.std, layout, config).evaluate(labels)[sample])

    bare, smooth, seamless = energy(beta=0, eta=0), energy(gamma=0, eta=0), energy(eta=0)
    return EnergyTerms(bare, smooth - bare, seamless - smooth, energy() - seamless)


def saliency_kept(mix: PictureMix, sample: int = 0, *, still: bool = False) -> Kept:
    """How much of both pictures' saliency the mix shows; still: how much the mask would show if nothing had moved."""
    mixed = mix.mixed
    shares_2N = saliency_shares(mix.saliency[[sample, int(mixed.index[sample])]], mixed.layout).flatten(1)
    if not still and mixed.first_source is not None and mixed.second_source is not None:
        shares_2N = shares_2N.gather(1, torch.stack([mixed.first_source[sample], mixed.second_source[sample]]))
    weight_N = blocks.repeat_to_tiles(mixed.mask[sample : sample + 1], mixed.layout).flatten()
    return Kept(*(shares_2N * torch.stack([weight_N, 1 - weight_N])).sum(1).tolist())


def plan_cost(mix: PictureMix, mixing: Mixing, sample: int = 0) -> float | None:
    """What the transport's objective comes to, both pictures' sum, in the paper's units; None without transport."""
    mixed, config = mix.mixed, mixing.mix
    if mixed.first_source is None or mixed.second_source is None:
        return None
    labels = ((1 - mixed.mask[sample : sample + 1]) * config.top).round().long()
    hidden = blocks.repeat_to_tiles(labels, mixed.layout)
    weights = torch.cat([config.top - hidden, hidden])
    weights = weights * (blocks.visible_pixels(mixed.layout, mixed.layout.tile, weights.device) > 0)
    shares = saliency_shares(mix.saliency[[sample, int(mixed.index[sample])]], mixed.layout)
    problem = transport_problem(shares, weights, config.xi, config.transport_gain, config.top)
    return float(problem.plan_cost(torch.stack([mixed.first_source[sample], mixed.second_source[sample]])).sum())

"""One mix with everything the page shows of it: panels, figures, the two other methods beside, and rows of mixes.

Shape suffixes: H height, W width.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..core.blocks import layout_for
from ..core.shares import saliency_shares
from ..methods.cutmix import CutMixDraw, cut_and_paste, rectangle
from ..methods.pairing import Pairing, mix_pairs
from ..showing import Kept, Mixing, PictureMix, Pictures, energy_terms, mix_pictures, plan_cost, saliency_kept
from .pictures import Picture
from .settings import Settings

ROWS: dict[str, tuple[float, ...]] = {
    "lam": tuple(step / 10 for step in range(1, 10)),
    "beta": (0.0, 0.4, 0.8, 1.2, 2.4, 4.8, 9.6),
    "gamma": (0.0, 0.25, 0.5, 0.75, 1.0),
}


@dataclass(frozen=True, eq=False)
class Pair:
    """Two pictures, and their saliency (2,H,W)."""

    pictures: Pictures
    saliency: Tensor

    @classmethod
    def of(cls, first: Picture, second: Picture, maps: Sequence[Tensor]) -> "Pair":
        """Put two pictures side by side."""
        pixels = torch.stack([first.pixels, second.pixels])
        return cls(Pictures(pixels, (first.name, second.name)), torch.stack(list(maps)))

    def mix(self, mixing: Mixing) -> PictureMix:
        """Mix the first with the second; sample 0 is the mix that is shown."""
        return mix_pictures(self.pictures, self.saliency, mixing)


def figures_of(mix: PictureMix, mixing: Mixing) -> dict[str, Any]:
    """All that can be said of a mix in numbers."""
    example = mix.example()
    terms = energy_terms(mix, mixing)
    sides = (example.first, example.second)
    return {
        "ratio": example.ratio,
        "energy": terms._asdict() | {"total": sum(terms)},
        "kept": saliency_kept(mix)._asdict(),
        "kept_still": saliency_kept(mix, still=True)._asdict(),
        "moved": [len(side.moves) for side in sides],
        "seen": [side.seen for side in sides],
        "plan_cost": plan_cost(mix, mixing),
    }


def blocks_of(mix: PictureMix) -> dict[str, Any]:
    """What became of every block: for each place the first picture's weight, and for both pictures each place's source.

    down, across: a block's height and width as shares of the picture's; the last ones may reach beyond it.
    """
    mixed, layout = mix.mixed, mix.mixed.layout
    shares = saliency_shares(mix.saliency[[0, int(mixed.index[0])]], layout)
    still = torch.arange(layout.cells)
    sources = [still if source is None else source[0] for source in (mixed.first_source, mixed.second_source)]
    sides = [{"source": source.tolist(), "share": _short(share)} for source, share in zip(sources, shares, strict=True)]
    return {
        "rows": layout.rows,
        "cols": layout.cols,
        "down": layout.block[0] / layout.height,
        "across": layout.block[1] / layout.width,
        "mask": _short(mixed.mask[0]),
        "first": sides[0],
        "second": sides[1],
    }


def _short(values: Tensor) -> list[float]:
    return [round(value, 5) for value in values.flatten().tolist()]


@dataclass(frozen=True, eq=False)
class Beside:
    """What another method makes of the pair: the image (3,H,W), the first one's share, the saliency it keeps."""

    image: Tensor
    ratio: float
    kept: Kept


def input_mixup(pair: Pair, settings: Settings) -> Beside:
    """Both pictures laid over each other."""
    images = mix_pairs(pair.pictures.images, Pairing(torch.tensor([1, 0]), settings.lam))
    return Beside(images[0], settings.lam, Kept(settings.lam, 1 - settings.lam))


def cutmix(pair: Pair, settings: Settings) -> Beside:
    """A rectangle of the second in the first, at a place drawn from the seed."""
    generator = torch.Generator().manual_seed(settings.seed)
    top, left = torch.rand(2, generator=generator, dtype=torch.float64).tolist()
    drawn = CutMixDraw(Pairing(torch.tensor([1, 0]), settings.lam), top, left)
    images, ratio = cut_and_paste(pair.pictures.images, drawn)
    height, width = images.shape[2:]
    shares = saliency_shares(pair.saliency, layout_for(height, width, height, width))
    inside = shares[(slice(None), *rectangle(drawn, height, width))].sum((1, 2))
    return Beside(images[0], ratio, Kept(float(1 - inside[0]), float(inside[1])))


def row_of(settings: Settings, name: str) -> list[Settings]:
    """The settings of a row of mixes, in which one value rises."""
    if name not in ROWS:
        raise ValueError(f"there is no row {name!r}: choose one of {', '.join(ROWS)}")
    return [replace(settings, **{name: value}) for value in ROWS[name]]

"""What the page asks for, answered as plain values: no word of HTTP here."""

import gc
import importlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from .. import __version__
from ..data import DATA_SETS
from ..drawing import Example, draw_grid, figure_bytes
from ..drawing.figures import Cell
from ..models.zoo import torchvision_names
from ..showing import MOST_BYTES, Saliency, contrast_saliency
from ..training.codec import decode
from . import mixes, rendering, snippets
from .mixes import Pair
from .pictures import (
    GALLERY,
    BatchRequest,
    Picture,
    data_batch,
    described,
    drawn_key,
    drawn_picture,
    uploaded_picture,
)
from .sessions import Session
from .settings import Settings, read_settings
from .sources import SourceRequest, Sources, Waiting

OVERLAYS = ("first", "second")
PANELS = ("first_saliency", "second_saliency", "mask", "first_moves", "second_moves")
_FIGURE = (
    ("first", "first_saliency", "first_moves", "mask"),
    ("second", "second_saliency", "second_moves", "mixed"),
)
_SIGNS = {"lam": "λ", "beta": "β", "gamma": "γ"}  # noqa: RUF001


@dataclass(frozen=True)
class MixRequest:
    """Which pictures, by which saliency, with which settings."""

    first: str = drawn_key(GALLERY[0])
    second: str = drawn_key(GALLERY[1])
    source: SourceRequest = field(default_factory=SourceRequest)
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, eq=False)
class _Read:
    """A request with its pictures and maps found."""

    request: MixRequest
    pictures: tuple[Picture, Picture]
    pair: Pair
    used: SourceRequest
    words: str
    waiting: Waiting | None


class Explorer:
    """Answers every question of the page.

    root: where data sets lie. size: the side that pictures are brought to.
    """

    def __init__(self, *, root: str | Path = "data", size: int = 224):
        if not 32 <= size <= 1024:
            raise ValueError(f"size={size!r}: pass the side of the pictures in pixels, from 32 to 1024")
        self.root, self.size, self.most_bytes = Path(root), size, MOST_BYTES
        self._sources = Sources()
        self._decoding = Lock()  # one at a time: a large image takes hundreds of megabytes for a moment

    def start(self) -> dict[str, Any]:
        """What there is to choose from."""
        gallery = [self._drawn(drawn_key(sample)) for sample in GALLERY]
        return {
            "version": __version__,
            "gallery": [described(picture) for picture in gallery],
            "settings": asdict(Settings()),
            "data_sets": list(DATA_SETS),
            "networks": list(torchvision_names()),
            "most_bytes": self.most_bytes,
            "rows": mixes.ROWS,
            "size": self.size,
        }

    def upload(self, session: Session, content: bytes, name: str) -> dict[str, Any]:
        """Take a picture of the visitor's own."""
        with self._decoding:
            picture = uploaded_picture(content, name, self.size)
        session.pictures.put(picture.key, picture)
        return described(picture)

    def batch(self, session: Session, values: Mapping[str, Any]) -> dict[str, Any]:
        """Fetch a batch of a data set."""
        request = decode(BatchRequest, values, "batch")
        with self._decoding:
            pictures = data_batch(request, self.root, self.size)
        for picture in pictures:
            session.pictures.put(picture.key, picture)
        return {"pictures": [described(picture) for picture in pictures]}

    def thumbnail(self, session: Session, key: str) -> bytes:
        """A picture as a JPEG file."""
        return rendering.picture_jpeg(self._picture(session, key).pixels)

    def draw(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with lam and grid as training would draw them."""
        return asdict(read_settings(values).drawn())

    def mix(self, session: Session, values: Mapping[str, Any]) -> dict[str, Any]:
        """The mix with its panels, its figures, the other methods beside it, and the settings as text."""
        read = self._read(session, values)
        settings = read.request.settings
        mix = read.pair.mix(settings.mixing)
        example = mix.example()
        drawn = {panel: rendering.panel_url(example, panel) for panel in PANELS}
        beside = {"mixup": mixes.input_mixup(read.pair, settings), "cutmix": mixes.cutmix(read.pair, settings)}
        _settle()
        return {
            "panels": drawn | self._overlays(session, read, example),
            "mixed": rendering.picture_url(mix.mixed.images[0]),
            "cells": mixes.blocks_of(mix),
            "figures": mixes.figures_of(mix, settings.mixing),
            "beside": {name: _described_beside(one) for name, one in beside.items()},
            "names": list(mix.pictures.names),
            "saliency": read.words,
            "source": asdict(read.used),
            "waiting": None if read.waiting is None else asdict(read.waiting),
            "config": snippets.config_text(settings),
            "python": snippets.python_text(*read.pictures, read.used, settings),
        }

    def row(self, session: Session, values: Mapping[str, Any], name: str) -> dict[str, Any]:
        """A row of mixes in which one value rises."""
        read = self._read(session, values)
        row = [(one, read.pair.mix(one.mixing).mixed) for one in mixes.row_of(read.request.settings, name)]
        return {
            "mixes": [
                {
                    "value": getattr(one, name),
                    "image": rendering.picture_url(mixed.images[0]),
                    "ratio": float(mixed.ratio[0]),
                }
                for one, mixed in row
            ]
        }

    def figure(self, session: Session, values: Mapping[str, Any]) -> bytes:
        """All panels as one PNG."""
        read = self._read(session, values)
        example = read.pair.mix(read.request.settings.mixing).example()
        return figure_bytes(draw_grid([[Cell(example, panel, _title(panel)) for panel in row] for row in _FIGURE]))

    def rows_figure(self, session: Session, values: Mapping[str, Any]) -> bytes:
        """All rows of mixes as one PNG."""
        read = self._read(session, values)
        cells = [
            [
                Cell(read.pair.mix(one.mixing).example(), "mixed", f"{_SIGNS[name]} = {getattr(one, name):g}")
                for one in mixes.row_of(read.request.settings, name)
            ]
            for name in mixes.ROWS
        ]
        return figure_bytes(draw_grid(cells, captions=False, width=11))

    def close(self) -> None:
        """Begin nothing more."""
        self._sources.close()

    def _drawn(self, key: str) -> Picture:
        found = drawn_picture(key, self.size)
        assert found is not None
        return found

    def _picture(self, session: Session, key: str) -> Picture:
        found = session.pictures.get(key) or drawn_picture(key, self.size)
        if found is None:
            raise ValueError("this picture is no longer kept: choose another, or send it again")
        return found

    def _read(self, session: Session, values: Mapping[str, Any]) -> _Read:
        request = decode(MixRequest, values, "request")
        first, second = (self._picture(session, key) for key in (request.first, request.second))
        found = self._sources.find(request.source)
        waiting = found if isinstance(found, Waiting) else None
        source = contrast_saliency() if isinstance(found, Waiting) else found
        used = SourceRequest("contrast") if waiting else request.source
        maps = [self._map(session, picture, used, source) for picture in (first, second)]
        return _Read(request, (first, second), Pair.of(first, second, maps), used, source.words, waiting)

    def _map(self, session: Session, picture: Picture, used: SourceRequest, source: Saliency) -> Tensor:
        def make() -> Tensor:
            found = source.maps(picture.pixels[None])[0]
            return found if found.max() > 0 else torch.ones_like(found)  # a plain picture

        return session.maps.get_or_make((picture.key, used), make)

    def _overlays(self, session: Session, read: _Read, example: Example) -> dict[str, str]:
        """Both pictures with their saliency, which stay while the settings change."""
        return {
            panel: session.overlays.get_or_make(
                (picture.key, read.used, panel), partial(rendering.panel_url, example, panel)
            )
            for panel, picture in zip(OVERLAYS, read.pictures, strict=True)
        }


def _title(panel: str) -> str:
    from ..drawing import CATALOGUE

    return CATALOGUE[panel].title.format(kind="image")


def _described_beside(beside: mixes.Beside) -> dict[str, Any]:
    return {"image": rendering.picture_url(beside.image), "ratio": beside.ratio, "kept": beside.kept._asdict()}


@cache
def _settle() -> None:
    """Import what only the hardest plans need, and never again look for garbage among all that is imported by now.

    Either would make one answer, some time, take as long as three.
    """
    importlib.import_module("scipy.optimize")
    gc.collect()
    gc.freeze()

"""Figures as bytes and as files."""

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files import write_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# what would differ from run to run or version to version is left out
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "jpg": {},
    "webp": {},
}
KINDS = tuple(f".{kind}" for kind in (*_METADATA, "jpeg"))


def figure_bytes(figure: "Figure", kind: str = "png") -> bytes:
    """Render a figure: the same figure gives the same bytes (an SVG's ids aside)."""
    if kind not in _METADATA:
        raise ValueError(f"a figure cannot be written as {kind!r}: choose one of {', '.join(_METADATA)}")
    target = io.BytesIO()
    # all that savefig would otherwise take from the user's style sheet
    style: dict[str, Any] = {"facecolor": "auto", "edgecolor": "auto", "transparent": False, "orientation": "portrait"}
    box = figure.bbox_inches
    figure.savefig(target, format=kind, dpi=figure.dpi, metadata=_METADATA[kind] or None, bbox_inches=box, **style)
    return target.getvalue()


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> Path:
    """Write a figure as its name's ending says, with the folders it needs: the whole file or none."""
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".").replace("jpeg", "jpg")
    if kind not in _METADATA:
        raise ValueError(f"{path.name!r} does not end like a picture: choose one of {', '.join(KINDS)}")
    content = figure_bytes(figure, kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path

"""The embedded data set: one salient object of ten classes on cluttered texture, drawn from a seed.

Image i of a split is a function of (seed, split, i), whatever the batch it is drawn in; classes follow one another,
so every prefix is balanced. Coordinates run from -1 to 1, so that any size shows the same scene.

Shape suffixes: B batch, C channels (3), H height, W width.
"""

from math import pi
from typing import NamedTuple

import torch
from torch import Tensor

from .draws import Streams, hashed
from .shapes import SHAPES, distances

CLASSES = tuple(SHAPES)
_CHUNK_PIXELS = 2**18  # drawn at a time: the layers of a chunk stay in the cache
_FRAGMENTS = 3
_OVERLAPS = 2
_LINES = 3


class Scenes(NamedTuple):
    """Drawn pictures: images (B,3,H,W) uint8, labels (B) int64, masks (B,H,W) bool, true where the object is."""

    images: Tensor
    labels: Tensor
    masks: Tensor


class _Canvas(NamedTuple):
    """Coordinates x, y (B,H,W) of the pixels, and how many pixels a unit is."""

    x: Tensor
    y: Tensor
    scale: float


def draw_scenes(samples: Tensor | range, *, seed: int = 0, split: str = "train", size: int = 32) -> Scenes:
    """Draw the images with these numbers (any integers >= 0, in any order), size x size pixels."""
    samples_B = torch.as_tensor(samples if isinstance(samples, Tensor) else list(samples), dtype=torch.int64)
    if size < 8:
        raise ValueError(f"size {size} is too small to tell the objects apart: pass at least 8")
    if len(samples_B) and int(samples_B.min()) < 0:
        raise ValueError(f"sample {int(samples_B.min())} is negative: samples are numbered from 0")
    chunk = max(1, _CHUNK_PIXELS // size**2)
    drawn = [_draw(part_B, seed, split, size) for part_B in samples_B.split(chunk)]
    return Scenes(*(torch.cat(parts) for parts in zip(*drawn, strict=True)))


def _draw(samples_B: Tensor, seed: int, split: str, size: int) -> Scenes:
    """Draw one chunk: texture, lines, fragments, object, grain."""
    streams = Streams(hashed("scene", seed, split, samples_B.numpy()))
    labels_B = samples_B % len(CLASSES)
    canvas = _canvas(len(samples_B), size)
    palette_B2C = _palette(streams)
    image_BCHW = _texture(canvas, streams, palette_B2C)
    for _ in range(_LINES):
        image_BCHW = _line(image_BCHW, canvas, streams, palette_B2C)
    for _ in range(_FRAGMENTS):
        image_BCHW = _fragment(image_BCHW, canvas, streams, palette_B2C)
    image_BCHW, masks_BHW = _object(image_BCHW, canvas, streams, palette_B2C, labels_B)
    for _ in range(_OVERLAPS):
        image_BCHW = _fragment(image_BCHW, canvas, streams, palette_B2C)
    image_BCHW = image_BCHW + _noise(streams, 3, 32, size) * 0.05
    return Scenes((image_BCHW * 255 + 0.5).clamp(0, 255).byte(), labels_B, masks_BHW)


def _canvas(batch: int, size: int) -> _Canvas:
    centres = (torch.arange(size) * 2 + 1 - size) / size
    x_BHW = centres.expand(batch, size, size)
    return _Canvas(x_BHW, x_BHW.mT, size / 2)


def _column(values_B: Tensor) -> Tensor:
    return values_B[:, None, None]


def _rgb(hue_B: Tensor, saturation_B: Tensor, value_B: Tensor) -> Tensor:
    """Colours (B,3) from hue, saturation and value in [0, 1]."""
    offsets_C = torch.tensor([0.0, 2 / 3, 1 / 3])
    wheel_BC = ((((hue_B[:, None] + offsets_C) % 1) * 6 - 3).abs() - 1).clamp(0, 1)
    return value_B[:, None] * (1 + saturation_B[:, None] * (wheel_BC - 1))


def _palette(streams: Streams) -> Tensor:
    """Two colours (B,2,3) that the background, the lines and the fragments are mixed of."""
    hue_B = streams.uniform()
    colours = []
    for _ in range(2):
        shifted_B = hue_B + streams.uniform(low=-0.2, high=0.2)
        colours.append(_rgb(shifted_B, streams.uniform(low=0.1, high=0.7), streams.uniform(low=0.15, high=0.95)))
    return torch.stack(colours, dim=1)


def _noise(streams: Streams, channels: int, knots: int, size: int) -> Tensor:
    """Smooth noise (B,channels,size,size) in [-1, 1]: random values at knots x knots places, in between a blend."""
    values = streams.uniform(channels, knots, knots, low=-1.0)
    places = (torch.arange(size) + 0.5) * (knots - 1) / size
    before = places.long().clamp(max=knots - 2)
    share = places - before
    share = share * share * (3 - 2 * share)
    values = values[..., before] + (values[..., before + 1] - values[..., before]) * share
    values = values.mT
    values = values[..., before] + (values[..., before + 1] - values[..., before]) * share
    return values.mT


def _texture(canvas: _Canvas, streams: Streams, palette_B2C: Tensor) -> Tensor:
    """Mix the palette by a gradient, stripes and noise of several scales: (B,3,H,W)."""
    size = canvas.x.shape[-1]
    share_BHW = 0.5 + 0.3 * _along(canvas, streams)
    share_BHW = share_BHW + _stripes(canvas, streams)
    for knots, weight in ((4, 0.55), (8, 0.35), (15, 0.25)):
        share_BHW = share_BHW + weight * _noise(streams, 1, knots, size)[:, 0]
    first, second = palette_B2C[:, :, :, None, None].unbind(1)
    image_BCHW = first + (second - first) * share_BHW.clamp(0, 1)[:, None]
    return image_BCHW * (1 + 0.25 * _noise(streams, 1, 6, size)) + 0.08 * _noise(streams, 3, 6, size)


def _along(canvas: _Canvas, streams: Streams) -> Tensor:
    """Coordinate (B,H,W) along a random direction."""
    turn_B = streams.uniform(high=2 * pi).double()
    return canvas.x * _column(turn_B.cos().float()) + canvas.y * _column(turn_B.sin().float())


def _stripes(canvas: _Canvas, streams: Streams) -> Tensor:
    """Stripes (B,H,W) of random width and strength."""
    phase_BHW = _along(canvas, streams) * _column(streams.uniform(low=1, high=5)) + _column(streams.uniform())
    wave_BHW = (phase_BHW - phase_BHW.floor() - 0.5).abs() * 4 - 1
    return wave_BHW * _column(streams.uniform(high=0.5))


def _cover(distance_BHW: Tensor, canvas: _Canvas) -> Tensor:
    """Share (B,H,W) of each pixel that lies inside of an edge this far away."""
    return (0.5 - distance_BHW * canvas.scale).clamp(0, 1)


def _over(image_BCHW: Tensor, colour: Tensor, cover_BHW: Tensor) -> Tensor:
    """Lay a colour over the image."""
    return image_BCHW + (colour - image_BCHW) * cover_BHW[:, None]


def _clutter_colour(streams: Streams, palette_B2C: Tensor) -> Tensor:
    """A colour (B,3,1,1) for a distractor: often near the background's, at times as loud as an object's."""
    share_B = streams.uniform()[:, None]
    near_BC = palette_B2C[:, 0] + (palette_B2C[:, 1] - palette_B2C[:, 0]) * share_B
    loud_BC = _rgb(streams.uniform(), streams.uniform(low=0.2), streams.uniform(low=0.1))
    loudness_B = streams.uniform(low=0.15, high=0.9)[:, None]
    return (near_BC + (loud_BC - near_BC) * loudness_B)[:, :, None, None]


def _line(image_BCHW: Tensor, canvas: _Canvas, streams: Streams, palette_B2C: Tensor) -> Tensor:
    """Draw a line across the image."""
    distance_BHW = (_along(canvas, streams) - _column(streams.uniform(low=-1))).abs()
    cover_BHW = _cover(distance_BHW - _column(streams.uniform(low=0.01, high=0.07)), canvas)
    strength_BHW = _column(streams.uniform(low=0.2, high=0.9))
    return _over(image_BCHW, _clutter_colour(streams, palette_B2C), cover_BHW * strength_BHW)


class _Pose(NamedTuple):
    """Coordinates (B,H,W) of the pixels as an object sees them, and its size (B,1,1)."""

    x: Tensor
    y: Tensor
    size: Tensor


def _pose(canvas: _Canvas, streams: Streams, low: float, high: float, reach: float) -> _Pose:
    """Place an object: size, place, rotation and a slight stretch."""
    size_B = streams.uniform(low=low, high=high)
    room_B = (reach - size_B).clamp(min=0)
    x_BHW = canvas.x - _column(streams.uniform(low=-1) * room_B)
    y_BHW = canvas.y - _column(streams.uniform(low=-1) * room_B)
    turn_B = streams.uniform(high=2 * pi).double()
    across, up = _column(turn_B.cos().float() / size_B), _column(turn_B.sin().float() / size_B)
    stretch = _column(streams.uniform(low=0.85, high=1.15))
    return _Pose((x_BHW * across + y_BHW * up) * stretch, y_BHW * across - x_BHW * up, _column(size_B))


def _wobbled(pose: _Pose, streams: Streams) -> _Pose:
    """Bend the outline, slightly as a rule and strongly at times."""
    size = pose.x.shape[-1]
    strength_BHW = _column(streams.uniform().square()) * 0.45
    bend_x, bend_y = _noise(streams, 2, 5, size).unbind(1)
    return _Pose(pose.x + bend_x * strength_BHW, pose.y + bend_y * strength_BHW, pose.size)


def _fragment(image_BCHW: Tensor, canvas: _Canvas, streams: Streams, palette_B2C: Tensor) -> Tensor:
    """Draw a piece of a shape of any class, cut off by a straight line through its middle."""
    pose = _pose(canvas, streams, 0.15, 0.42, 1.1)
    kind_B = streams.integers(below=len(CLASSES))
    distance_BHW = distances(kind_B, pose.x, pose.y)
    turn_B = streams.uniform(high=2 * pi).double()
    cut_BHW = pose.x * _column(turn_B.cos().float()) + pose.y * _column(turn_B.sin().float())
    cut_BHW = cut_BHW - _column(streams.uniform(low=-0.35, high=0.2))
    cover_BHW = _cover(torch.maximum(distance_BHW, cut_BHW) * pose.size, canvas)
    return _over(image_BCHW, _clutter_colour(streams, palette_B2C), cover_BHW * _column(streams.uniform(low=0.5)))


def _object(
    image_BCHW: Tensor, canvas: _Canvas, streams: Streams, palette_B2C: Tensor, labels_B: Tensor
) -> tuple[Tensor, Tensor]:
    """Draw the object with its shadow, shaded from one side and darker at its rim; return image and mask."""
    pose = _wobbled(_pose(canvas, streams, 0.34, 0.68, 1.0), streams)
    distance_BHW = distances(labels_B, pose.x, pose.y) * pose.size
    shadow_BHW = (1 - distance_BHW * 6).clamp(0, 1) * _column(streams.uniform(high=0.5))
    image_BCHW = image_BCHW * (1 - shadow_BHW[:, None])
    light_BHW = 1 + 0.3 * pose.x.clamp(-1, 1) * _column(streams.uniform(low=-1))
    rim_BHW = (1 + distance_BHW * 9).clamp(0, 1) * 0.35
    colour_BC = _object_colour(streams, palette_B2C)
    paint_BCHW = colour_BC[:, :, None, None] * (light_BHW * (1 - rim_BHW))[:, None]
    cover_BHW = _cover(distance_BHW, canvas) * _column(1 - 0.6 * streams.uniform().square())
    return _over(image_BCHW, paint_BCHW, cover_BHW), distance_BHW < 0


def _object_colour(streams: Streams, palette_B2C: Tensor) -> Tensor:
    """A colour (B,3) whose brightness stands off the background's, on the side that has more room."""
    ground_B = palette_B2C.mean(dim=(1, 2))
    step_B = streams.uniform(low=0.2, high=0.55)
    value_B = torch.where(ground_B < 0.45, ground_B + step_B + 0.1, ground_B - step_B + 0.1)
    return _rgb(streams.uniform(), streams.uniform(low=0.3, high=0.9), value_B.clamp(0.08, 1))

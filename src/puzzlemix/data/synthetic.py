"""The embedded data set: one salient object of ten classes on cluttered texture, drawn from a seed.

Image i of a split is a function of (seed, split, i), whatever the batch it is drawn in; classes follow one another,
so every prefix is balanced. Coordinates run from -1 to 1, so that any size shows the same scene.

Drawn in numpy, by threads over chunks that fit the cache: the many small operations of torch would wait for each
other's threads, which takes 20 times as long on a machine that is busy otherwise.

Shape suffixes: B batch, C channels (3), H height, W width.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import pi
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .draws import Streams, hashed
from .request import Request
from .shapes import SHAPES, distances
from .spec import DataSet, DataSpec, InMemory

CLASSES = tuple(SHAPES)
_TRAIN_IMAGES, _TEST_IMAGES = 5000, 1000
_CHUNK_PIXELS = 2**16  # drawn at a time: few enough for all layers to stay in the cache
_BEHIND, _BEFORE = 2, 2  # fragments
_LINES = 3


class Scenes(NamedTuple):
    """Drawn pictures: images (B,3,H,W) uint8, labels (B) int64, masks (B,H,W) bool, true where the object is."""

    images: Tensor
    labels: Tensor
    masks: Tensor


class _Canvas(NamedTuple):
    """Coordinates x, y (B,H,W) of the pixels, and how many pixels a unit is."""

    x: np.ndarray
    y: np.ndarray
    scale: float


class _Brush(NamedTuple):
    """What every layer is drawn with; the palette (B,2,3) holds two colours of the background."""

    canvas: _Canvas
    streams: Streams
    palette: np.ndarray


def load_synthetic(request: Request) -> DataSet:
    """Draw the training and the test images, with their true object masks."""
    size = request.size or 32
    spec = DataSpec("synthetic", len(CLASSES), size, mean=(0.42,) * 3, std=(0.2,) * 3, padding=size // 16)
    counts = {"train": request.train_images or _TRAIN_IMAGES, "test": request.test_images or _TEST_IMAGES}
    scenes = {
        split: draw_scenes(range(count), seed=request.seed, split=split, size=size) for split, count in counts.items()
    }
    train, test = (InMemory(scene.images, scene.labels, spec, scene.masks) for scene in scenes.values())
    return DataSet(train, test, CLASSES)


def draw_scenes(samples: Tensor | range, *, seed: int = 0, split: str = "train", size: int = 32) -> Scenes:
    """Draw the images with these numbers (any integers >= 0, in any order), size x size pixels."""
    samples_B = np.asarray(samples, dtype=np.int64)
    if size < 8:
        raise ValueError(f"size {size} is too small to tell the objects apart: pass at least 8")
    if samples_B.size and samples_B.min() < 0:
        raise ValueError(f"sample {samples_B.min()} is negative: samples are numbered from 0")
    step = max(1, _CHUNK_PIXELS // size**2)
    chunks = [samples_B[start : start + step] for start in range(0, max(len(samples_B), 1), step)]
    with ThreadPoolExecutor(torch.get_num_threads()) as pool:
        drawn = list(pool.map(partial(_draw, seed=seed, split=split, size=size), chunks))
    return Scenes(*(torch.from_numpy(np.concatenate(parts)) for parts in zip(*drawn, strict=True)))


def _draw(samples_B: np.ndarray, seed: int, split: str, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw one chunk, layer over layer: texture, lines, fragments, object, fragments, grain."""
    streams = Streams(hashed("scene", seed, split, samples_B))
    labels_B = samples_B % len(CLASSES)
    brush = _Brush(_canvas(len(samples_B), size), streams, _palette(streams))
    image_BCHW = _texture(brush)
    for _ in range(_LINES):
        image_BCHW = _line(image_BCHW, brush)
    image_BCHW = _decoy(image_BCHW, brush)
    for _ in range(_BEHIND):
        image_BCHW = _fragment(image_BCHW, brush)
    image_BCHW, masks_BHW = _object(image_BCHW, brush, labels_B)
    for _ in range(_BEFORE):
        image_BCHW = _fragment(image_BCHW, brush)
    image_BCHW = image_BCHW + _noise(streams, 3, 32, size) * 0.05
    return np.clip(image_BCHW * 255 + 0.5, 0, 255).astype(np.uint8), labels_B, masks_BHW


def _canvas(batch: int, size: int) -> _Canvas:
    centres = ((np.arange(size) * 2 + 1 - size) / size).astype(np.float32)
    x_BHW = np.broadcast_to(centres, (batch, size, size))
    return _Canvas(x_BHW, x_BHW.swapaxes(1, 2), size / 2)


def _column(values_B: np.ndarray) -> np.ndarray:
    return values_B[:, None, None]


def _direction(turn_B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cosine and sine (B,1,1), rounded from float64 so that no machine's last digit shows."""
    turn_B = turn_B.astype(np.float64)
    return _column(np.cos(turn_B).astype(np.float32)), _column(np.sin(turn_B).astype(np.float32))


def _rgb(hue_B: np.ndarray, saturation_B: np.ndarray, value_B: np.ndarray) -> np.ndarray:
    """Colours (B,3) from hue (any number, period 1), saturation and value in [0, 1]."""
    offsets_C = np.array([0, 2 / 3, 1 / 3], dtype=np.float32)
    wheel_BC = np.clip(np.abs((hue_B[:, None] + offsets_C) % 1 * 6 - 3) - 1, 0, 1)
    return value_B[:, None] * (1 + saturation_B[:, None] * (wheel_BC - 1))


def _palette(streams: Streams) -> np.ndarray:
    """Two colours (B,2,3) of neighbouring hues that the background is mixed of."""
    hue_B = streams.uniform()
    colours = []
    for _ in range(2):
        shifted_B = hue_B + streams.uniform(low=-0.2, high=0.2)
        colours.append(_rgb(shifted_B, streams.uniform(low=0.1, high=0.7), streams.uniform(low=0.15, high=0.95)))
    return np.stack(colours, axis=1)


def _noise(streams: Streams, channels: int, knots: int, size: int) -> np.ndarray:
    """Smooth noise (B,channels,size,size) in [-1, 1]: random values at knots x knots places, in between a blend."""
    values = streams.uniform(channels, knots, knots, low=-1.0)
    places = (np.arange(size) + 0.5) * (knots - 1) / size
    before = np.minimum(places.astype(np.int64), knots - 2)
    share = (places - before).astype(np.float32)
    share = share * share * (3 - 2 * share)
    for _ in range(2):
        left, right = values[..., before], values[..., before + 1]
        values = (left + (right - left) * share).swapaxes(-1, -2)
    return values


def _texture(brush: _Brush) -> np.ndarray:
    """Mix the palette by a gradient, stripes and noise of several scales: (B,3,H,W)."""
    size = brush.canvas.x.shape[-1]
    share_BHW = 0.5 + 0.3 * _along(brush) + _stripes(brush)
    for knots, weight in ((4, 0.55), (8, 0.35), (15, 0.25)):
        share_BHW = share_BHW + weight * _noise(brush.streams, 1, knots, size)[:, 0]
    first, second = (brush.palette[:, colour, :, None, None] for colour in range(2))
    image_BCHW = first + (second - first) * np.clip(share_BHW, 0, 1)[:, None]
    return image_BCHW * (1 + 0.25 * _noise(brush.streams, 1, 6, size)) + 0.08 * _noise(brush.streams, 3, 6, size)


def _along(brush: _Brush) -> np.ndarray:
    """Coordinate (B,H,W) along a random direction."""
    across, down = _direction(brush.streams.uniform(high=2 * pi))
    return brush.canvas.x * across + brush.canvas.y * down


def _stripes(brush: _Brush) -> np.ndarray:
    """Stripes (B,H,W) of random width and strength."""
    phase_BHW = _along(brush) * _column(brush.streams.uniform(low=1, high=5)) + _column(brush.streams.uniform())
    wave_BHW = np.abs(phase_BHW - np.floor(phase_BHW) - 0.5) * 4 - 1
    return wave_BHW * _column(brush.streams.uniform(high=0.5))


def _over(image_BCHW: np.ndarray, colour: np.ndarray, distance_BHW: np.ndarray, alpha_B: np.ndarray, scale: float):
    """Lay a colour over the image inside of an edge, with the pixels on the edge covered by their share."""
    cover_BHW = np.clip(0.5 - distance_BHW * scale, 0, 1) * _column(alpha_B)
    return image_BCHW + (colour - image_BCHW) * cover_BHW[:, None]


def _clutter_colour(brush: _Brush, loudest: float = 0.75) -> np.ndarray:
    """A colour (B,3,1,1) for a distractor: often near the background's, at times as loud as an object's."""
    streams, palette = brush.streams, brush.palette
    near_BC = palette[:, 0] + (palette[:, 1] - palette[:, 0]) * streams.uniform()[:, None]
    loud_BC = _rgb(streams.uniform(), streams.uniform(low=0.2), streams.uniform(low=0.1))
    return (near_BC + (loud_BC - near_BC) * streams.uniform(low=0.15, high=loudest)[:, None])[:, :, None, None]


def _line(image_BCHW: np.ndarray, brush: _Brush) -> np.ndarray:
    """Draw a line across the image."""
    distance_BHW = np.abs(_along(brush) - _column(brush.streams.uniform(low=-1)))
    distance_BHW = distance_BHW - _column(brush.streams.uniform(low=0.01, high=0.07))
    alpha_B = brush.streams.uniform(low=0.2, high=0.9)
    return _over(image_BCHW, _clutter_colour(brush), distance_BHW, alpha_B, brush.canvas.scale)


class _Pose(NamedTuple):
    """Coordinates (B,H,W) of the pixels as an object sees them, and its size (B,1,1)."""

    x: np.ndarray
    y: np.ndarray
    size: np.ndarray


def _pose(brush: _Brush, low: float, high: float, reach: float) -> _Pose:
    """Place an object: size, place, rotation (upright more often than not) and a slight stretch."""
    streams, canvas = brush.streams, brush.canvas
    size_B = streams.uniform(low=low, high=high)
    room_B = np.maximum(reach - size_B, 0)
    x_BHW = canvas.x - _column(streams.uniform(low=-1) * room_B)
    y_BHW = canvas.y - _column(streams.uniform(low=-1) * room_B)
    lean_B = streams.uniform(low=-1)
    across, down = _direction(lean_B * lean_B * lean_B * pi)
    stretch, size = _column(streams.uniform(low=0.85, high=1.15)), _column(size_B)
    return _Pose((x_BHW * across + y_BHW * down) / size * stretch, (y_BHW * across - x_BHW * down) / size, size)


def _wobbled(pose: _Pose, streams: Streams) -> _Pose:
    """Bend the outline: slightly as a rule, strongly at times."""
    strength = _column(np.square(streams.uniform())) * 0.55
    bend = _noise(streams, 2, 5, pose.x.shape[-1])
    return _Pose(pose.x + bend[:, 0] * strength, pose.y + bend[:, 1] * strength, pose.size)


def _fragment(image_BCHW: np.ndarray, brush: _Brush) -> np.ndarray:
    """Draw a piece of a shape of any class, cut off by a straight line through its middle."""
    pose = _pose(brush, 0.15, 0.42, 1.1)
    distance_BHW = distances(brush.streams.integers(below=len(CLASSES)), pose.x, pose.y)
    across, down = _direction(brush.streams.uniform(high=2 * pi))
    cut_BHW = pose.x * across + pose.y * down - _column(brush.streams.uniform(low=-0.35, high=0.2))
    distance_BHW = np.maximum(distance_BHW, cut_BHW) * pose.size
    alpha_B = brush.streams.uniform(low=0.4)
    return _over(image_BCHW, _clutter_colour(brush), distance_BHW, alpha_B, brush.canvas.scale)


def _decoy(image_BCHW: np.ndarray, brush: _Brush) -> np.ndarray:
    """Draw a whole shape of any class, but flat, smaller and fainter than the object: the label is not its class."""
    pose = _pose(brush, 0.24, 0.4, 1.0)
    distance_BHW = distances(brush.streams.integers(below=len(CLASSES)), pose.x, pose.y) * pose.size
    alpha_B = brush.streams.uniform(low=-0.9, high=0.9).clip(0)  # every other image has none
    return _over(image_BCHW, _clutter_colour(brush, 0.7), distance_BHW, alpha_B, brush.canvas.scale)


def _object(image_BCHW: np.ndarray, brush: _Brush, labels_B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw the object with its shadow, shaded from one side and darker at its rim; return image and mask."""
    streams = brush.streams
    pose = _wobbled(_pose(brush, 0.42, 0.74, 1.0), streams)
    distance_BHW = distances(labels_B, pose.x, pose.y) * pose.size
    shadow_BHW = np.clip(1 - distance_BHW * 6, 0, 1) * _column(streams.uniform(high=0.5))
    image_BCHW = image_BCHW * (1 - shadow_BHW[:, None])
    light_BHW = 1 + 0.3 * np.clip(pose.x, -1, 1) * _column(streams.uniform(low=-1))
    rim_BHW = np.clip(1 + distance_BHW * 9, 0, 1) * 0.35
    paint_BCHW = _object_colour(brush)[:, :, None, None] * (light_BHW * (1 - rim_BHW))[:, None]
    alpha_B = 1 - 0.7 * np.square(np.square(streams.uniform()))  # now and then half transparent
    return _over(image_BCHW, paint_BCHW, distance_BHW, alpha_B, brush.canvas.scale), distance_BHW < 0


def _object_colour(brush: _Brush) -> np.ndarray:
    """A colour (B,3) whose brightness stands off the background's, on the side that has more room."""
    ground_BC = brush.palette[:, 0] + brush.palette[:, 1]
    ground_B = (ground_BC[:, 0] + ground_BC[:, 1] + ground_BC[:, 2]) / 6
    step_B = brush.streams.uniform(low=0.3, high=0.65)
    value_B = np.where(ground_B < 0.5, ground_B + step_B + 0.1, ground_B - step_B + 0.1)
    return _rgb(brush.streams.uniform(), brush.streams.uniform(low=0.4, high=0.95), value_B.clip(0.16, 1))

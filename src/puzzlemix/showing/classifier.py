"""A small classifier of the drawn samples, trained on first use and kept: saliency by a network without any download.

Shape suffixes: B images, C channels, H height, W width.
"""

import contextlib
from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..core.threads import one_thread
from ..data.synthetic import CLASSES, Scenes, draw_scenes
from ..models import Normalized, load_weights, save_weights
from .saliency import Saliency, network_saliency

SIZE = 48
FILE = "puzzlemix-small-classifier-1.safetensors"  # counted up when anything below changes
_WIDTH = 16
_IMAGES, _EPOCHS, _BATCH = 5000, 12, 32
_RATE, _DECAY, _WARM = 0.004, 0.02, 0.25
_MEAN, _STD = (0.42,) * 3, (0.2,) * 3
_WORDS = "the gradient of a small classifier, trained on drawn objects"


def small_classifier(folder: str | Path | None = None) -> Saliency:
    """The gradient of a small classifier; the first call trains it, in less than a minute on two cores.

    folder: where its weights are kept, by default where torch keeps weights.
    """
    path = (Path(torch.hub.get_dir()) / "checkpoints" if folder is None else Path(folder)) / FILE
    model = build_classifier()
    try:
        load_weights(model, path)
    except (OSError, ValueError):  # not there, or damaged
        with one_thread():  # so small a network gains little by more, and waits long where others work
            train_classifier(model, draw_scenes(range(_IMAGES), size=SIZE), _EPOCHS)
        with contextlib.suppress(OSError):  # a folder that cannot be written: next time it is trained again
            path.parent.mkdir(parents=True, exist_ok=True)
            save_weights(model, path)
    return network_saliency(model.eval(), _WORDS, SIZE)


def build_classifier() -> nn.Module:
    """Six convolutions, every other one with stride 2, on images in [0, 1]; always the same initial weights."""
    widths = [3, *(_WIDTH * times for times in (1, 1, 2, 2, 4, 4))]
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        steps = [_block(*pair, stride=2 - k % 2) for k, pair in enumerate(pairwise(widths))]
        head = nn.Linear(widths[-1], len(CLASSES))
    return Normalized(nn.Sequential(*steps, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head), _MEAN, _STD)


def _block(inputs: int, outputs: int, stride: int) -> nn.Module:
    convolution = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


def train_classifier(model: nn.Module, scenes: Scenes, epochs: int) -> None:
    """Train on drawn scenes, mirrored or not; the same scenes give the same weights, up to rounding."""
    generator = torch.Generator().manual_seed(0)
    steps = len(scenes.labels) // _BATCH * epochs
    optimiser = torch.optim.AdamW(model.parameters(), lr=_RATE, weight_decay=_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, _RATE, total_steps=steps, pct_start=_WARM)
    model.train()
    for _ in range(epochs):
        for samples in torch.randperm(len(scenes.labels), generator=generator).split(_BATCH):
            if len(samples) < _BATCH:
                continue
            images = _mirrored(scenes.images[samples].float() / 255, generator)
            loss = F.cross_entropy(model(images), scenes.labels[samples])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


def _mirrored(images_BCHW: Tensor, generator: torch.Generator) -> Tensor:
    """Each image as it is, or mirrored."""
    turned = torch.rand(len(images_BCHW), generator=generator) < 0.5
    return torch.where(turned[:, None, None, None], images_BCHW.flip(3), images_BCHW)

"""Mix pairs of generated images on a coarse and on a fine grid, and save the panels that show how.

    python examples/draw_mix.py [PATH]

No network is needed: the object's outline and contrast, which the generator knows, stand in for a gradient's saliency.
The picture in the README is this script's, written to docs/images/mix.png.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from puzzlemix import puzzle_mix
from puzzlemix.data.synthetic import CLASSES, Scenes, draw_scenes
from puzzlemix.drawing import Example, draw_examples, read_example, save_figure

README_PICTURE = Path(__file__).parents[1] / "docs" / "images" / "mix.png"
SIZE = 128
PAIRS = ((135, 41, 4, 0.5), (79, 126, 8, 0.5))  # two sample numbers, the grid, the share of the first
WIDTH = 8.27  # inches: each pixel of an image becomes exactly 2 x 2 of the picture


def main(path: Path = README_PICTURE) -> None:
    """Mix the pairs and save the picture."""
    examples = [mix_pair(*pair) for pair in PAIRS]
    print(f"saved {save_figure(draw_examples(examples, width=WIDTH), path)}")


def mix_pair(first: int, second: int, grid: int, lam: float) -> Example:
    """Mix two samples of the generated data set with each other, and keep the one that starts from the first."""
    scenes = draw_scenes(torch.tensor([first, second]), size=SIZE)
    images = scenes.images.float() / 255
    saliency = object_saliency(scenes)
    mixed = puzzle_mix(images, saliency, index=torch.tensor([1, 0]), lam=lam, grid=grid)
    return read_example(mixed, images, saliency, names=[CLASSES[label] for label in scenes.labels.tolist()])


def object_saliency(scenes: Scenes) -> Tensor:
    """Where the object is, most of all where it stands out against what is around each pixel: (B,H,W), smooth."""
    images_BCHW = scenes.images.float() / 255
    contrast_B1HW = (images_BCHW - blurred(images_BCHW)).abs().mean(1, keepdim=True)
    return blurred(blurred(scenes.masks[:, None] * (0.3 + 4 * contrast_B1HW)))[:, 0] + 0.01


def blurred(maps_BCHW: Tensor, side: int = 9) -> Tensor:
    """Average over the square of side x side pixels around each pixel."""
    return F.avg_pool2d(maps_BCHW, side, stride=1, padding=side // 2, count_include_pad=False)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

"""Draw a generated image under all 19 corruptions at all 5 severities.

    python examples/draw_corruptions.py [PATH]

The picture in docs/evaluation.md is this script's, written to docs/images/corruptions.png.
"""

import sys
from pathlib import Path

import torch
from torch import Tensor

from puzzlemix.data.synthetic import draw_scenes
from puzzlemix.drawing import save_figure
from puzzlemix.drawing.table import draw_table
from puzzlemix.evaluation.corruptions import COMMON, CORRUPTIONS, LEVELS, NOT_COMPARABLE, corrupt

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "corruptions.png"
SAMPLE, SIZE = 135, 32
WIDTH = 8.56  # inches: each pixel of an image becomes exactly 3 x 3 of the picture


def main(path: Path = PICTURE) -> None:
    """Corrupt, and save the picture."""
    names, groups = list(map(words, CORRUPTIONS)), (3, 7, 11, len(COMMON))
    figure = draw_table(corrupted_images(), names, blocks=2, breaks=groups, width=WIDTH)
    print(f"saved {save_figure(figure, path)}")


def corrupted_images() -> Tensor:
    """A row for each corruption and a column for the image itself and for each severity: (19,6,3,H,W) in [0, 1]."""
    image = (draw_scenes(torch.tensor([SAMPLE]), size=SIZE).images / 255).contiguous()
    rows = [torch.cat([image, *(corrupt(image, name, severity) for severity in LEVELS)]) for name in CORRUPTIONS]
    return torch.stack(rows)


def words(name: str) -> str:
    """What a row is called."""
    return name.replace("_", " ") + (" (drawn)" if name in NOT_COMPARABLE else "")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))

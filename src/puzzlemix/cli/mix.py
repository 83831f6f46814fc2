"""`puzzlemix mix`: mix two image files, or samples of a data set, and draw how."""

import argparse
import sys
from pathlib import Path

import torch

from ..data import load_data
from ..drawing import CATALOGUE, draw_examples, save_figure
from ..drawing.catalogue import DEFAULT
from ..drawing.files import KINDS
from ..showing import (
    CONTRAST,
    Mixing,
    PictureMix,
    Pictures,
    drawn_pictures,
    find_saliency,
    mix_pictures,
    read_pictures,
    sampled_pictures,
)
from ..training.codec import nearest
from .flags import Names, add_flags, changed, flags_of, read_flags
from .parser import Parser, UsageError

DRAWN = "synthetic"
_MANY = 10_000  # drawn samples to choose among
_ABOUT = """\
Mix two image files, or samples of a data set, and draw how: inputs with saliency, mask, moves, result.

Each sample is mixed with the next one, the last with the first. Saliency comes from local contrast unless a network
is named: a folder of puzzlemix train, or a classifier of torchvision."""
_EXAMPLES = """
puzzlemix mix cat.jpg dog.jpg -o panel.png
puzzlemix mix cat.jpg dog.jpg --saliency resnet50 --download --lam 0.3 --grid 16
puzzlemix mix --count 4                              generated images
puzzlemix mix --data cifar10 --count 6 --seed 1 --saliency runs/RUN
puzzlemix mix --samples 3 17 --transport exact --xi 0.1
"""


def run(arguments: list[str]) -> int:
    """Mix and draw."""
    asked, mixing = _read(arguments)
    pictures = _pictures(asked)
    source = find_saliency(asked.saliency, weights=asked.weights, classes=asked.classes, download=asked.download)
    shown = mix_pictures(pictures, source.maps(pictures.images), mixing)
    # of two pictures the second row would show the same the other way round
    rows = range(1 if len(pictures.names) == 2 else len(pictures.names))
    path = save_figure(draw_examples(shown.examples(rows), panels=asked.panels), asked.output)
    sys.stdout.write(f"{path}: {_words(shown, rows)}\nsaliency: {source.words}\n")
    return 0


def _read(arguments: list[str]) -> tuple[argparse.Namespace, Mixing]:
    """What is asked for; UsageError where it cannot be meant."""
    flags = list(flags_of(Mixing(), Names(plain=("mix",))))
    parser = _parser()
    add_flags(parser, "the mix", flags)
    asked = parser.read(arguments)
    _check(asked)
    try:
        return asked, changed(Mixing(), read_flags(asked, flags))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def _parser() -> Parser:
    parser = Parser("mix", _ABOUT, _EXAMPLES)
    parser.add_argument("images", nargs="*", metavar="IMAGE", help="two image files of any kind and shape")
    add = parser.add_argument
    add("-o", "--output", type=Path, default=Path("mix.png"), metavar="FILE", help=f"{', '.join(KINDS)} (mix.png)")
    add("--panels", nargs="+", default=list(DEFAULT), metavar="NAME", help=f"some of {', '.join(CATALOGUE)}")
    add("--size", type=int, metavar="N", help="side of the pictures (224; a data set's own)")
    group = parser.add_argument_group("samples instead of files")
    group.add_argument("--data", default=DRAWN, metavar="NAME", help=f"a data set's name or path ({DRAWN})")
    group.add_argument("--root", default="data", metavar="FOLDER", help="the folder of data sets (data)")
    group.add_argument("--samples", nargs="+", type=int, metavar="N", help="their numbers among the test images")
    group.add_argument("--count", type=int, default=4, metavar="N", help="or how many, by chance (4)")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="of that chance (0)")
    group = parser.add_argument_group("saliency")
    group.add_argument("--saliency", default=CONTRAST, metavar="NAME", help=f"{CONTRAST}, a run's folder, or a model")
    group.add_argument("--weights", type=Path, metavar="FILE", help="weights for a model of torchvision")
    group.add_argument("--classes", type=int, default=1000, metavar="N", help="how many classes those know (1000)")
    group.add_argument("--download", action="store_true", help="fetch weights, or the data set, where they are missing")
    return parser


def _check(asked: argparse.Namespace) -> None:
    if len(asked.images) not in (0, 2):
        raise UsageError(f"{len(asked.images)} images: pass two files, or none and --data")
    for panel in asked.panels:
        if panel not in CATALOGUE:
            raise UsageError(f"there is no panel {panel!r}: {nearest(panel, CATALOGUE)}")
    if asked.output.suffix.lower() not in KINDS:
        raise UsageError(f"{asked.output} does not end like a picture: choose one of {', '.join(KINDS)}")
    if asked.count < 2 or (asked.samples and len(asked.samples) < 2):
        raise UsageError("there is nothing to mix one picture with: pass at least two")
    if asked.size is not None and asked.size < 8:
        raise UsageError(f"--size {asked.size}: pass at least 8")


def _pictures(asked: argparse.Namespace) -> Pictures:
    if asked.images:
        return read_pictures(asked.images, asked.size or 224)
    if asked.data == DRAWN:
        return drawn_pictures(_samples(asked, _MANY), asked.size or 224)
    data = load_data(asked.data, root=asked.root, download=asked.download)
    return sampled_pictures(data, _samples(asked, len(data.test)), asked.size)


def _samples(asked: argparse.Namespace, most: int) -> list[int]:
    """The numbers that were asked for, or some by chance."""
    if asked.samples:
        return asked.samples
    generator = torch.Generator().manual_seed(asked.seed)
    return torch.randperm(most, generator=generator)[: asked.count].tolist()


def _words(shown: PictureMix, rows: range) -> str:
    """What each mix is made of."""
    mixed, names = shown.mixed, shown.pictures.names
    pairs = ((names[row], names[int(mixed.index[row])], float(mixed.ratio[row])) for row in rows)
    return "; ".join(f"{share:.0%} {first}, {1 - share:.0%} {second}" for first, second, share in pairs)

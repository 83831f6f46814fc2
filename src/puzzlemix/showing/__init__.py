"""What is needed to show a mix of any pictures: the pictures themselves, saliency for them, and the mix."""

from .classifier import small_classifier
from .mixing import Mixing, PictureMix, mix_pictures
from .pictures import MOST_BYTES, MOST_PIXELS, Pictures, decode_picture, drawn_pictures, read_pictures, sampled_pictures
from .runs import Trained, load_run, write_facts
from .saliency import (
    CONTRAST,
    Saliency,
    contrast_saliency,
    find_saliency,
    network_saliency,
    run_saliency,
    torchvision_saliency,
)
from .terms import EnergyTerms, Kept, energy_terms, plan_cost, saliency_kept

__all__ = [
    "CONTRAST",
    "MOST_BYTES",
    "MOST_PIXELS",
    "EnergyTerms",
    "Kept",
    "Mixing",
    "PictureMix",
    "Pictures",
    "Saliency",
    "Trained",
    "contrast_saliency",
    "decode_picture",
    "drawn_pictures",
    "energy_terms",
    "find_saliency",
    "load_run",
    "mix_pictures",
    "network_saliency",
    "plan_cost",
    "read_pictures",
    "run_saliency",
    "saliency_kept",
    "sampled_pictures",
    "small_classifier",
    "torchvision_saliency",
    "write_facts",
]

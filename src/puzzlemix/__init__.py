"""Puzzle Mix for PyTorch: saliency-guided mixup with exactly solved masks and moves, for any image or signal."""

from .core.adversarial import Adversarial
from .core.energy import MaskEnergy, mask_energy
from .core.mask import MaskProblem, solve_mask
from .core.mix import Mixed, puzzle_mix
from .core.params import Draw, PuzzleMixConfig, draw
from .core.saliency import clean_gradient, gradient_saliency, input_gradient, input_saliency
from .core.saliency_cache import SaliencyCache, View
from .core.transport import TransportProblem, solve_transport, transport_problem
from .drop_in import MixRecord, PuzzleMix

__version__ = "0.1.0"

__all__ = [
    "Adversarial",
    "Draw",
    "MaskEnergy",
    "MaskProblem",
    "MixRecord",
    "Mixed",
    "PuzzleMix",
    "PuzzleMixConfig",
    "SaliencyCache",
    "TransportProblem",
    "View",
    "clean_gradient",
    "draw",
    "gradient_saliency",
    "input_gradient",
    "input_saliency",
    "mask_energy",
    "puzzle_mix",
    "solve_mask",
    "solve_transport",
    "transport_problem",
]

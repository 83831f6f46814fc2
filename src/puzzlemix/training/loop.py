"""Training from start, or from wherever it stopped, to end."""

import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from lightning.fabric import Fabric
from torch import nn

from ..data import ...
from ..evaluation.accuracy import Accuracy, evaluate
from ..evaluation.attacks import attacked
from ..methods import Batch, build_method
from ..models import build_model, save_weights
from .checkpoint import load_latest, save_checkpoint
from .config import TrainConfig
from .engine import Engine, Sums, make_fabric
from .folder import RunFolder, open_folder
from .log import Console, MetricsLog, bar, clock
from .schedule import learning_rate, phase_at
from .seeds import global_state_kept, seed_layers, step_generator
from .stopping import Stopped, StopSignals

_LAST = 10  # epochs whose median is reported


@dataclass
class Position:
    """How far a run is: the epoch and the steps done in it, the steps done in all, and the seconds it took."""

    epoch: int = 0
    step: int = 0
    total: int = 0
    seconds: float = 0.0


class Outcome(NamedTuple):
    """Errors as shares from 0 to 1 on the test set: at the end, the median of the last ten epochs, and under attack.

    None of them was selected by the test set. history: one dict of metrics per epoch.
    """
    ...

"""What the paper reports: its tables as data, errors in percent.

Rows have the paper's names. Errors are medians of the last ten epochs, but for `IMAGENET_300`, where the paper gives
the best epoch's, and for attacks and corruptions, which meet the final weights.
"""

from collections.abc import Mapping
from typing import NamedTuple

Rows = Mapping[str, tuple[float, ...]]


class PublishedTable(NamedTuple):
    """A table: its caption in short, the measures in its columns, and the numbers of each row."""

    title: str
    columns: tuple[str, ...]
    rows: Rows


CIFAR100_WRN = PublishedTable(
    "Table 2: CIFAR-100, WRN-28-10, 400 epochs",
    ("top1", "top5", "fgsm"),
    {
        "Vanilla": (21.14, 6.33, 63.92),
        "Input": (18.27, 4.98, 56.60),
        "Manifold": (17.40, 4.37, 60.70),
        "CutMix": (17.50, 4.69, 79.34),
        "AugMix": (20.44, 5.74, 55.59),
        "Puzzle Mix": (15.95, 3.92, 63.71),
        "Puzzle Mix (half)": (16.23, 3.90, 66.74),
        "Puzzle Mix (adv)": (16.01, 3.91, 47.18),
        "Puzzle Mix (half, adv)": (16.39, 3.94, 46.95),
    },
)

CIFAR100_PREACT = PublishedTable(
    "Table 3: CIFAR-100, PreActResNet-18, 1200 epochs",
    ("top1", "top5", "fgsm"),
    {
        "Vanilla": (23.67, 8.98, 88.89),
        "Input": (23.16, 7.58, 70.09),
        "Manifold": (20.98, 6.63, 73.09),
        "CutMix": (23.20, 8.09, 86.38),
        "AugMix": (24.69, 8.38, 76.99),
        "Puzzle Mix": (19.62, 5.85, 79.47),
        "Puzzle Mix (half)": (20.09, 5.59, 75.72),
        "Puzzle Mix (adv)": (19.84, 6.11, 57.11),
        "Puzzle Mix (half, adv)": (19.96, 6.20, 59.33),
    },
)

TINY_IMAGENET = PublishedTable(
    "Table 4: Tiny-ImageNet, PreActResNet-18, 1200 epochs",
    ("top1", "top5", "fgsm"),
    {
        "Vanilla": (42.77, 26.35, 91.85),
        "Input": (43.41, 26.98, 88.68),
        "Manifold": (41.99, 25.88, 89.25),
        "CutMix": (43.33, 24.48, 87.19),
        "AugMix": (44.03, 25.32, 90.00),
        "Puzzle Mix": (36.52, 18.95, 92.52),
        "Puzzle Mix (half)": (37.64, 19.37, 92.57),
        "Puzzle Mix (adv)": (38.55, 20.48, 82.07),
        "Puzzle Mix (half, adv)": (38.14, 19.70, 83.91),
    },
)

IMAGENET_100 = PublishedTable(
    "Table 5: ImageNet, ResNet-50, 100 epochs",
    ("top1", "top5"),
    {
        "Vanilla": (24.31, 7.34),
        "Input": (22.99, 6.48),
        "Manifold": (23.15, 6.50),
        "CutMix": (22.92, 6.55),
        "AugMix": (23.25, 6.70),
        "Puzzle Mix": (22.49, 6.24),
    },
)

IMAGENET_300 = PublishedTable(
    "Table 6: ImageNet, ResNet-50, 300 epochs",
    ("best_top1", "best_top5"),
    {
        "Vanilla": (23.68, 7.05),
        "Input": (22.58, 6.40),
        "Manifold": (22.50, 6.21),
        "CutMix": (21.40, 5.92),
        "Puzzle Mix": (21.24, 5.71),
    },
)

CORRUPTION = PublishedTable(
    "Table 7: CIFAR-100 and CIFAR-100-C, WRN-28-10",
    ("top1", "corruption"),
    {
        "Vanilla": (21.14, 49.08),
        "AugMix": (20.45, 32.22),
        "Puzzle Mix": (15.95, 42.46),
        "Puzzle Mix (aug)": (16.50, 29.91),
    },
)

COMPONENTS = PublishedTable(
    "Table 8: what labels and moves contribute, CIFAR-100, WRN-28-10",
    ("top1", "top5"),
    {
        "Vanilla": (21.14, 6.33),
        "Puzzle Mix": (15.95, 3.92),
        "Puzzle Mix (binary)": (17.39, 4.34),
        "Puzzle Mix (mask only)": (16.38, 3.78),
    },
)

ADVERSARIAL = PublishedTable(
    "Table 9: variants of the adversarial training, CIFAR-100, WRN-28-10",
    ("top1", "fgsm", "pgd"),
    {
        "Puzzle Mix (adv)": (16.01, 47.18, 90.18),
        "Puzzle Mix (fgsm)": (16.42, 43.16, 91.19),
        "Puzzle Mix (one draw)": (16.66, 65.90, 94.05),
    },
)

ADVERSARIAL_PROBABILITY = PublishedTable(
    "Table 11: adversarial probability, Tiny-ImageNet, PreActResNet-18",
    ("top1", "top5", "fgsm"),
    {
        "p = 0.00": (37.58, 19.40, 92.70),
        "p = 0.05": (37.60, 19.10, 89.12),
        "p = 0.10": (37.16, 19.25, 86.09),
        "p = 0.15": (38.14, 19.70, 83.91),
        "p = 0.20": (38.65, 20.01, 82.25),
        "p = 0.25": (39.46, 20.40, 80.37),
        "p = 0.30": (40.52, 21.47, 79.76),
    },
)


class Sweep(NamedTuple):
    """One coefficient varied, all else fixed: the values, and the mean and deviation of the runs' top-1 errors."""

    values: tuple[float, ...]
    mean: float
    deviation: float


SWEEPS: Mapping[str, Sweep] = {
    "beta": Sweep((0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6), 16.19, 0.22),
    "gamma": Sweep((0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 16.43, 0.20),
    "eta": Sweep((0.1, 0.15, 0.2, 0.25, 0.3, 0.35), 16.37, 0.18),
    "xi": Sweep((0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 16.25, 0.27),
}


class PairedTest(NamedTuple):
    """Top-1 accuracy with the exact plan less that with Algorithm 1, over runs that differ in nothing else."""

    runs: int
    mean: float
    deviation: float
    statistic: float
    p_value: float


EXACT_PLAN = PairedTest(runs=10, mean=-0.025, deviation=0.239, statistic=-0.105, p_value=0.919)


class Transport(NamedTuple):
    """Algorithm 1 beside the exact solver on random costs of `cells` cells: seconds each, and the relative error."""

    cells: int
    exact_seconds: float
    seconds: float
    error: float


TRANSPORT = (
    Transport(4, 0.000073, 0.000017, 0.0),
    Transport(16, 0.000065, 0.000020, 0.0117),
    Transport(64, 0.000165, 0.000073, 0.0055),
    Transport(256, 0.003291, 0.000986, 0.0017),
    Transport(1024, 0.161080, 0.018754, 0.0005),
)

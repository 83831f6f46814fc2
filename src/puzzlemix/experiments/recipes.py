"""The paper's tables as runs: within a protocol, which fixes data, network and schedule, a row is a method's settings.

A recipe is a function without arguments that returns the config of a run; `TABLES` has one for every row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ..core.adversarial import Adversarial
from ..core.params import PuzzleMixConfig
from ..methods import (
    METHODS,
    Augment,
    AugMixSettings,
    CutMixSettings,
    InputMixupSettings,
    LossSettings,
    ManifoldMixupSettings,
    PuzzleSettings,
    VanillaSettings,
)
from ..training.config import DataConfig, LoopConfig, ModelConfig, TrainConfig
from ..training.optimiser import OptimiserConfig
from ..training.schedule import Phase, ScheduleConfig
from . import published
from .published import PairedTest, PublishedTable, Sweep

Recipe = Callable[[], TrainConfig]


@dataclass(frozen=True)
class Protocol:
    """What all rows of a table share.

    base: the plain run. rows: the settings of each method by its name in the tables. half: epochs and learning rate of
    the runs that see about as many network passes as a plain one, if the paper has such.
    """

    base: TrainConfig
    rows: Mapping[str, LossSettings]
    half: tuple[int, ScheduleConfig] | None = None

    def run(self, row: str) -> TrainConfig:
        """The run of a row; "half" in its brackets shortens that of the row without it."""
        settings = self.rows[row.replace("half, ", "").replace(" (half)", "")]
        config = replace(self.base, method=_METHOD_OF[type(settings)], settings=settings)
        if "half" not in row:
            return config
        if self.half is None:
            raise ValueError(f"{row!r}: there are no half runs in this protocol")
        epochs, schedule = self.half
        return replace(config, schedule=schedule, loop=replace(config.loop, epochs=epochs))


_METHOD_OF = {entry.settings: name for name, entry in METHODS.items()}


@dataclass(frozen=True)
class Table:
    """A table to fill: what the paper has in it, and a recipe for every row.

    sweep, paired: what the paper says of all rows together. small: whether the recipes are those of scale `mini`
    already, so that only their data set may be another.
    """

    published: PublishedTable
    recipes: Mapping[str, Recipe]
    sweep: Sweep | None = None
    paired: PairedTest | None = None
    small: bool = False


def _step(lr: float, *milestones: int) -> ScheduleConfig:
    return ScheduleConfig("step", lr, milestones)


def _baselines(loss: str, *, mixup: float, manifold: float, cutmix: float) -> dict[str, LossSettings]:
    """The methods that Puzzle Mix is compared with; the numbers are their alphas."""
    return {
        "Vanilla": VanillaSettings(loss),
        "Input": InputMixupSettings(loss, alpha=mixup),
        "Manifold": ManifoldMixupSettings(loss, alpha=manifold),
        "CutMix": CutMixSettings(loss, alpha=cutmix),
        "AugMix": AugMixSettings(loss),
    }


def _variants(puzzle: PuzzleSettings, adversarial: Adversarial) -> dict[str, LossSettings]:
    """Puzzle Mix and what the paper varies about it."""
    return {
        "Puzzle Mix": puzzle,
        "Puzzle Mix (adv)": replace(puzzle, adversarial=adversarial),
        "Puzzle Mix (fgsm)": replace(puzzle, adversarial=replace(adversarial, decay=False)),
        "Puzzle Mix (one draw)": replace(puzzle, adversarial=replace(adversarial, shared=True)),
        "Puzzle Mix (aug)": replace(puzzle, augment=Augment()),
        "Puzzle Mix (binary)": replace(puzzle, mix=replace(puzzle.mix, labels=2)),
        "Puzzle Mix (mask only)": replace(puzzle, mix=replace(puzzle.mix, transport=None, transport_block=None)),
    }


_CIFAR100 = {
    **_baselines("bce", mixup=1.0, manifold=2.0, cutmix=1.0),
    **_variants(PuzzleSettings("bce", mix=PuzzleMixConfig(transport_block=4)), Adversarial(prob=0.1)),
}
_TINY_PUZZLE = PuzzleSettings("bce", clean_weight=1.0)
_IMAGENET_PUZZLE = PuzzleSettings(mix=PuzzleMixConfig(beta=1.5, neighbours=2))
_SGD = OptimiserConfig(momentum=0.9, nesterov=True, weight_decay=1e-4)

CIFAR100_WRN = Protocol(
    TrainConfig(
        data=DataConfig("cifar100"),
        model=ModelConfig("wrn28_10"),
        schedule=_step(0.1, 200, 300),
        loop=LoopConfig(epochs=400, batch_size=100),
        optimiser=_SGD,
    ),
    _CIFAR100,
    half=(200, _step(0.2, 120, 170)),
)

CIFAR100_PREACT = Protocol(
    TrainConfig(
        data=DataConfig("cifar100"),
        model=ModelConfig("preact_resnet18"),
        schedule=_step(0.1, 400, 800),
        loop=LoopConfig(epochs=1200, batch_size=100),
        optimiser=_SGD,
    ),
    _CIFAR100,
    half=(600, _step(0.2, 350, 500)),
)

TINY_IMAGENET = Protocol(
    TrainConfig(
        data=DataConfig("tiny_imagenet"),
        model=ModelConfig("preact_resnet18", stride=2),
        schedule=_step(0.2, 600, 900),
        loop=LoopConfig(epochs=1200, batch_size=100, fgsm_255=4.0),
        optimiser=_SGD,
    ),
    {
        **_baselines("bce", mixup=0.2, manifold=0.2, cutmix=0.2),
        **_variants(_TINY_PUZZLE, Adversarial(prob=0.15)),
    },
    half=(600, _step(0.2, 300, 450)),
)

IMAGENET_100 = Protocol(
    TrainConfig(
        data=DataConfig("imagenet"),
        model=ModelConfig("resnet50", zero_last_gain=True, head_std=0.01),
        schedule=ScheduleConfig("linear"),
        loop=LoopConfig(epochs=100, batch_size=448, phases=(Phase(0, 128, 1024), Phase(15, 224, 448, crop=0.087))),
        optimiser=replace(_SGD, nesterov=False, norm_decay=False),
    ),
    {
        **_baselines("cross_entropy", mixup=0.2, manifold=0.2, cutmix=1.0),
        "Puzzle Mix": replace(_IMAGENET_PUZZLE, clean_weight=1.0, clean_until_epoch=40),
    },
)

IMAGENET_300 = Protocol(
    TrainConfig(
        data=DataConfig("imagenet_colour"),
        model=ModelConfig("resnet50"),
        schedule=_step(0.1, 75, 150, 225),
        loop=LoopConfig(epochs=300, batch_size=256),
        optimiser=_SGD,
    ),
    {**_baselines("cross_entropy", mixup=0.2, manifold=0.2, cutmix=1.0), "Puzzle Mix": _IMAGENET_PUZZLE},
)


def _rows(protocol: Protocol, table: PublishedTable) -> Table:
    """A table whose rows are all within one protocol."""
    return Table(table, {row: partial(protocol.run, row) for row in table.rows})


def _probability(p: float) -> TrainConfig:
    """Tiny-ImageNet with this share of adversarial images: half runs, as the row p = 0.15 tells."""
    half = TINY_IMAGENET.run("Puzzle Mix (half)")
    return replace(half, settings=replace(_TINY_PUZZLE, adversarial=Adversarial(prob=p)))


def _with_mix(config: TrainConfig, **changes: Any) -> TrainConfig:
    """A run of Puzzle Mix with another objective or solver."""
    settings = config.settings
    assert isinstance(settings, PuzzleSettings)
    return replace(config, settings=replace(settings, mix=replace(settings.mix, **changes)))


def _coefficient(name: str, value: float) -> TrainConfig:
    """CIFAR-100 with one coefficient of the objective changed."""
    return _with_mix(CIFAR100_WRN.run("Puzzle Mix"), **{name: value})


def _plan(transport: str) -> TrainConfig:
    """CIFAR-100 with Algorithm 1's plan or the exact one."""
    return _with_mix(CIFAR100_WRN.run("Puzzle Mix"), transport=transport)


def _sweep(name: str) -> Table:
    """The runs of one coefficient; the paper gives their mean and deviation only."""
    sweep = published.SWEEPS[name]
    table = PublishedTable(f"Table 10: {name}, CIFAR-100, WRN-28-10", ("top1",), {})
    recipes = {f"{name} = {value:g}": partial(_coefficient, name, value) for value in sweep.values}
    return Table(table, recipes, sweep=sweep)


MINI_EPOCHS = 40


def mini(config: TrainConfig, data: str) -> TrainConfig:
    """The same method on small images (a set of ours or a path), for two CPU cores: a narrow network, 40 epochs."""
    assert config.settings is not None
    return replace(
        config,
        data=DataConfig(data),
        model=ModelConfig("preact_resnet18", width=16, final_norm=True),
        schedule=ScheduleConfig("one_cycle", 0.2),
        loop=LoopConfig(epochs=MINI_EPOCHS // 2 if _is_half(config) else MINI_EPOCHS, batch_size=100),
        optimiser=replace(_SGD, weight_decay=5e-4),
        settings=replace(config.settings, loss="cross_entropy"),
    )


def on_data(config: TrainConfig, data: str) -> TrainConfig:
    """The same run on another data set, a set of ours or a path."""
    return replace(config, data=DataConfig(data))


def _is_half(config: TrainConfig) -> bool:
    """Whether this is one of the runs with half the epochs of its protocol."""
    halves = [protocol.half for protocol in (CIFAR100_WRN, CIFAR100_PREACT, TINY_IMAGENET) if protocol.half]
    return (config.loop.epochs, config.schedule) in halves


# What may be saved of Puzzle Mix's passes.
_CHEAPER: Mapping[str, Mapping[str, Any]] = {
    "Puzzle Mix (p = 0.5)": {"prob": 0.5},
    "Puzzle Mix (refresh 4)": {"refresh": 4},
}

# The time of a step over a vanilla one's. A test holds them to what benchmarks/train.py measures (records/train.json).
COSTS: Mapping[str, float] = {
    "Vanilla": 1.0,
    "Input": 1.0,
    "Manifold": 1.0,
    "CutMix": 1.0,
    "AugMix": 4.5,
    "Puzzle Mix": 1.7,
    "Puzzle Mix (adv)": 1.7,
    "Puzzle Mix (aug)": 1.7,
    "Puzzle Mix (binary)": 1.7,
    "Puzzle Mix (mask only)": 1.7,
    "Puzzle Mix (p = 0.5)": 1.4,
    "Puzzle Mix (refresh 4)": 1.2,
}


def _small(row: str, lengthened: float = 1) -> TrainConfig:
    """A row of the small tables, for so many times its epochs."""
    config = CIFAR100_PREACT.run("Puzzle Mix" if row in _CHEAPER else row)
    if row in _CHEAPER:
        assert isinstance(config.settings, PuzzleSettings)
        config = replace(config, settings=replace(config.settings, **_CHEAPER[row]))
    config = mini(config, "cifar10")
    return replace(config, loop=replace(config.loop, epochs=round(config.loop.epochs * lengthened)))


def _small_table(title: str, rows: Mapping[str, float]) -> Table:
    """Methods on one small set, each for so many times the epochs of the small scale.

    Their clean error is that of the final weights: the last epochs of a short cycle are no plateau to take a median of.
    """
    recipes = {row: partial(_small, row, lengthened) for row, lengthened in rows.items()}
    return Table(PublishedTable(title, ("final_top1", "fgsm", "pgd", "corruption"), {}), recipes, small=True)


_SMALL_ROWS = (
    *(row for row in _CIFAR100 if row not in ("Puzzle Mix (fgsm)", "Puzzle Mix (one draw)")),
    "Puzzle Mix (half)",
    *_CHEAPER,
)
_LONG_ROWS = ("Vanilla", "Input", "Manifold", "CutMix", "Puzzle Mix")


TABLES: dict[str, Table] = {
    "mini": _small_table("All methods, small", dict.fromkeys(_SMALL_ROWS, 1)),
    # as many epochs as there is time for while vanilla has its own
    "mini-time": _small_table("All methods, small, in equal time", {row: 1 / cost for row, cost in COSTS.items()}),
    "mini-long": _small_table("The plain mixes, small, four times as long", dict.fromkeys(_LONG_ROWS, 4)),
    "table2": _rows(CIFAR100_WRN, published.CIFAR100_WRN),
    "table3": _rows(CIFAR100_PREACT, published.CIFAR100_PREACT),
    "table4": _rows(TINY_IMAGENET, published.TINY_IMAGENET),
    "table5": _rows(IMAGENET_100, published.IMAGENET_100),
    "table6": _rows(IMAGENET_300, published.IMAGENET_300),
    "table7": _rows(CIFAR100_WRN, published.CORRUPTION),
    "table8": _rows(CIFAR100_WRN, published.COMPONENTS),
    "table9": _rows(CIFAR100_WRN, published.ADVERSARIAL),
    **{f"sweep-{name}": _sweep(name) for name in published.SWEEPS},
    "sweep-p": Table(
        published.ADVERSARIAL_PROBABILITY,
        {row: partial(_probability, float(row.removeprefix("p = "))) for row in published.ADVERSARIAL_PROBABILITY.rows},
    ),
    "plans": Table(
        PublishedTable("Exact plan against Algorithm 1 (Supplementary B.1)", ("top1",), {}),
        {"Algorithm 1": partial(_plan, "paper"), "Exact plan": partial(_plan, "exact")},
        paired=published.EXACT_PLAN,
    ),
}

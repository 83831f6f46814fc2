"""`puzzlemix reproduce`: the paper's tables and figures, with a column of one's own."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ..experiments.figures import FIGURES, Source, make
from ..experiments.filled import filled
from ..experiments.recipes import TABLES, mini, on_data
from ..experiments.run import Places, Planned, missing, passes, plan
from ..training.codec import nearest
from ..training.config import MachineConfig, TrainConfig
from .flags import Names, add_flags, changed, flags_of, read_flags
from .parser import Parser, UsageError
from .tables import aligned

_IMAGES = {
    "cifar10": 50_000,
    "cifar100": 50_000,
    "tiny_imagenet": 100_000,
    "imagenet": 1_281_167,
    "imagenet_colour": 1_281_167,
}
_ABOUT = """\
Fill a table of the paper: train what is missing, go on where a run was cut off, and print the paper's errors and ours.
Or draw a figure of it, with its numbers beside it.

A run that has a record is not done again; a run that stands in several tables is done once. --scale mini trains a
narrow network for 40 epochs on small images instead. Figures look at the test images of a finished run through its
network: --network names its folder; figure-pgd at all finished runs of a --table."""
_EXAMPLES = """
puzzlemix reproduce --list                           all tables, and what they cost
puzzlemix reproduce table2 --root data --download    WRN-28-10 on CIFAR-100, as in the paper
puzzlemix reproduce table2 --show                    the table as far as it is
puzzlemix reproduce mini --data cifar10 --seeds 3    all methods, small
puzzlemix reproduce table3 --launcher ray --gpus 1   one run per GPU of a Ray cluster
puzzlemix reproduce table3 --launcher slurm > job.sh
puzzlemix reproduce figure-curves --network runs/RUN
puzzlemix reproduce figure-pgd --table mini --data cifar10 --seeds 3
"""


def run(arguments: list[str]) -> int:
    """Do what is missing of a table and print it."""
    asked, machine = _read(arguments)
    if asked.list:
        sys.stdout.write(_listing() + "\n")
        return 0
    if asked.name in FIGURES:
        return _draw(asked, machine)
    table, places = TABLES[asked.name], Places(asked.runs, asked.records)
    planned = plan(table, asked.seeds, _scale(asked, asked.name), machine)
    if asked.launcher == "slurm" and asked.only is None:
        return _write_script(arguments, planned, places)
    if not asked.show:
        code = _complete(asked, planned, places)
        if code:
            return code
    if asked.only is None:
        sys.stdout.write(filled(table, planned, places))
    return 0


def _read(arguments: list[str]) -> tuple[argparse.Namespace, MachineConfig]:
    flags = list(flags_of(MachineConfig(), Names()))
    parser = _parser()
    add_flags(parser, "machine", flags)
    asked = parser.read(arguments)
    known = (*TABLES, *FIGURES)
    if not asked.list and not asked.name:
        raise UsageError(f"say what: {', '.join(known)}")
    if not asked.list and asked.name not in known:
        raise UsageError(f"there is no {asked.name!r}: {nearest(asked.name, known)}")
    if asked.name == "figure-pgd" and asked.network is not None:
        raise UsageError("figure-pgd looks at all finished runs of --table: leave out --network")
    if asked.seeds < 1:
        raise UsageError(f"--seeds {asked.seeds}: pass at least 1")
    try:
        return asked, changed(MachineConfig(), read_flags(asked, flags))
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error


def _parser() -> Parser:
    parser = Parser("reproduce", _ABOUT, _EXAMPLES)
    add = parser.add_argument
    add("name", nargs="?", default="", metavar="NAME", help=", ".join((*TABLES, *FIGURES)))
    add("--list", action="store_true", help="all tables, and what they cost")
    add("--show", action="store_true", help="train nothing: the table as far as it is")
    add(
        "--scale",
        choices=("paper", "mini"),
        help="the paper's protocol, or a small one (paper; mini, mini-time and mini-long are small in themselves)",
    )
    add("--data", metavar="NAME", help="with --scale mini: a data set's name or path (cifar10)")
    add("--seeds", type=int, default=1, metavar="N", help="runs of each row, seeds 0, 1, ... (1)")
    add("--runs", type=Path, default=Places.runs, metavar="FOLDER", help="where runs lie (runs)")
    add("--records", type=Path, default=Places.records, metavar="FOLDER", help="where records lie (records/runs)")
    add("--only", type=int, metavar="N", help="just this one of all runs, from 0 on, and no table")
    add("--launcher", choices=("here", "ray", "slurm"), default="here", help="who does the runs (here)")
    add("--cpus", type=float, default=1, metavar="X", help="with ray: CPUs of a run (1)")
    add("--gpus", type=float, default=0, metavar="X", help="with ray: GPUs of a run (0)")
    group = parser.add_argument_group("figures")
    group.add_argument("--network", type=Path, metavar="RUN", help="the folder of a finished run")
    group.add_argument("--table", choices=tuple(TABLES), default="mini", metavar="NAME", help="whose runs (mini)")
    group.add_argument("--pairs", type=int, default=1000, metavar="N", help="how many pairs are measured (1000)")
    group.add_argument("--trials", type=int, default=100, metavar="N", help="random costs of each size (100)")
    group.add_argument("--out", type=Path, default=Path("figures"), metavar="FOLDER", help="where it goes (figures)")
    return parser


def _draw(asked: argparse.Namespace, machine: MachineConfig) -> int:
    networks = _finished(asked, machine) if asked.name == "figure-pgd" else {}
    source = Source(asked.network, machine, asked.pairs, asked.trials, networks=networks)
    for path in make(asked.name, source, asked.out):
        sys.stdout.write(f"{path}\n")
    return 0


def _finished(asked: argparse.Namespace, machine: MachineConfig) -> dict[str, list[Path]]:
    """The folders of a table's finished runs, by row."""
    found: dict[str, list[Path]] = {}
    for run in plan(TABLES[asked.table], asked.seeds, _scale(asked, asked.table), machine):
        folder = run.folder(Places(asked.runs))
        if (folder / "weights.safetensors").exists():
            found.setdefault(run.row, []).append(folder)
    return found


def _scale(asked: argparse.Namespace, name: str):
    if TABLES[name].small:
        if asked.scale == "paper":
            raise UsageError(f"--scale paper: {name} is small in itself, and not in the paper")
        return partial(on_data, data=asked.data or "cifar10")
    if asked.scale == "mini":
        return partial(mini, data=asked.data or "cifar10")
    if asked.data is not None:
        raise UsageError(f"--data {asked.data}: the paper's protocol has its own data set; add --scale mini")
    return _as_it_is


def _as_it_is(config: TrainConfig) -> TrainConfig:
    return config


def _complete(asked: argparse.Namespace, planned: Sequence[Planned], places: Places) -> int:
    from ..experiments.launch import here, on_ray
    from ..training.stopping import Stopped

    if asked.only is not None and not 0 <= asked.only < len(planned):
        raise UsageError(f"--only {asked.only}: there are {len(planned)} runs, numbered from 0")
    chosen = planned if asked.only is None else [planned[asked.only]]
    launch = partial(on_ray, cpus=asked.cpus, gpus=asked.gpus) if asked.launcher == "ray" else here
    try:
        launch(list(missing(chosen, places)), places, _say)
    except Stopped as stopped:
        _say(f"{stopped}; the same command goes on")
        return stopped.exit_code
    return 0


def _write_script(arguments: Sequence[str], planned: Sequence[Planned], places: Places) -> int:
    from ..experiments.launch import slurm_script

    command = ["puzzlemix", "reproduce", *arguments]
    sys.stdout.write(slurm_script(len(planned), command, places))
    return 0


def _listing() -> str:
    rows = [("", "runs", "image passes")]
    for name, table in TABLES.items():
        cost = _cost([recipe() for recipe in table.recipes.values()])
        rows.append((f"{name:12} {table.published.title}", str(len(table.recipes)), f"{cost:,.0f} million"))
    figures = [f"{name:18} {figure.title}" for name, figure in FIGURES.items()]
    return "\n".join([aligned(rows), "", *figures])


def _cost(configs: Sequence[TrainConfig]) -> float:
    return sum(passes(config, _IMAGES[config.data.name]) for config in configs)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")

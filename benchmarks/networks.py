"""What the benchmarks share that look at test images through the network of a finished run."""

import argparse
from pathlib import Path

from puzzlemix.training.config import TrainConfig


def network_of(run: Path) -> dict[str, str | int]:
    """Which images a network looks at, what it is, and how long it was trained."""
    config = TrainConfig.load(run)
    return {"data": Path(config.data.name).stem, "model": config.model.name, "epochs": config.loop.epochs}


def read_options(name: str, description: str, arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line: --network, --pairs (few with --quick) and --record."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--network", type=Path, metavar="RUN", required=True, help="the folder of a finished run")
    parser.add_argument("--pairs", type=int, default=1000, metavar="N", help="how many pairs are mixed (1000)")
    parser.add_argument("--quick", action="store_true", help="measure so little that the numbers mean nothing")
    parser.add_argument("--record", action="store_true", help=f"write records/{name}.json")
    options = parser.parse_args(arguments)
    if options.record and options.quick:
        parser.error("a record is measured with care: leave out --quick")
    if options.quick:
        options.pairs = 4
    return options

"""`puzzlemix bench`: how fast mixing and training are on this machine."""

import sys
from collections.abc import Iterator, Mapping

from ..bench.timing import QUICK, Effort, Times
from ..training.codec import nearest
from ..training.config import TrainConfig
from .flags import read_flags
from .parser import Parser, UsageError
from .planning import add_settings, base_config, check_names, laid_over
from .tables import aligned

PARTS = {
    "mix": "Puzzle Mix from saliency maps on, 100 images of 32 x 32",
    "steps": "a training step by method",
    "loop": "a vanilla step of the training loop beside a bare hand-written one, and what reading images takes of it",
}
_ABOUT = "Measure mixing and training steps side by side; times are the best and the median of several rounds."
_EXAMPLES = """
puzzlemix bench                                      everything, on the small default network
puzzlemix bench mix                                  mixing alone
puzzlemix bench steps --model preact_resnet18 --precision bf16 --device cuda
puzzlemix bench --quick                              one round only
"""


def run(arguments: list[str]) -> int:
    """Measure and print, part after part."""
    parser = Parser("bench", _ABOUT, _EXAMPLES)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)} (default: all)")
    parser.add_argument("--quick", action="store_true", help="one round only: whether it runs, rather than how fast")
    try:
        config = base_config(arguments)
        flags = add_settings(parser, config, ("data", "model", "loop", "machine"))
        asked = parser.read(arguments)
        config = laid_over(config, read_flags(asked, flags))
        check_names(config)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    for part in asked.parts:
        if part not in PARTS:
            raise UsageError(f"there is no part {part!r}: {nearest(part, PARTS)}")
    for part in asked.parts or PARTS:
        times = _measured(part, config, QUICK if asked.quick else Effort())
        sys.stdout.write(f"{PARTS[part]}\n{aligned(list(_rows(times)))}\n\n")
        sys.stdout.flush()
    return 0


def _measured(part: str, config: TrainConfig, effort: Effort) -> dict[str, Times]:
    if part == "mix":
        from ..bench.mixing import mix_times
        from ..training.processes import find_device

        return mix_times(effort, device=find_device(config.machine))
    from ..bench.steps import loop_times, step_times

    return (step_times if part == "steps" else loop_times)(config, effort)


def _rows(times: Mapping[str, Times]) -> Iterator[tuple[str, ...]]:
    """Times in milliseconds, and how they compare to the first one's."""
    base = next(iter(times))
    yield "", "best", "median", f"x {base}"
    for name, time in times.items():
        yield name, f"{1e3 * time.best:.2f} ms", f"{1e3 * time.median:.2f} ms", f"{time.best / times[base].best:.2f}"

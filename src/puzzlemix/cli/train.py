"""`puzzlemix train`: train, and show what came of it."""

import os
import sys
from pathlib import Path

from .planning import Plan, read_plan
from .results import Finished, beside, read_finished, table

CURVE, SAMPLES = "curve.png", "samples.png"
_FILES = {
    "config.json": "settings",
    "result.json": "results",
    "metrics.jsonl": "metrics of every epoch",
    "tensorboard": "the same for tensorboard --logdir",
    "weights.safetensors": "weights",
    CURVE: "curve",
    SAMPLES: "what the network was shown",
}


def run(arguments: list[str]) -> int:
    """Train, or show again what a finished run came to."""
    plan = read_plan(arguments)
    if _is_finished(plan):
        _say(f"{plan.folder} holds this run, finished: its results again (--out FOLDER repeats it elsewhere)")
    elif code := _train(plan):
        return code
    if _is_first():
        _show(plan.folder)
    return 0


def _is_finished(plan: Plan) -> bool:
    found = read_finished(plan.folder)
    return found is not None and found.config.fingerprint() == plan.config.fingerprint()


def _train(plan: Plan) -> int:
    from ..training.loop import train
    from ..training.stopping import Stopped

    try:
        train(plan.config, plan.folder)
    except Stopped as stopped:
        _say(f"{stopped}; all is saved in {plan.folder}: the same command goes on")
        return stopped.exit_code
    return 0


def _is_first() -> bool:
    """Whether this is the one process of the run that speaks."""
    return all(os.environ.get(name, "0") == "0" for name in ("RANK", "LOCAL_RANK", "SLURM_PROCID"))


def _show(folder: Path) -> None:
    """Draw the pictures and print the table, other methods beside, and where everything lies."""
    finished = read_finished(folder)
    assert finished is not None
    runs = beside(finished)
    _draw(runs)
    sys.stdout.write(f"\n{table(runs)}\n\n{_whereabouts(folder)}\n")


def _draw(runs: list[Finished]) -> None:
    """Draw the curve, with the other methods' beside it, and the samples; without matplotlib a word must do."""
    from .pictures import draw_run_curve, draw_run_samples

    run = runs[0]
    try:
        draw_run_curve(runs, run.folder / CURVE)
        if not (run.folder / SAMPLES).exists():
            draw_run_samples(run, run.folder / SAMPLES)
    except ImportError as error:
        _say(f"no pictures: {error}")


def _whereabouts(folder: Path) -> str:
    """Where everything lies, and what to do next."""
    there = [(folder / name, what) for name, what in _FILES.items() if (folder / name).exists()]
    width = max(len(str(path)) for path, _ in there)
    return "\n".join(f"{path!s:{width}}  {what}" for path, what in there)


def _say(text: str) -> None:
    """Tell whoever watches; one process is enough."""
    if _is_first():
        sys.stderr.write(text + "\n")

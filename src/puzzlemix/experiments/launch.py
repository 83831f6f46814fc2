"""Where runs are done: here one after the other, as tasks of a Ray cluster, or as an array job of SLURM."""

import importlib
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from .perform import perform
from .run import Places, Planned


def here(runs: Sequence[Planned], places: Places, told: Callable[[str], None]) -> None:
    """One after the other in this process."""
    for number, run in enumerate(runs, 1):
        told(f"run {number} of {len(runs)}: {run.row}, seed {run.config.seed}, in {run.folder(places)}")
        perform(run, places)


def on_ray(
    runs: Sequence[Planned], places: Places, told: Callable[[str], None], *, cpus: float = 1, gpus: float = 0
) -> None:
    """As many at once as the cluster has room for; each task holds these shares of CPUs and GPUs.

    Folders must be ones that all machines share. A task that fails does not stop the others: the first error comes at
    the end.
    """
    ray = _ray()
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    # the folders of this process, wherever a worker starts
    places = Places(places.runs.absolute(), places.records.absolute())
    task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=3)(perform)
    waiting = {task.remote(run, places): run for run in runs}
    failed: list[Exception] = []
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        run = waiting.pop(done)
        try:
            ray.get(done)
            told(f"done: {run.row}, seed {run.config.seed}; {len(waiting)} to go")
        except Exception as error:  # whatever a task raised, the others go on
            failed.append(error)
            told(f"failed: {run.row}, seed {run.config.seed}: {error}")
    if failed:
        raise RuntimeError(f"{len(failed)} of {len(runs)} runs failed; the same command does them again") from failed[0]


def slurm_script(runs: int, command: Sequence[str], places: Places) -> str:
    """An array job with a task per run; a task that is cut off is put back into the queue and goes on."""
    lines = [
        "#!/usr/bin/env bash",
        f"#SBATCH --array=0-{runs - 1}",
        "#SBATCH --job-name=puzzlemix",
        f"#SBATCH --output={places.runs}/slurm-%A-%a.log",
        "#SBATCH --gpus=1",
        "#SBATCH --cpus-per-task=8",
        "#SBATCH --time=24:00:00",
        "#SBATCH --requeue",
        "#SBATCH --signal=TERM@120",
        "set -uo pipefail",
        f"{shlex.join(command)} --only $SLURM_ARRAY_TASK_ID",
        "code=$?",
        'if [ "$code" -eq 143 ]; then scontrol requeue "$SLURM_JOB_ID"; exit 0; fi',
        "exit $code",
    ]
    return "\n".join(lines) + "\n"


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError(f'--launcher ray needs Ray ({error}): pip install "puzzlemix[cluster]"') from error

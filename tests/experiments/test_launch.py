import subprocess

import pytest

from puzzlemix.experiments import launch
from puzzlemix.experiments.run import missing


def test_runs_are_done_one_after_the_other(planned, places, monkeypatch):
    done, told = [], []
    monkeypatch.setattr(launch, "perform", lambda run, places: done.append(run))
    launch.here(planned, places, told.append)
    assert done == planned
    assert told[0].startswith("run 1 of 2: Vanilla, seed 0")


def test_a_slurm_script_is_one_task_per_run(places):
    script = launch.slurm_script(6, ["puzzlemix", "reproduce", "table 2"], places)
    assert "#SBATCH --array=0-5" in script
    assert "puzzlemix reproduce 'table 2' --only $SLURM_ARRAY_TASK_ID" in script
    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def test_ray_does_two_runs(planned, places):
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        launch.on_ray(planned, places, lambda text: None, cpus=1)
    finally:
        ray.shutdown()
    assert not list(missing(planned, places))

"""Several processes: they learn as one would, say the same, draw their own, stop together and fail together."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from puzzlemix.evaluation.accuracy import evaluate
from puzzlemix.methods import PuzzleSettings
from puzzlemix.models import build_model, load_weights
from puzzlemix.training.feed import Feed
from puzzlemix.training.processes import Count, count_processes, find_device, start

RUN = {
    "method": "puzzle",
    "settings": PuzzleSettings(refresh=2),
    "ema": 0.9,
    "epochs": 5,
    "train_images": 48,
    "timeout": 300.0,
}
STEPS = 20
STRATEGIES = ("ddp", "fsdp")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One for each strategy: its run is made by the first test that asks."""
    return {strategy: tmp_path_factory.mktemp(strategy) for strategy in STRATEGIES}


@pytest.fixture(params=STRATEGIES)
def run_of_two(request, folders, warm, tiny):
    """A finished run of two processes: its config and its folder."""
    config, folder = tiny(**RUN, strategy=request.param), folders[request.param]
    if not (folder / "result.json").exists():
        codes = warm.wait_all(warm.start_team(config, folder, job="listened"))
        assert codes == [0, 0], (folder / "rank0.log").read_text()
    return config, folder


def seen_by(folder, rank):
    return torch.load(folder / f"rank{rank}.pt", weights_only=True)


def assert_equal(ours, theirs, **tolerance):
    assert ours.keys() == theirs.keys()
    for name, tensor in ours.items():
        torch.testing.assert_close(tensor, theirs[name], **(tolerance or {"rtol": 0, "atol": 0}))


# ---- learning together ---------------------------------------------------------------------------------------------

LESSONS = {
    "vanilla": {},
    "puzzle": {"method": "puzzle"},
    "clean term": {"method": "puzzle", "settings": PuzzleSettings(clean_weight=0.7)},
    "in parts": {"method": "puzzle", "settings": PuzzleSettings(clean_weight=0.7), "accumulate": 2},
}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("lesson", LESSONS)
def test_two_processes_take_the_step_of_one_with_both_batches(warm, tiny, tmp_path, lesson, strategy):
    config = tiny(**LESSONS[lesson], strategy=strategy)
    alone = tiny(**LESSONS[lesson] | ({"accumulate": 4} if "accumulate" in LESSONS[lesson] else {}))
    (tmp_path / "one").mkdir()
    assert warm.wait(warm.start(alone, tmp_path / "one", job="gradients")) == 0
    codes = warm.wait_all(warm.start_team(config, tmp_path / "two", job="gradients"))
    assert codes == [0, 0], (tmp_path / "two" / "rank0.log").read_text()
    expected = seen_by(tmp_path / "one", 0)
    for rank in range(2):
        found = seen_by(tmp_path / "two", rank)
        assert_equal(found["weights"], expected["weights"], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(found["sums"], expected["sums"])
        # gradients travel once a step: not for the saliency pass, its clean term or the first parts
        assert found["travels"] == (1 if strategy == "ddp" else 0)


def test_all_end_with_the_same_weights(run_of_two, weights_of):
    _, folder = run_of_two
    first, second = (seen_by(folder, rank) for rank in range(2))
    for kind in ("model", "ema"):
        assert_equal(first[kind], second[kind])
    written = weights_of(folder)["weights.safetensors"]
    assert_equal({f"model.{name}": tensor for name, tensor in written.items()}, first["model"])


def test_each_draws_its_own_and_learns_from_its_own(run_of_two):
    config, folder = run_of_two
    first, second = (seen_by(folder, rank) for rank in range(2))
    assert len(first["lams"]) == len(second["lams"]) == STEPS
    assert all(one != other for one, other in zip(first["lams"], second["lams"], strict=True))
    batches = [page.samples for page in Feed(config).train(0)]
    for batch, one, other in zip(batches, first["samples"], second["samples"], strict=False):
        assert torch.equal(torch.cat([one, other]), batch)


def test_every_test_image_counts_once(run_of_two):
    config, folder = run_of_two
    feed = Feed(config)
    model = build_model("preact_resnet18", 10, mean=feed.spec.mean, std=feed.spec.std, **config.model.options)
    load_weights(model, folder / "weights.safetensors")
    found = evaluate(model, feed.test())
    errors = json.loads((folder / "result.json").read_text())["errors"]
    assert errors["top1"] == pytest.approx(1 - found.top1)
    assert errors["top5"] == pytest.approx(1 - found.top5)
    assert errors["loss"] == pytest.approx(found.loss, rel=1e-4)


def test_spread_weights_learn_what_whole_ones_do(folders, warm, tiny, weights_of):
    for strategy in STRATEGIES:
        if not (folders[strategy] / "result.json").exists():
            warm.wait_all(warm.start_team(tiny(**RUN, strategy=strategy), folders[strategy], job="listened"))
    ddp, fsdp = (weights_of(folders[strategy]) for strategy in STRATEGIES)
    for file in ddp:
        assert_equal(ddp[file], fsdp[file], rtol=1e-3, atol=1e-4)


# ---- stopping, going on, failing -----------------------------------------------------------------------------------


def steps_done(folder):
    path = folder / "metrics.jsonl"
    return path.read_bytes().count(b'"event": "step"') if path.exists() else 0


def stop_last_at(warm, pids, folder, step):
    """SIGTERM to the last process alone, once this many steps are done; the exit codes."""
    end = time.monotonic() + 200
    while steps_done(folder) < step:
        assert time.monotonic() < end
        time.sleep(0.002)
    os.kill(pids[-1], signal.SIGTERM)
    return warm.wait_all(pids)


def test_told_to_stop_all_stop_and_go_on_together(run_of_two, warm, tmp_path, weights_of):
    config, whole = run_of_two
    pids = warm.start_team(config, tmp_path)
    assert stop_last_at(warm, pids, tmp_path, 3) == [143, 143], (tmp_path / "rank0.log").read_text()
    assert steps_done(tmp_path) < STEPS
    assert warm.wait_all(warm.start_team(config, tmp_path)) == [0, 0], (tmp_path / "rank0.log").read_text()
    ours, theirs = weights_of(tmp_path), weights_of(whole)
    for file in theirs:
        assert_equal(ours[file], theirs[file])


def test_a_run_can_go_on_with_more_or_fewer_processes(warm, tiny, tmp_path):
    config = tiny(**RUN)
    pids = warm.start_team(config, tmp_path)
    assert stop_last_at(warm, pids, tmp_path, 2) == [143, 143]
    alone = warm.start(config, tmp_path, output=tmp_path / "alone.log")
    assert stop_last_at(warm, [alone], tmp_path, 6) == [143]
    words = "was written by 2 process(es), and now there are 1"
    assert words in (tmp_path / "alone.log").read_text()
    sharded = replace(config, machine=replace(config.machine, strategy="fsdp"))
    assert warm.wait_all(warm.start_team(sharded, tmp_path)) == [0, 0], (tmp_path / "rank0.log").read_text()
    assert "was written by 1 process(es), and now there are 2" in (tmp_path / "rank0.log").read_text()
    assert "will not end with the same bits" in (tmp_path / "rank0.log").read_text()
    assert steps_done(tmp_path) == STEPS


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_where_one_dies_the_other_does_not_wait(warm, tiny, tmp_path, strategy):
    start_time = time.monotonic()
    pids = warm.start_team(tiny(**RUN, strategy=strategy), tmp_path, job="dying")
    assert warm.wait_all(pids) == [1, 1]
    assert time.monotonic() - start_time < 200
    assert "the second process has had enough" in (tmp_path / "rank1.log").read_text()


def test_torchrun_ends_with_the_error_of_the_one_that_died(tiny, tmp_path):
    script = "import sys; sys.path.insert(0, {!r}); import jobs; from puzzlemix.training.config import TrainConfig; "
    script += "jobs.dying(TrainConfig.load({!r}), {!r})"
    (tmp_path / "run").mkdir()
    (tmp_path / "config.json").write_text(tiny(**RUN).to_json())
    program = tmp_path / "program.py"
    program.write_text(script.format(str(Path(__file__).parent), str(tmp_path / "config.json"), str(tmp_path / "run")))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=500, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode not in (0, None)
    assert "RuntimeError: the second process has had enough" in done.stderr
    assert "in 2 processes (ddp)" in done.stderr


def test_an_error_of_the_first_is_everybodys(warm, tiny, tmp_path):
    (tmp_path / "checkpoints").mkdir()
    codes = warm.wait_all(warm.start_team(tiny(**RUN), tmp_path))
    assert codes == [1, 1]
    for rank in range(2):
        assert "holds checkpoints but no config.json" in (tmp_path / f"rank{rank}.log").read_text()


# ---- how many there are --------------------------------------------------------------------------------------------


def slurm(rank, size):
    """What srun tells a process of a single machine."""
    told = {
        "NTASKS": size,
        "NTASKS_PER_NODE": size,
        "PROCID": rank,
        "LOCALID": rank,
        "NODEID": 0,
        "NNODES": 1,
        "STEP_ID": 0,
        "JOB_ID": 123456,
    }
    return {f"SLURM_{name}": str(value) for name, value in told.items()} | {"SLURM_JOB_NAME": "train"}


def test_processes_that_slurm_started_find_each_other(warm, tiny, tmp_path):
    codes = warm.wait_all(warm.start_team(tiny(**{**RUN, "epochs": 1}), tmp_path, environment=slurm))
    assert codes == [0, 0], (tmp_path / "rank0.log").read_text()
    assert "in 2 processes (ddp)" in (tmp_path / "rank0.log").read_text()


@pytest.fixture
def environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("SLURM_", "TORCHELASTIC_")):
            monkeypatch.delenv(name)
    return lambda **values: [monkeypatch.setenv(name, value) for name, value in values.items()]


def test_processes_are_counted_by_who_started_them(environment):
    assert count_processes() == Count(1, 1)
    environment(SLURM_NTASKS="6", SLURM_NNODES="2", SLURM_JOB_NAME="train", SLURM_PROCID="0")
    assert count_processes() == Count(1, 1)  # the batch script itself
    environment(SLURM_STEP_ID="0")
    assert count_processes() == Count(3, 2)
    environment(TORCHELASTIC_RUN_ID="x", LOCAL_WORLD_SIZE="4", WORLD_SIZE="8")
    assert count_processes() == Count(4, 2)


def test_one_process_is_a_team_of_its_own(environment, tiny):
    team = start(tiny().loop, tiny().machine)
    assert team.first
    assert team.agree(3, 0) == [3, 0]
    assert team.gather("x") == ["x"]
    assert team.from_first(lambda: 5) == team.first_goes_ahead(lambda: 5) == 5
    values = torch.ones(2)
    team.average([values])
    assert torch.equal(team.total(values), torch.ones(2))


def test_what_does_not_go_together_is_refused(environment, tiny):
    with pytest.raises(ValueError, match="fp16' does not go with strategy='fsdp'"):
        start(tiny(precision="fp16").loop, tiny(strategy="fsdp").machine)
    if not torch.cuda.is_available():
        assert find_device(tiny(device="auto").machine) in ("cpu", "mps")
        with pytest.raises(ValueError, match="device='cuda': torch finds none here"):
            find_device(tiny(device="cuda").machine)

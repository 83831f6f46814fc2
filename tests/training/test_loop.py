"""Whole runs in this process: what they write, learn and say, and that stopping changes nothing."""

import json
import math
import os
import re
import signal
import warnings
from dataclasses import replace

import pytest
import torch

from puzzlemix import Adversarial
from puzzlemix.data import DataError
from puzzlemix.evaluation.accuracy import evaluate
from puzzlemix.evaluation.attacks import attacked
from puzzlemix.methods import Augment, PuzzleSettings
from puzzlemix.models import build_model, load_weights
from puzzlemix.training.checkpoint import list_checkpoints
from puzzlemix.training.config import ModelConfig
from puzzlemix.training.engine import Engine
from puzzlemix.training.feed import Feed
from puzzlemix.training.loop import train
from puzzlemix.training.schedule import ScheduleConfig, learning_rate
from puzzlemix.training.stopping import Stopped


def lines(folder, event=None):
    found = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [line for line in found if event in (None, line["event"])]


def assert_same(ours, theirs):
    assert ours.keys() == theirs.keys() != set()
    for file, tensors in ours.items():
        assert tensors.keys() == theirs[file].keys()
        assert all(torch.equal(tensor, theirs[file][name]) for name, tensor in tensors.items())


# ---- what a run comes to -------------------------------------------------------------------------------------------


def test_the_outcome_is_that_of_the_weights_that_were_written(tiny, tmp_path, ear):
    config = tiny(ema=0.5)
    outcome = train(config, tmp_path, ear())
    feed = Feed(config)
    for errors, file in ((outcome.errors, "weights.safetensors"), (outcome.ema_errors, "weights-ema.safetensors")):
        model = build_model("preact_resnet18", 10, mean=feed.spec.mean, std=feed.spec.std, **config.model.options)
        load_weights(model, tmp_path / file)
        plain, fooled = evaluate(model, feed.test()), evaluate(model, attacked(model, feed.test(), 8.0))
        assert errors.top1 == pytest.approx(1 - plain.top1)
        assert errors.top5 == pytest.approx(1 - plain.top5)
        assert errors.loss == pytest.approx(plain.loss, rel=1e-4)
        assert errors.fgsm == pytest.approx(1 - fooled.top1)
    written = json.loads((tmp_path / "result.json").read_text())
    assert written == json.loads(json.dumps(outcome.as_dict()))
    assert [epoch["epoch"] for epoch in outcome.history] == [1, 2, 3]


def test_metrics_are_written_step_by_step_and_epoch_by_epoch(tiny, tmp_path, ear):
    schedule = ScheduleConfig(schedule="step", lr=0.1, milestones=(1, 2))
    train(tiny(schedule=schedule, ema=0.9), tmp_path, ear())
    steps, epochs = lines(tmp_path, "step"), lines(tmp_path, "epoch")
    assert [line["step"] for line in steps] == list(range(1, 16))
    rates = [learning_rate(schedule, step / 5, 3) for step in range(15)]
    assert [line["lr"] for line in steps] == rates
    assert rates[4:6] == pytest.approx([0.1, 0.01])
    assert [line["step"] for line in epochs] == [5, 10, 15]
    for line, last in zip(epochs, steps[4::5], strict=True):
        assert line["train_loss"] == last["loss"]
        assert line["train_error"] == last["error"]
        assert line["lr"] == last["lr"]
        assert {"test_loss", "test_error", "test_error5", "ema_error", "seconds", "images_per_second"} <= line.keys()


@pytest.mark.parametrize("name", ["step", "cosine", "one_cycle", "linear"])
def test_every_schedule_reaches_the_optimiser(tiny, tmp_path, ear, monkeypatch, name):
    used = []
    step = Engine.step

    def noted(self, *arguments):
        result = step(self, *arguments)
        used.extend(group["lr"] for group in self.optimiser.param_groups)
        return result

    monkeypatch.setattr(Engine, "step", noted)
    config = tiny(schedule=ScheduleConfig(schedule=name, lr=0.05))
    train(config, tmp_path, ear())
    expected = [learning_rate(config.schedule, step / 5, 3) for step in range(15)]
    assert used == [rate for rate in expected for _ in range(len(used) // 15)]


def test_images_grow_with_the_phases(tiny, tmp_path, ear, monkeypatch):
    seen = []
    step = Engine.step

    def noted(self, batch, *arguments):
        seen.append((batch.epoch, batch.images.shape[-1], len(batch.images)))
        return step(self, batch, *arguments)

    monkeypatch.setattr(Engine, "step", noted)
    train(tiny(phases=((0, 16, 20), (1, 32, 12), (2, 40, 30))), tmp_path, ear())
    assert seen == [(0, 16, 20)] * 3 + [(1, 32, 12)] * 5 + [(2, 40, 30)] * 2


def test_tensorboard_is_written_unless_told_otherwise(tiny, tmp_path, ear):
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    train(tiny(epochs=1, tensorboard=True), tmp_path / "with", ear())
    events = accumulator.EventAccumulator(str(tmp_path / "with" / "tensorboard")).Reload()
    assert [event.step for event in events.Scalars("epoch/test_error")] == [5]
    assert len(events.Scalars("step/loss")) == 5
    train(tiny(epochs=1), tmp_path / "without", ear())
    assert not (tmp_path / "without" / "tensorboard").exists()


@pytest.mark.parametrize("method", ["vanilla", "input_mixup", "manifold_mixup", "cutmix", "augmix", "puzzle"])
def test_every_method_learns(tiny, tmp_path, ear, method):
    config = tiny(method=method, width=4, epochs=10, schedule=ScheduleConfig(lr=0.1))
    history = train(config, tmp_path, ear()).history
    assert history[-1]["train_loss"] < 0.99 * history[0]["train_loss"]


def test_the_seed_decides_and_nothing_around_it(tiny, trained):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = trained(tiny(method="puzzle"), "one")
    assert torch.equal(torch.rand(3), expected)
    assert_same(first, trained(tiny(method="puzzle"), "other"))
    other = trained(tiny(method="puzzle", seed=1), "third")
    assert not torch.equal(first["weights.safetensors"]["linear.weight"], other["weights.safetensors"]["linear.weight"])


# ---- stopping and going on -----------------------------------------------------------------------------------------

REFRESHED = PuzzleSettings(refresh=2)
RUNS = {
    "vanilla": {},
    "puzzle": {"method": "puzzle", "ema": 0.9, "accumulate": 3, "settings": REFRESHED},
    "bf16": {"method": "puzzle", "precision": "bf16", "channels_last": True},
    "fp16": {"method": "cutmix", "precision": "fp16", "ema": 0.9},
    "growing": {"method": "puzzle", "settings": REFRESHED, "phases": ((0, 16, 20), (1, 32, 12), (2, 40, 30))},
    "adversarial": {"method": "puzzle", "settings": PuzzleSettings(adversarial=Adversarial(0.5), clean_weight=1.0)},
    "aug": {"method": "puzzle", "settings": PuzzleSettings(augment=Augment(), prob=0.5)},
    "dropout": {"model": ModelConfig("torchvision:squeezenet1_1"), "train_images": 40},
}


def stopped_at(step, number=signal.SIGTERM):
    return lambda now: os.kill(os.getpid(), number) if now == step else None


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.filterwarnings("ignore:a saliency map is all zero")  # so small a network may be blind to an image
def test_a_run_that_was_stopped_ends_as_one_that_was_not(tiny, trained, ear, tmp_path, run):
    config = tiny(**RUNS[run])
    expected = trained(config, "whole")
    for step in (3, 4, 1):  # within the first epoch, at the end of one, right after the start
        with pytest.raises(Stopped) as stopped:
            trained(config, "parts", ear(stopped_at(step)))
        assert stopped.value.exit_code == 143
        assert len(list_checkpoints(tmp_path / "parts" / "checkpoints")) <= 2
    assert_same(trained(config, "parts"), expected)
    ours, theirs = (
        [{k: v for k, v in line.items() if "second" not in k} for line in lines(tmp_path / name)]
        for name in ("parts", "whole")
    )
    assert ours == theirs


def test_ctrl_c_leaves_a_resumable_run_too(tiny, trained, ear):
    expected, before = trained(tiny(), "whole"), signal.getsignal(signal.SIGINT)
    with pytest.raises(Stopped) as stopped:
        trained(tiny(), "parts", ear(stopped_at(2, signal.SIGINT)))
    assert stopped.value.exit_code == 130
    assert signal.getsignal(signal.SIGINT) is before
    assert_same(trained(tiny(), "parts"), expected)


def test_a_second_ctrl_c_does_not_wait(tiny, trained, ear):
    def impatient(step):
        if step == 2:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    expected = trained(tiny(save_steps=1), "whole")
    with pytest.raises(KeyboardInterrupt):
        trained(tiny(save_steps=1), "parts", ear(impatient))
    assert_same(trained(tiny(save_steps=1), "parts"), expected)


def test_a_finished_run_is_only_judged_again(tiny, trained, ear, tmp_path):
    first = trained(tiny())
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    listener = ear()
    assert_same(trained(tiny(), console=listener), first)
    assert not listener.drawn
    assert json.loads((tmp_path / "run" / "result.json").read_text()) == result


def test_a_damaged_checkpoint_is_passed_over_with_a_word(tiny, trained, ear, tmp_path):
    expected = trained(tiny(), "whole")
    with pytest.raises(Stopped):
        trained(tiny(save_steps=1), "parts", ear(stopped_at(8)))
    older, newest = list_checkpoints(tmp_path / "parts" / "checkpoints")
    newest.write_bytes(newest.read_bytes()[:-1])
    listener = ear()
    assert_same(trained(tiny(), "parts", listener), expected)
    assert any("damaged" in text and newest.name in text for text in listener.heard)
    assert any(f"going on from {older}" in text for text in listener.heard)


def test_checkpoints_of_another_run_or_other_data_are_refused(tiny, trained, tmp_path, monkeypatch):
    trained(tiny(epochs=1), "one")
    trained(tiny(epochs=2), "two")
    newest = list_checkpoints(tmp_path / "two" / "checkpoints")[-1]
    newest.rename(tmp_path / "one" / "checkpoints" / newest.name)
    with pytest.raises(ValueError, match="is another run's: remove it"):
        trained(tiny(epochs=1), "one")
    (tmp_path / "one" / "checkpoints" / newest.name).unlink()
    monkeypatch.setattr("puzzlemix.data.DataSet.fingerprint", lambda self: "changed")
    with pytest.raises(ValueError, match="synthetic has changed since"):
        trained(tiny(epochs=1), "one")


# ---- what is said --------------------------------------------------------------------------------------------------


def test_the_bar_tells_rate_loss_error_and_time_left(tiny, trained, ear):
    listener = ear()
    trained(tiny(), console=listener)
    pattern = r"epoch 2/3 ━+╌+ +40%  \d+ images/s  loss \d\.\d{3}  error \d+\.\d%  \d+:\d\d left"
    assert len(listener.drawn) == 15
    assert re.fullmatch(pattern, listener.drawn[5])


def test_a_run_introduces_itself_and_reports_each_epoch(tiny, trained, ear):
    listener = ear()
    trained(tiny(ema=0.9), console=listener)
    assert re.match(r"vanilla on synthetic \(60 images, 10 classes\), preact_resnet18 \(0\.01 M", listener.heard[0])
    assert "3 epochs of 5 steps, cpu fp32" in listener.heard[0]
    assert re.match(r"epoch 1/3  train loss .* error .*%  test loss .* \(average .*%\)", listener.heard[1])


def test_a_run_that_diverges_says_so(tiny, trained, ear, tmp_path):
    listener = ear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        trained(tiny(schedule=ScheduleConfig(schedule="step", lr=1e20)), console=listener)
    assert any("lower --lr" in text for text in listener.heard)
    assert all(
        line["train_loss"] is None or math.isfinite(line["train_loss"]) for line in lines(tmp_path / "run", "epoch")
    )


def test_a_batch_larger_than_the_set_is_refused(tiny, trained):
    with pytest.raises(ValueError, match="batch_size=61 is more than the 60 training images"):
        trained(tiny(batch_size=61))


def test_where_the_data_are_missing_no_folder_is_made(tiny, tmp_path, ear):
    config = tiny()
    config = replace(config, data=replace(config.data, name=str(tmp_path / "pictures.zip")))
    with pytest.raises(DataError, match="does not exist"):
        train(config, tmp_path / "run", ear())
    assert not (tmp_path / "run").exists()

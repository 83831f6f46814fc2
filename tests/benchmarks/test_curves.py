import json
from dataclasses import replace

import pytest

from puzzlemix.experiments.recipes import CIFAR100_PREACT, mini
from puzzlemix.training.config import DataConfig, MachineConfig
from puzzlemix.training.log import Quiet
from puzzlemix.training.loop import train


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of a second."""
    config = mini(CIFAR100_PREACT.run("Vanilla"), "synthetic")
    config = replace(
        config,
        data=DataConfig("synthetic", train_images=20, test_images=10, size=16),
        loop=replace(config.loop, epochs=1, batch_size=10),
        model=replace(config.model, width=2),
        machine=MachineConfig(device="cpu", tensorboard=False),
    )
    folder = tmp_path_factory.mktemp("run")
    train(config, folder, Quiet())
    return folder


def test_curves_are_measured_recorded_and_shown(run, benchmark_module, monkeypatch, tmp_path, capsys):
    curves, recording = benchmark_module("curves"), benchmark_module("recording")
    monkeypatch.setattr(recording, "RECORDS", tmp_path)
    tables = benchmark_module("tables")
    assert tables.TABLES["curves"]() == ""
    curves.main(["--network", str(run), "--pairs", "6", "--record"])
    printed = capsys.readouterr().out
    content = json.loads((tmp_path / "curves.json").read_text())
    assert content["what"].startswith("6 pairs of test images of synthetic, preact_resnet18 ")
    assert tables.TABLES["curves"]().startswith(printed)
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.splitlines()]
    heads = [line for line in lines if "lambda" in line]
    assert [len(line) for line in heads] == [8, 8, 9, 9, 9]  # features have neither saliency nor variation
    assert len([line for line in lines if line and line[0] == "0.5"]) == 5
    assert lines[4] == ["0", *["1.000"] * 7]


def test_a_record_is_no_quick_one(benchmark_module, run):
    with pytest.raises(SystemExit):
        benchmark_module("curves").main(["--network", str(run), "--quick", "--record"])

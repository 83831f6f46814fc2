import json
from dataclasses import replace

import pytest

from puzzlemix import Adversarial, PuzzleMixConfig
from puzzlemix.methods import METHODS, CutMixSettings, PuzzleSettings
from puzzlemix.training.config import DataConfig, LoopConfig, MachineConfig, ModelConfig, TrainConfig, differences
from puzzlemix.training.schedule import Phase

FULL = TrainConfig(
    method="puzzle",
    data=DataConfig("cifar100", train_images=50),
    model=ModelConfig("wrn28_10", stride=2),
    loop=LoopConfig(epochs=100, phases=((0, 128, 1024), (15, 224, 448, 0.25)), ema=0.999, precision="bf16"),
    machine=MachineConfig(save_seconds=None, device="cpu"),
    settings=PuzzleSettings(grids=(4, (2, 8)), mix=PuzzleMixConfig(labels=2), adversarial=Adversarial(0.1), refresh=4),
    seed=3,
)


@pytest.mark.parametrize("config", [*(TrainConfig(method=name) for name in METHODS), FULL], ids=[*METHODS, "full"])
def test_there_and_back_through_json(config):
    assert TrainConfig.from_json(config.to_json()) == config


def test_what_is_left_out_has_its_default():
    assert TrainConfig.from_json('{"method": "cutmix"}') == TrainConfig(method="cutmix")
    assert TrainConfig.from_json("{}").settings == PuzzleSettings()
    assert FULL.loop.phases == (Phase(0, 128, 1024), Phase(15, 224, 448, crop=0.25))


def test_phases_without_a_crop_are_still_read():
    triples = {"loop": {"phases": [[0, 128, 1024], [15, 224, 448, 1]]}}
    assert TrainConfig.from_json(json.dumps(triples)).loop.phases == (
        Phase(0, 128, 1024, None),
        Phase(15, 224, 448, 1.0),
    )
    with pytest.raises(ValueError, match=r"phases\[0\] is \[0, 128\]: pass a list of 4"):
        TrainConfig.from_json('{"loop": {"phases": [[0, 128]]}}')


def test_only_the_machine_is_not_part_of_what_a_run_is():
    elsewhere = replace(FULL, machine=MachineConfig(root="/elsewhere", workers=0, save_steps=7))
    assert elsewhere.fingerprint() == FULL.fingerprint()
    others = [
        replace(FULL, seed=4),
        replace(FULL, settings=replace(FULL.settings, refresh=5)),
        replace(FULL, loop=replace(FULL.loop, ema=None)),
        replace(FULL, schedule=replace(FULL.schedule, lr=0.1)),
    ]
    assert len({config.fingerprint() for config in (FULL, *others)}) == 5
    assert differences(FULL.essence(), others[0].essence()) == ["seed is 4 there and 3 here"]
    assert differences(FULL.essence(), others[1].essence()) == ["settings.refresh is 5 there and 4 here"]


def test_equal_numbers_of_other_types_are_the_same_run():
    one, other = (TrainConfig.from_json(json.dumps({"schedule": {"lr": lr}})) for lr in (1, 1.0))
    assert one.fingerprint() == other.fingerprint()


def test_folders_are_named_after_the_run():
    name = FULL.folder_name()
    assert name.startswith("cifar100-wrn28_10-puzzle-")
    assert replace(FULL, seed=4).folder_name() != name
    assert replace(FULL, data=DataConfig("/sets/My Set.zip")).folder_name().startswith("My Set-")


def test_only_options_that_were_given_reach_the_model():
    assert ModelConfig(width=8, final_norm=False).options == {"width": 8, "final_norm": False}
    assert ModelConfig().options == {}


def test_a_config_is_loaded_from_its_file_or_folder(tmp_path):
    (tmp_path / "config.json").write_text(FULL.to_json())
    assert TrainConfig.load(tmp_path) == TrainConfig.load(tmp_path / "config.json") == FULL
    with pytest.raises(ValueError, match=r"none.json does not exist: pass the config.json"):
        TrainConfig.load(tmp_path / "none.json")
    (tmp_path / "config.json").write_text('{"seed": -1}')
    with pytest.raises(ValueError, match=r"config.json: seed=-1"):
        TrainConfig.load(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("[]", r"the config is \[\]: pass an object"),
        ('{"method": "cut-mix"}', "did you mean cutmix"),
        ('{"method": 3}', "method is 3: pass a text"),
        ('{"sede": 3}', "sede is no setting: did you mean seed"),
        ('{"loop": {"epoch": 3}}', "loop.epoch is no setting: did you mean epochs"),
        ('{"method": "cutmix", "settings": {"refresh": 3}}', "settings.refresh is no setting"),
        ('{"settings": {"grids": [4, "x"]}}', r"settings.grids\[1\]"),
    ],
)
def test_text_that_is_no_config_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        TrainConfig.from_json(text)


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (TrainConfig, {"method": "puzle"}, "did you mean puzzle"),
        (TrainConfig, {"settings": CutMixSettings()}, "CutMixSettings: puzzle takes PuzzleSettings"),
        (TrainConfig, {"seed": -1}, "seed=-1"),
        (DataConfig, {"train_images": 0}, "train_images=0"),
        (LoopConfig, {"epochs": 0}, "epochs=0"),
        (LoopConfig, {"accumulate": 0}, "accumulate=0"),
        (LoopConfig, {"ema": 1.0}, "ema=1.0"),
        (LoopConfig, {"precision": "bf61"}, "did you mean bf16"),
        (LoopConfig, {"fgsm_255": -1}, "fgsm_255=-1"),
        (LoopConfig, {"phases": ((5, 32, 10), (5, 64, 10))}, "rising epochs"),
        (LoopConfig, {"phases": ((0, 32, 10, 8.0),)}, "crops above 0 and at most 1"),
        (MachineConfig, {"device": "gpu"}, "device='gpu'"),
        (MachineConfig, {"strategy": "dpd"}, "did you mean ddp"),
        (MachineConfig, {"workers": -1}, "workers=-1"),
        (MachineConfig, {"save_seconds": 0.0}, "save_seconds=0.0"),
        (MachineConfig, {"save_steps": 0}, "save_steps=0"),
        (MachineConfig, {"timeout": 0.0}, "timeout=0.0"),
    ],
)
def test_what_cannot_be_is_refused(kind, fields, message):
    with pytest.raises(ValueError, match=message):
        kind(**fields)

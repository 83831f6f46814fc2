from dataclasses import fields, replace

import pytest

from puzzlemix.cli.flags import flags_of
from puzzlemix.cli.parser import UsageError
from puzzlemix.cli.planning import NAMES, RUNS, SMALL, read_plan, typed
from puzzlemix.core.adversarial import Adversarial
from puzzlemix.methods import METHODS, CutMixSettings
from puzzlemix.training.config import DataConfig, LoopConfig, ModelConfig, TrainConfig

GROUPS = ("data", "model", "settings", "loop", "schedule", "optimiser", "machine")


@pytest.fixture(autouse=True)
def a_data_set(tmp_path, monkeypatch):
    """A folder that stands for a data set, and nothing is read of it."""
    (tmp_path / "photos").mkdir()
    monkeypatch.chdir(tmp_path)


def all_flags(method):
    config = TrainConfig(method=method)
    return [flag for group in GROUPS for flag in flags_of(getattr(config, group), NAMES, (group,))]


def test_without_arguments_it_is_the_small_run_in_a_folder_of_its_own():
    plan = read_plan([])
    assert plan.config == SMALL
    assert plan.config.method == "puzzle"
    assert plan.folder == RUNS / SMALL.folder_name()


def test_flags_read_as_one_would_guess():
    arguments = [
        "--method",
        "cutmix",
        "--data",
        "photos",
        "--model",
        "wrn28_10",
        "--epochs",
        "400",
        "--lr",
        "0.1",
        "--out",
        "x",
    ]
    config, folder = read_plan(arguments)
    assert folder.name == "x"
    wanted = TrainConfig(
        method="cutmix", data=DataConfig("photos"), model=ModelConfig("wrn28_10"), loop=LoopConfig(epochs=400)
    )
    assert config == replace(wanted, schedule=replace(wanted.schedule, lr=0.1))


def test_variants_of_puzzle_mix_are_flags():
    arguments = (
        "--labels 2 --transport none --clean-weight 1 --clean-until-epoch 3 --adversarial-prob 0.15 --grids 4 2x8"
    )
    found = read_plan(arguments.split()).config.settings
    assert (found.mix.labels, found.mix.transport) == (2, None)
    assert (found.clean_weight, found.clean_until_epoch) == (1.0, 3)
    assert found.adversarial == Adversarial(prob=0.15)
    assert found.grids == (4, (2, 8))


def test_the_small_network_is_for_the_generated_images_alone():
    assert read_plan(["--method", "vanilla"]).config.model == SMALL.model
    assert read_plan(["--data", "photos"]).config.model == ModelConfig()
    assert read_plan(["--model", "preact_resnet18"]).config.model == ModelConfig()


@pytest.mark.parametrize("as_file", [False, True])
def test_a_run_is_repeated_by_one_flag(tmp_path, as_file):
    config = replace(SMALL, method="cutmix", settings=CutMixSettings(alpha=0.3), seed=5, data=DataConfig("photos"))
    (tmp_path / "config.json").write_text(config.to_json())
    assert read_plan(["--config", str(tmp_path / "config.json" if as_file else tmp_path)]).config == config


def test_flags_are_laid_over_a_config(tmp_path):
    config = replace(SMALL, settings=replace(SMALL.settings, loss="bce", clean_weight=1.0), seed=5)
    (tmp_path / "config.json").write_text(config.to_json())
    found = read_plan(["--config", str(tmp_path), "--method", "vanilla", "--epochs", "3"]).config
    assert (found.loop.epochs, found.seed, found.method) == (3, 5, "vanilla")
    assert found.settings.loss == "bce"  # what all methods have in common stays


@pytest.mark.parametrize("method", METHODS)
def test_every_field_is_one_flag_with_words_about_it(method):
    flags = all_flags(method)
    names = [flag.name.replace("_", "-") for flag in flags] + ["method", "config", "out", "seed"]
    assert len(set(names)) == len(names)
    assert [flag.name for flag in flags if not flag.help] == []


def test_no_group_of_settings_is_forgotten():
    assert {item.name for item in fields(TrainConfig)} == {*GROUPS, "method", "seed"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--method puzle", "there is no method 'puzle': did you mean puzzle?"),
        ("--model wrm28_10", "there is no model 'wrm28_10': did you mean wrn28_10"),
        ("--data cifar1OO", "there is no data set 'cifar1OO': did you mean cifar"),
        ("--data missing/photos.zip", "missing/photos.zip does not exist"),
        ("--epoch 3", "'--epoch' is not understood: did you mean --epochs"),
        ("--epochs 0", "epochs=0: pass a whole number of at least 1"),
        ("--schedule cosin", "did you mean cosine"),
        ("--transport papper", "transport='papper'"),
        ("--method vanilla --beta 1", "'--beta' is not understood"),
        ("--zero-last-gain", "preact_resnet18"),
        ("--config nowhere", "nowhere does not exist"),
        ("--seed -1", "seed=-1"),
        ("extra", "'extra' is not understood"),
    ],
)
def test_what_cannot_be_meant_is_said(arguments, said):
    with pytest.raises(UsageError) as error:
        read_plan(arguments.split())
    assert said in str(error.value)


def test_a_damaged_config_is_named(tmp_path):
    (tmp_path / "config.json").write_text('{"method": "puzzle", "loop": {"epoch": 3}}')
    with pytest.raises(UsageError, match=r"loop\.epoch is no setting: did you mean epochs"):
        read_plan(["--config", str(tmp_path)])
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(UsageError, match=r"config\.json: the config is no JSON"):
        read_plan(["--config", str(tmp_path)])


def test_a_value_is_found_before_all_flags_are_known():
    arguments = ["--data", "a", "--data=b", "--model"]
    assert (typed(arguments, "--data"), typed(arguments, "--model"), typed(arguments, "--config")) == ("b", None, None)

from dataclasses import replace

import pytest

from puzzlemix.training.config import MachineConfig, TrainConfig
from puzzlemix.training.folder import open_folder


def test_a_folder_holds_the_config_of_its_run(tmp_path, tiny):
    with open_folder(tmp_path / "a" / "b", tiny()) as run:
        assert TrainConfig.load(run.path) == tiny()


def test_a_run_can_be_taken_up_on_another_machine(tmp_path, tiny):
    config = tiny()
    elsewhere = replace(config, machine=MachineConfig(root="/elsewhere"))
    for one in (config, elsewhere):
        with open_folder(tmp_path, one) as run:
            assert TrainConfig.load(run.path) == one


def test_another_run_is_kept_out(tmp_path, tiny):
    with open_folder(tmp_path, tiny()):
        pass
    message = r"holds another run \(loop.epochs is 3 there and 4 here; method is 'vanilla' there and 'cutmix' here"
    with pytest.raises(ValueError, match=message), open_folder(tmp_path, tiny(method="cutmix", epochs=4)):
        pass
    assert TrainConfig.load(tmp_path) == tiny()


def test_checkpoints_of_nobody_are_not_taken_over(tmp_path, tiny):
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(ValueError, match=r"holds checkpoints but no config.json"), open_folder(tmp_path, tiny()):
        pass


def test_one_process_at_a_time(tmp_path, tiny):
    with (
        open_folder(tmp_path, tiny()),
        pytest.raises(ValueError, match="another process is training in"),
        open_folder(tmp_path, tiny()),
    ):
        pass
    with open_folder(tmp_path, tiny()):
        pass


def test_half_written_files_are_cleared_away(tmp_path, tiny):
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "config.json").write_text(tiny().to_json())
    leftovers = [tmp_path / ".result.json.1234abcd.tmp", tmp_path / "checkpoints" / ".epoch.pt.1234abcd.tmp"]
    for path in leftovers:
        path.write_bytes(b"half")
    with open_folder(tmp_path, tiny()):
        assert not any(path.exists() for path in leftovers)

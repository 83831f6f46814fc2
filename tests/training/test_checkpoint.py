import os

import pytest
import torch

from puzzlemix.files import remove_leftovers
from puzzlemix.training.checkpoint import list_checkpoints, load_latest, save_checkpoint


@pytest.fixture
def told():
    return []


def state(number):
    return {"weights": torch.full((1000,), float(number)), "number": number}


def latest(folder, told):
    found = load_latest(folder, told.append)
    return None if found is None else found.state["number"]


def test_a_folder_without_checkpoints(tmp_path, told):
    assert load_latest(tmp_path / "none", told.append) is None
    assert not told


def test_the_newest_is_loaded_and_two_are_kept(tmp_path, told):
    for step in (1, 2, 30, 4000):
        save_checkpoint(tmp_path, state(step), epoch=0, step=step)
    assert latest(tmp_path, told) == 4000
    assert [path.name.split(".")[0] for path in list_checkpoints(tmp_path)] == [
        "epoch0000-step00000030",
        "epoch0000-step00004000",
    ]
    assert len(list(tmp_path.iterdir())) == 2
    assert not told


@pytest.mark.parametrize("damage", ["truncate", "empty", "flip", "swap"])
def test_a_damaged_one_is_passed_over_with_a_word(tmp_path, told, damage):
    first = save_checkpoint(tmp_path, state(1), 0, 1)
    second = save_checkpoint(tmp_path, state(2), 0, 2)
    content = bytearray(second.read_bytes())
    content[len(content) // 2] ^= 1
    new = {"truncate": content[:-100], "empty": b"", "flip": content, "swap": first.read_bytes()}[damage]
    second.write_bytes(new)
    assert latest(tmp_path, told) == 1
    assert len(told) == 1
    assert second.name in told[0]
    assert "damaged" in told[0]


def test_where_all_are_damaged_there_is_none(tmp_path, told):
    for step in (1, 2):
        save_checkpoint(tmp_path, state(step), 0, step).write_bytes(b"PK")
    assert latest(tmp_path, told) is None
    assert len(told) == 2


def test_a_run_that_went_back_replaces_what_was_damaged(tmp_path, told):
    save_checkpoint(tmp_path, state(1), 0, 1)
    save_checkpoint(tmp_path, state(9), 0, 9).write_bytes(b"")
    save_checkpoint(tmp_path, state(5), 0, 5)
    assert latest(tmp_path, told) == 5
    assert not told
    assert [torch.load(path)["number"] for path in list_checkpoints(tmp_path)] == [1, 5]


def test_a_write_that_fails_leaves_what_was_there(tmp_path, told, monkeypatch):
    save_checkpoint(tmp_path, state(1), 0, 1)

    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        save_checkpoint(tmp_path, state(2), 0, 2)
    assert len(list(tmp_path.iterdir())) == 1
    assert latest(tmp_path, told) == 1


def test_half_a_file_of_a_killed_process_is_ignored_and_removed(tmp_path, told):
    path = save_checkpoint(tmp_path, state(1), 0, 1)
    leftover = path.with_name(f".{path.name}.deadbeef.tmp")
    leftover.write_bytes(b"half")
    assert latest(tmp_path, told) == 1
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [path]


def test_code_in_a_checkpoint_does_not_run(tmp_path, told):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    save_checkpoint(tmp_path / "run", {"number": Evil()}, 0, 1)
    assert latest(tmp_path / "run", told) is None
    assert "refused" in told[0]
    assert not (tmp_path / "ran").exists()

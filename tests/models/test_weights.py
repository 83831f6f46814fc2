"""Weights to files and back, the authors' layout, and files that mean harm."""

import os
import pickle
import struct
import subprocess
import sys
import types

import numpy as np
import pytest
import torch
from torch import nn

from puzzlemix.models import build_model, load_weights, save_weights

safetensors = pytest.importorskip("safetensors")
safetensors_torch = pytest.importorskip("safetensors.torch")


def preact(classes=10, seed=0, **options):
    return build_model("preact_resnet18", classes, width=4, seed=seed, **options)


def assert_same(model, state):
    found = model.state_dict()
    assert list(found) == list(state)
    assert all(torch.equal(found[name], state[name]) for name in state)


@pytest.fixture
def recorder(monkeypatch):
    """What the authors' scripts pickle beside the weights: an object of their module `logger` around NumPy arrays."""
    module = types.ModuleType("logger")
    module.RecorderMeter = type("RecorderMeter", (), {"__module__": "logger"})
    monkeypatch.setitem(sys.modules, "logger", module)
    recorder = module.RecorderMeter()
    recorder.epoch_losses = np.zeros((3, 2), dtype=np.float32) - 1
    recorder.best = np.float64(76.5)
    return recorder


def published(state, **extra):
    """A checkpoint as the authors' training writes it."""
    prefixed = {f"module.{name}": tensor for name, tensor in state.items()}
    momentum = {"momentum_buffer": torch.ones(3)}
    optimizer = {"state": {0: momentum}, "param_groups": [{"lr": 0.1, "nesterov": True, "params": [0]}]}
    return {
        "epoch": 600,
        "arch": "preactresnet18",
        "state_dict": prefixed,
        "best_acc": 0.8,
        "optimizer": optimizer,
    } | extra


# Files written and read back


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_round_trip_is_exact(tmp_path, dtype):
    model, other = preact(seed=1).to(dtype), preact(seed=2).to(dtype)
    model(torch.rand(4, 3, 8, 8, dtype=dtype))  # moves the running statistics
    save_weights(model, tmp_path / "weights.safetensors")
    load_weights(other, tmp_path / "weights.safetensors")
    assert_same(other, model.state_dict())


def test_channels_last_and_tied_weights_save(tmp_path):
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(3, 3)
            self.second = nn.Linear(3, 3)
            self.second.weight = self.first.weight

    for make in (Tied, lambda: preact().to(memory_format=torch.channels_last)):
        model, other = make(), make()
        save_weights(model, tmp_path / "weights")
        load_weights(other, str(tmp_path / "weights"))
        assert_same(other, model.state_dict())


def test_wrappers_do_not_show_in_the_file(tmp_path):
    inner = preact(seed=1)
    normalized = preact(seed=1, mean=0.5, std=0.5)
    compiled = torch.compile(normalized, backend="eager")
    for model in (inner, normalized, nn.DataParallel(normalized), compiled):
        save_weights(model, tmp_path / "weights.safetensors")
        # Whoever has the same network can load the file without this package.
        preact().load_state_dict(safetensors_torch.load_file(tmp_path / "weights.safetensors"))
        for other in (preact(), preact(mean=0.1, std=0.2), nn.DataParallel(preact())):
            load_weights(other, tmp_path / "weights.safetensors")
            assert all(torch.equal(*pair) for pair in zip(other.parameters(), inner.parameters(), strict=True))


def test_resnet50_interchanges_with_torchvision(tmp_path):
    torchvision = pytest.importorskip("torchvision")
    theirs = torchvision.models.resnet50(num_classes=3)
    torch.save(theirs.state_dict(), tmp_path / "theirs.pth")
    ours = build_model("resnet50", 3, mean=0.5, std=0.5)
    load_weights(ours, tmp_path / "theirs.pth")
    assert_same(ours.get_submodule("model"), theirs.state_dict())


def test_a_failed_save_leaves_the_old_file_and_no_litter(tmp_path, monkeypatch):
    path = tmp_path / "weights.safetensors"
    save_weights(preact(seed=1), path)
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    for step in ("fsync", "replace"):
        monkeypatch.setattr(os, step, fail)
        with pytest.raises(OSError, match="disk full"):
            save_weights(preact(seed=2), path)
        monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_the_file_has_ordinary_permissions(tmp_path):
    save_weights(preact(), tmp_path / "weights.safetensors")
    (tmp_path / "ordinary").touch()
    assert (tmp_path / "weights.safetensors").stat().st_mode == (tmp_path / "ordinary").stat().st_mode


# The authors' layout


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("width", ["preact", "wide"])
def test_published_checkpoints_load(tmp_path, reference, zipped, width):
    layout = reference.preact_layout(4, 10) if width == "preact" else reference.wide_layout(16, 1, 10)
    model = preact(mean=0.5, std=0.5) if width == "preact" else build_model("wrn16_1", 10, mean=0.5, std=0.5)
    state = reference.random_state(layout)
    torch.save(published(state), tmp_path / "model_best.pth.tar", _use_new_zipfile_serialization=zipped)
    load_weights(model, tmp_path / "model_best.pth.tar")
    found = model.get_submodule("model").state_dict()
    assert set(found) == set(state)
    assert all(torch.equal(found[name], state[name]) for name in state)


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_the_recorder_beside_the_weights_is_left_out(tmp_path, reference, zipped, recorder, monkeypatch):
    state = reference.random_state(reference.preact_layout(4, 10))
    checkpoint = published(state, recorder=recorder, best_acc=np.float64(80.2))
    torch.save(checkpoint, tmp_path / "checkpoint.pth.tar", _use_new_zipfile_serialization=zipped)
    monkeypatch.delitem(sys.modules, "logger")
    before = set(torch.serialization.get_safe_globals())
    model = preact()
    load_weights(model, tmp_path / "checkpoint.pth.tar")
    assert torch.equal(model.linear.weight, state["linear.weight"])
    assert set(torch.serialization.get_safe_globals()) == before


@pytest.mark.parametrize("prefix", ["", "module.", "model.", "_orig_mod.", "module.model.", "model.module."])
@pytest.mark.parametrize("key", [None, "state_dict", "model"])
def test_other_layouts_load(tmp_path, reference, prefix, key):
    state = reference.random_state(reference.preact_layout(4, 10))
    prefixed = {prefix + name: tensor for name, tensor in state.items()}
    torch.save({key: prefixed, "epoch": 1} if key else prefixed, tmp_path / "weights.pt")
    model = preact()
    load_weights(model, tmp_path / "weights.pt")
    assert torch.equal(model.linear.weight, state["linear.weight"])


# Files that do not fit


def test_what_does_not_fit_is_listed_and_nothing_is_loaded(tmp_path):
    state = preact(classes=7, seed=1).state_dict()
    del state["conv1.weight"]
    state |= {f"extra{number}": torch.zeros(1) for number in range(9)}
    torch.save(state, tmp_path / "weights.pt")
    model = preact(seed=0)
    with pytest.raises(ValueError, match=r"weights\.pt does not fit PreActResNet18") as caught:
        load_weights(model, tmp_path / "weights.pt")
    message = str(caught.value)
    assert "1 missing: conv1.weight;" in message
    assert "9 unexpected: extra0, extra1, extra2, extra3, ...;" in message
    assert (
        "2 wrong shape: linear.weight (file (7, 32), model (10, 32)), linear.bias (file (7,), model (10,))" in message
    )
    assert "Build the model as the file's was: same name, classes and options" in message
    assert_same(model, preact(seed=0).state_dict())


@pytest.mark.parametrize(
    "content",
    [
        *({}, [], 3, "text", {"a": 1}, {"state_dict": {"a": 1}}, {1: torch.zeros(1)}),
        {"a": torch.zeros(1, device="meta")},
    ],
)
def test_files_without_weights(tmp_path, content):
    torch.save(content, tmp_path / "weights.pt")
    with pytest.raises(ValueError, match="holds no weights: pass a state dict"):
        load_weights(preact(), tmp_path / "weights.pt")


# Files that are damaged, or mean harm


class Harm:
    """Runs code when unpickled by an unguarded reader: creates the file `mark`."""

    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


def harms(mark):
    return {
        "system": Harm(os.system, f"touch {mark}"),
        "exec": Harm(exec, f"open({str(mark)!r}, 'w').close()"),
        "eval": Harm(eval, f"__import__('os').mkdir({str(mark)!r})"),
        "mkdir": Harm(os.mkdir, str(mark)),
        "popen": Harm(subprocess.call, ["touch", str(mark)]),
        "load": Harm(torch.load, str(mark)),
        "getattr": Harm(getattr, "text", "upper"),
    }


def test_the_harm_is_real(tmp_path):
    """Or the next tests would show nothing: an unguarded reader does run these."""
    for name in ("system", "exec", "eval", "mkdir", "popen"):
        pickle.loads(pickle.dumps(harms(tmp_path / name)[name]))
        assert (tmp_path / name).exists()


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("where", ["recorder", "weights", "itself"])
@pytest.mark.parametrize("harm", ["system", "exec", "eval", "mkdir", "popen", "load", "getattr"])
def test_code_is_refused_and_not_run(tmp_path, harm, where, zipped):
    mark = tmp_path / "mark"
    culprit = harms(mark)[harm]
    content = {
        "recorder": published(preact().state_dict(), recorder=culprit),
        "weights": published(preact().state_dict() | {"conv1.weight": culprit}),
        "itself": culprit,
    }[where]
    torch.save(content, tmp_path / "weights.pth.tar", _use_new_zipfile_serialization=zipped)
    model = preact()
    with pytest.raises(ValueError, match=r"weights\.pth\.tar is refused, none of it was run: it asks for") as caught:
        load_weights(model, tmp_path / "weights.pth.tar")
    assert not mark.exists()
    assert "weights_only" not in str(caught.value)
    assert caught.value.__suppress_context__
    assert_same(model, preact().state_dict())


def test_a_bare_pickle_is_refused(tmp_path):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path = tmp_path / f"{protocol}.pkl"
        path.write_bytes(pickle.dumps(harms(tmp_path / "mark")["system"], protocol))
        with pytest.raises(ValueError, match=r"is refused|is no PyTorch checkpoint"):
            load_weights(preact(), path)
    assert not (tmp_path / "mark").exists()


def test_names_that_are_ignored_cannot_smuggle_code(tmp_path, recorder):
    """A recorder is left out with all it says of itself, but what it holds is judged as anything else."""
    recorder.epoch_losses = harms(tmp_path / "mark")["system"]
    torch.save(published(preact().state_dict(), recorder=recorder), tmp_path / "weights.pt")
    with pytest.raises(ValueError, match="is refused"):
        load_weights(preact(), tmp_path / "weights.pt")
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize("share", [0, 0.01, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("kind", ["safetensors", "zip", "legacy"])
def test_truncated_files(tmp_path, share, kind):
    path = tmp_path / "weights"
    if kind == "safetensors":
        save_weights(preact(), path)
    else:
        torch.save(published(preact().state_dict()), path, _use_new_zipfile_serialization=kind == "zip")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ValueError, match="damaged"):
        load_weights(preact(), path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not weights at all\n" * 9,
        b"PK\x03\x04" + bytes(100),
        bytes(1000),
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 2) + b"{}" + bytes(10),
        struct.pack("<Q", 20) + b'{"a": [1, 2, 3]     ' + bytes(8),
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
    ],
)
def test_other_files(tmp_path, content):
    (tmp_path / "weights").write_bytes(content)
    with pytest.raises(ValueError, match=r"weights is (no PyTorch checkpoint, or a )?damaged"):
        load_weights(preact(), tmp_path / "weights")


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        load_weights(preact(), tmp_path / "nowhere.safetensors")


def test_without_safetensors(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(ImportError, match=r"puzzlemix\[train\]"):
        save_weights(preact(), tmp_path / "weights.safetensors")

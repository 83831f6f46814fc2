"""The installed command in processes of its own, at reduced size."""

import json
import signal
import subprocess
import sys

import pytest
from PIL import Image
from safetensors.torch import load_file

SMALL = (
    "--train-images", 40, "--test-images", 20, "--batch-size", 20, "--width", 2, "--epochs", 20, "--lr", 0.05,
    "--device", "cpu", "--no-tensorboard", "--ema", 0.9,
)  # fmt: skip


def weights(folder):
    """The weights that a run ended with."""
    return {name: tensor.tolist() for name, tensor in load_file(folder / "weights.safetensors").items()}


@pytest.fixture(scope="module")
def whole(installed):
    """A run from start to end, and what was said of it."""
    return installed.folder / "whole", installed("train", "--out", "whole", *SMALL)


def test_a_run_ends_with_a_table_where_everything_lies_and_pictures(whole):
    folder, (code, output, errors) = whole
    assert code == 0, errors
    assert "Traceback" not in errors
    assert [line.split()[0] for line in output.splitlines()[1:4]] == ["method", "puzzle", "puzzle,"]
    for name in ("config.json", "result.json", "metrics.jsonl", "weights.safetensors", "curve.png", "samples.png"):
        assert f"whole/{name} " in output
        assert (folder / name).stat().st_size > 0
    for name in ("curve.png", "samples.png"):
        with Image.open(folder / name) as image:
            assert min(image.size) > 500


def test_a_finished_run_shows_its_table_again(installed, whole):
    folder, (_, before, _) = whole
    written = (folder / "weights.safetensors").stat().st_mtime_ns
    code, output, errors = installed("train", "--out", "whole", *SMALL)
    assert (code, output) == (0, before)
    assert errors == "whole holds this run, finished: its results again (--out FOLDER repeats it elsewhere)\n"
    assert (folder / "weights.safetensors").stat().st_mtime_ns == written


def stopped(installed, number, *arguments):
    """Start a run and send it a signal when its first epoch is over: exit code, stdout, last line of stderr."""
    process = installed.start(*arguments)
    next(line for line in process.stderr if line.startswith("epoch 1/"))
    process.send_signal(number)
    output, errors = process.communicate(timeout=900)
    return process.returncode, output, errors.splitlines()[-1]


def test_a_run_repeated_by_one_flag_and_stopped_goes_on_to_the_same_end(installed, whole):
    again = ("train", "--config", "whole", "--out", "again")
    code, output, last = stopped(installed, signal.SIGINT, *again)
    assert (code, output) == (130, "")
    assert last == "stopped by SIGINT; all is saved in again: the same command goes on"
    assert not (installed.folder / "again" / "result.json").exists()
    code, _, errors = installed(*again)
    assert code == 0, errors
    assert "going on from" in errors
    assert weights(installed.folder / "again") == weights(whole[0])


def test_sigterm_leaves_a_run_that_can_go_on(installed, whole):
    code, output, last = stopped(installed, signal.SIGTERM, "train", "--config", "whole", "--out", "ended")
    assert (code, output) == (143, "")
    assert last == "stopped by SIGTERM; all is saved in ended: the same command goes on"
    assert list((installed.folder / "ended" / "checkpoints").glob("*.pt"))


def test_another_method_stands_beside(installed, whole):
    code, output, errors = installed("train", "--config", "whole", "--method", "vanilla", "--out", "plain")
    assert code == 0, errors
    assert [line.split()[0] for line in output.splitlines()[1:6:2]] == ["method", "vanilla,", "puzzle,"]
    assert json.loads((installed.folder / "plain" / "config.json").read_text())["method"] == "vanilla"


def test_a_folder_with_another_run_is_left_alone(installed, whole):
    code, output, errors = installed("train", "--config", "whole", "--seed", 7, "--out", "whole")
    assert (code, output, errors.count("\n")) == (1, "", 1)
    assert "holds another run (seed is 0 there and 7 here)" in errors


def test_a_trained_network_guides_a_mix_of_two_files(installed, whole):
    for name, shade in (("cat", 60), ("dog", 180)):
        Image.new("RGB", (50, 40), (shade, 90, 30)).save(installed.folder / f"{name}.jpg")
    code, output, errors = installed("mix", "cat.jpg", "dog.jpg", "-o", "panel.png", "--saliency", "whole", "--grid", 4)
    assert (code, errors) == (0, "")
    assert "saliency: the gradient of preact_resnet18, trained on synthetic with puzzle" in output
    assert (installed.folder / "panel.png").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["train", "--method", "puzle"], 2, "there is no method 'puzle': did you mean puzzle?"),
        (["train", "--data", "cifar1O"], 2, "there is no data set 'cifar1O': did you mean cifar10"),
        (["train", "--config", "bad.json"], 2, "bad.json: epochs is no setting"),
        (["train", "--out", "bad.json/there"], 1, "bad.json/there: Not a directory"),
        (["mix", "bad.json", "bad.json"], 1, "bad.json (12 bytes) is no image that can be read"),
    ],
)
def test_what_goes_wrong_is_one_line(installed, arguments, code, said):
    (installed.folder / "bad.json").write_text('{"epochs":1}')
    found, output, errors = installed(*arguments)
    assert (found, output, errors.count("\n")) == (code, "", 1), errors
    assert said in errors
    assert not (installed.folder / "runs").exists()


def test_a_missing_package_is_said_with_the_command_that_installs_it(tmp_path):
    code = "import sys; sys.modules['lightning'] = None; from puzzlemix.cli import main; sys.exit(main(['train']))"
    found = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == 'puzzlemix: this needs lightning, which is not installed: pip install "puzzlemix[train]"\n'

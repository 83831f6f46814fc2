"""`puzzlemix evaluate`: runs, weights and models of torchvision, to a table, a record and a picture."""

import json

import pytest
import torch
from matplotlib.image import imread

from puzzlemix.core.adversarial import Adversarial
from puzzlemix.data import load_data
from puzzlemix.evaluation.accuracy import evaluate
from puzzlemix.methods import METHODS
from puzzlemix.models import build_model, save_weights
from puzzlemix.training.config import DataConfig, ModelConfig, TrainConfig

DATA, MODEL = DataConfig(size=16, test_images=20), ModelConfig("preact_resnet18", width=4)


def make_run(folder, seed=0, **options):
    """A run's folder, as training leaves it; its network is as it began."""
    folder.mkdir()
    config = TrainConfig(data=DATA, model=MODEL, **options)
    (folder / "config.json").write_text(config.to_json())
    save_weights(network(seed), folder / "weights.safetensors")
    return folder


def network(seed=0):
    return build_model("preact_resnet18", 10, mean=(0.42,) * 3, std=(0.2,) * 3, seed=seed, width=4).eval()


def test_a_run_is_judged_on_its_own_images(call, tmp_path):
    folder = make_run(tmp_path / "run", method="vanilla")
    code, output, errors = call("evaluate", folder, "--fgsm-255", "2", "8", "--device", "cpu")
    assert code == 0, errors
    assert output.splitlines()[0].split("   ")[0] == "model"
    assert "FGSM 8/255" in output
    assert output.splitlines()[1].startswith("vanilla")
    record = json.loads((folder / "evaluation.json").read_text())
    (found,) = record["evaluations"]
    split = load_data(size=16, train_images=1, test_images=20).test
    expected = evaluate(network(), [(split.images / 255, split.labels)])
    assert found["clean"] == pytest.approx(expected._asdict(), rel=1e-4)
    assert found["data"]["fingerprint"] == split.fingerprint()[:16]
    assert [entry["eps_255"] for entry in found["fgsm"]] == [2, 8]
    assert found["model"]["config"]["model"]["width"] == 4
    assert found["seconds"] > 0
    assert record["where"]["device"] == "cpu"
    assert record["where"]["versions"]["torch"]
    assert {"git", "date", "threads"} <= record["where"].keys()
    assert record["questions"]["fgsm_255"] == [2, 8]


def test_curves_of_two_runs_are_drawn_side_by_side(call, tmp_path):
    adversarial = METHODS["puzzle"].settings(adversarial=Adversarial())
    folders = [
        make_run(tmp_path / "one", method="puzzle", settings=adversarial),
        make_run(tmp_path / "two", seed=1, method="vanilla"),
    ]
    code, output, errors = call(
        "evaluate", *folders, "--curves", "attacks.png", "--test-images", 10, "--pgd-steps", 3, "--device", "cpu"
    )
    assert code == 0, errors
    assert "attacks.png" in output
    record = json.loads((tmp_path / "evaluation.json").read_text())
    assert [found["name"] for found in record["evaluations"]] == ["puzzle (adv)", "vanilla"]
    for found in record["evaluations"]:
        assert found["data"]["images"] == 10
        assert len(found["fgsm"]) == 6
        assert len(found["pgd"]["error_after_steps"]) == 4
    assert imread(tmp_path / "attacks.png").std() > 0.05


def test_runs_of_one_method_are_told_apart_by_their_folders(call, tmp_path):
    folders = [make_run(tmp_path / name, method="vanilla") for name in ("first", "second")]
    _, output, _ = call("evaluate", *folders, "--fgsm-255", "--device", "cpu")
    assert [line.split()[0] for line in output.splitlines()[1:3]] == ["first", "second"]


def test_corruptions_drawn_here(call, tmp_path):
    folder = make_run(tmp_path / "run", method="vanilla")
    code, output, errors = call("evaluate", folder, "--corruptions", "drawn", "--test-images", 4, "-o", "x/record.json")
    assert code == 0, errors
    (found,) = json.loads((tmp_path / "x" / "record.json").read_text())["evaluations"]
    assert len(found["corruptions"]["errors"]) == 19
    assert found["corruptions"]["not_comparable"] == ["frost"]
    assert "corruptions" in output


def test_a_file_of_weights_needs_to_be_told_what_it_is(call, tmp_path):
    save_weights(network(), tmp_path / "best.safetensors")
    code, _, errors = call("evaluate", "best.safetensors")
    assert code == 1
    assert "pass --model NAME and --data NAME" in errors
    told = ("--model", "preact_resnet18", "--width", 4, "--data", "synthetic", "--size", 16, "--test-images", 10)
    code, output, errors = call("evaluate", "best.safetensors", *told, "--device", "cpu")
    assert code == 0, errors
    assert output.splitlines()[1].startswith("best ")
    code, _, errors = call("evaluate", "best.safetensors", *told, "--width", 8)
    assert code == 1
    assert "does not fit" in errors


class Trap:
    def __reduce__(self):
        return print, ("sprung",)


def test_weights_that_would_run_code_are_refused(call, tmp_path):
    torch.save({"state_dict": Trap()}, tmp_path / "bad.pth")
    told = ("--model", "preact_resnet18", "--data", "synthetic", "--test-images", 10)
    code, output, errors = call("evaluate", "bad.pth", *told)
    assert code == 1
    assert "none of it was run" in errors
    assert "sprung" not in output


def test_a_classifier_of_torchvision_brings_its_weights(call, tmp_path, monkeypatch):
    torchvision = pytest.importorskip("torchvision")
    monkeypatch.setattr(torch.hub, "get_dir", lambda: str(tmp_path / "hub"))
    code, _, errors = call("evaluate", "squeezenet1_1", "--data", "synthetic")
    assert code == 1
    assert "are not on disk" in errors
    place = tmp_path / "hub" / "checkpoints"
    place.mkdir(parents=True)
    entry = torchvision.models.get_model_weights("squeezenet1_1").DEFAULT
    file = place / entry.url.rpartition("/")[2]
    torch.save(torchvision.models.squeezenet1_1().state_dict(), file)
    monkeypatch.setattr("torchvision.models._api.WeightsEnum.get_state_dict", lambda *_, **__: torch.load(file))
    code, _, errors = call("evaluate", "squeezenet1_1", "--data", "synthetic", "--test-images", 10)
    assert code == 1
    assert "squeezenet1_1 knows 1000 classes, synthetic has 10" in errors


def test_averaged_weights_are_taken_where_they_are(call, tmp_path):
    folder = make_run(tmp_path / "run", method="vanilla")
    code, _, errors = call("evaluate", folder, "--ema")
    assert code == 1
    assert "has no averaged weights" in errors
    save_weights(network(seed=3), folder / "weights-ema.safetensors")
    _, output, _ = call("evaluate", folder, "--ema", "--device", "cpu")
    assert output.splitlines()[1].startswith("vanilla, averaged")
    found = json.loads((folder / "evaluation.json").read_text())["evaluations"][0]
    split = load_data(size=16, train_images=1, test_images=20).test
    assert found["clean"]["loss"] == pytest.approx(
        evaluate(network(seed=3), [(split.images / 255, split.labels)]).loss, rel=1e-4
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ((), 2, "MODEL"),
        (("nothing-of-the-kind",), 1, "pass a run's folder, a file of weights or a model of torchvision"),
        (("resnet5o",), 1, "did you mean resnet50"),
        (("run", "--pgd-steps", "-1"), 2, "at least 0 steps"),
        (("run", "--pgd-norm", "l1"), 2, "l1"),
        (("run", "--curves", "a.txt"), 2, "does not end like a picture"),
        (("run", "--data", "cifar1"), 2, "did you mean cifar1"),
        (("run", "--corruptions", "nowhere"), 1, "nowhere does not exist"),
    ],
)
def test_what_cannot_be_meant_is_said(call, tmp_path, arguments, code, words):
    make_run(tmp_path / "run", method="vanilla")
    found = call("evaluate", *arguments)
    assert found[0] == code
    assert words in found[2]

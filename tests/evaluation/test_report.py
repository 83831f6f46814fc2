"""Everything that is asked about a model whose answers are known, or are found in another way."""

import json
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from puzzlemix.data import DataSpec, InMemory, load_data
from puzzlemix.evaluation.accuracy import evaluate
from puzzlemix.evaluation.attacks import PGD, attacked, pgd
from puzzlemix.evaluation.corruption_error import CorruptionErrors, drawn_errors
from puzzlemix.evaluation.corruptions import CORRUPTIONS, LEVELS, corrupted
from puzzlemix.evaluation.curves import fgsm_curve, pgd_curve
from puzzlemix.evaluation.dice import Dice
from puzzlemix.evaluation.report import DRAWN, Questions, report
from puzzlemix.recording import write_record


@pytest.fixture
def batches(trained):
    return [(trained.images[:30], trained.labels[:30]), (trained.images[30:50], trained.labels[30:50])]


class Grader(nn.Module):
    """Says class 0 of images that are mostly dark, and 1 of others."""

    def forward(self, images):
        light = images.flatten(1).mean(1)
        return torch.stack([0.5 - light, light - 0.5], 1)


# ---- curves ------------------------------------------------------------------------------------------------------


def test_one_gradient_gives_the_whole_fgsm_curve(trained, batches):
    reaches = (0, 2, 8)
    for reach, found in zip(reaches, fgsm_curve(trained.net, batches, reaches), strict=True):
        assert found == pytest.approx(evaluate(trained.net, attacked(trained.net, batches, reach)), rel=1e-5)


def test_the_pgd_curve_counts_every_image_once(trained, batches):
    settings = PGD(4, 1, steps=3, restarts=2)
    found = pgd_curve(trained.net, batches, settings, seed=5)
    dice = Dice.of_samples("pgd", 5, samples=torch.arange(50))
    hits = pgd(trained.net, trained.images[:50], trained.labels[:50], settings, dice).hits
    assert found == pytest.approx(hits.float().mean(1).tolist(), abs=0.021)
    assert len(found) == 4
    with pytest.raises(ValueError, match="at least one batch"):
        pgd_curve(trained.net, [], settings)


# ---- errors under corruption -------------------------------------------------------------------------------------


def test_one_pass_judges_every_corruption(trained, batches):
    found = drawn_errors(trained.net, batches, ["fog", "snow"], seed=3)
    assert list(found.by_name) == ["fog", "snow"]
    for name, errors in found.by_name.items():
        for severity, error in zip(LEVELS, errors, strict=True):
            expected = evaluate(trained.net, corrupted(batches, name, severity, seed=3))
            assert error == pytest.approx(1 - expected.top1, abs=1e-9)


def test_means_are_over_corruptions_and_severities():
    found = CorruptionErrors({"fog": (0.1, 0.2, 0.3, 0.4, 0.5), "frost": (0.5,) * 5}, drawn=True)
    assert found.mean() == pytest.approx(0.4)
    assert found.mean(["fog"]) == pytest.approx(0.3)
    assert found.mean(["fog", "rain"]) is None
    content = found.as_dict()
    assert content["mean_error_comparable"] == pytest.approx(0.3)
    assert content["mean_error_15_common"] is None
    assert content["not_comparable"] == ["frost"]
    assert content["missing"] == [name for name in CORRUPTIONS if name not in ("fog", "frost")]
    published = CorruptionErrors(found.by_name, drawn=False).as_dict()
    assert published["not_comparable"] == []
    assert published["mean_error_comparable"] == pytest.approx(0.4)


def test_errors_relative_to_a_baseline():
    ours = CorruptionErrors({"fog": (0.1, 0.2, 0.3, 0.4, 0.5), "snow": (0.2,) * 5}, drawn=True)
    baseline = CorruptionErrors({"fog": (0.6,) * 5, "snow": (0.4,) * 5}, drawn=True)
    assert ours.relative_to(ours) == 1
    assert ours.relative_to(baseline) == pytest.approx((1.5 / 3 + 1 / 2) / 2)
    with pytest.raises(ValueError, match="snow is known of one"):
        ours.relative_to(CorruptionErrors({"fog": (0.6,) * 5}, drawn=True))
    with pytest.raises(ValueError, match="no error under fog"):
        ours.relative_to(CorruptionErrors({"fog": (0.0,) * 5, "snow": (0.4,) * 5}, drawn=True))


# ---- all of it ---------------------------------------------------------------------------------------------------


@pytest.fixture
def known():
    """Three dark images of class 0, of which one is light in fact, and two light ones of class 1."""
    values = torch.tensor([10, 20, 240, 250, 230], dtype=torch.uint8)
    images = values[:, None, None, None].expand(-1, 3, 8, 8).contiguous()
    return InMemory(images, torch.tensor([0, 0, 0, 1, 1]), DataSpec("known", classes=2, size=8))


def test_a_model_of_known_answers_is_reported_as_known(known):
    found = report(
        Grader(), known, Questions(fgsm_255=(8, 200), pgd=PGD(200, 100, 3, random_start=False), batch_size=2)
    )
    light = known.images[:, 0, 0, 0] / 255
    logits = torch.stack([0.5 - light, light - 0.5], 1)
    assert found["clean"]["top1"] == 4 / 5
    assert found["clean"]["top5"] == 1
    assert found["clean"]["images"] == 5
    assert found["clean"]["loss"] == pytest.approx(F.cross_entropy(logits, known.labels).item(), rel=1e-5)
    confidence = logits.softmax(1).amax(1)  # all in the bins up to 11/15
    right = torch.tensor([1.0, 1, 0, 1, 1])
    bins = (confidence * 15).ceil()
    gaps = [abs((confidence - right)[bins == value].sum().item()) for value in bins.unique()]
    assert found["clean"]["ece"] == pytest.approx(sum(gaps) / 5, abs=1e-6)
    # 200/255 crosses the middle from anywhere, 8/255 from nowhere
    assert [entry["top1"] for entry in found["fgsm"]] == [4 / 5, 0]
    assert found["pgd"]["error_after_steps"] == [1 / 5, 1 / 5, 1, 1]
    assert found["data"] | {"fingerprint": None, "mean": None, "std": None} == {
        "name": "known", "images": 5, "size": 8, "classes": 2, "mean": None, "std": None, "fingerprint": None,
    }  # fmt: skip


def test_corruptions_drawn_and_published(known, tmp_path):
    drawn = report(Grader(), known, Questions(fgsm_255=(), corruptions=DRAWN))["corruptions"]
    assert drawn["source"] == "drawn"
    assert len(drawn["errors"]) == 19
    assert drawn["errors"]["gaussian_noise"] == [pytest.approx(1 / 5)] * 5  # keeps the mean
    assert drawn["errors"]["brightness"] == [pytest.approx(1 / 5)] * 5
    arrays = known.images.permute(0, 2, 3, 1).numpy()
    # at the last severity everything is inverted
    np.save(tmp_path / "fog.npy", np.concatenate([arrays] * 4 + [255 - arrays]))
    np.save(tmp_path / "labels.npy", np.tile(known.labels.numpy(), 5))
    published = report(Grader(), known, Questions(fgsm_255=(), corruptions=str(tmp_path)))["corruptions"]
    assert published["source"] == "published"
    assert published["errors"] == {"fog": [pytest.approx(1 / 5)] * 4 + [pytest.approx(4 / 5)]}
    assert published["mean_error"] == pytest.approx((4 / 5 + 4 / 5) / 5)
    assert len(published["missing"]) == 18


def test_results_depend_on_the_seed_and_on_nothing_else(trained):
    split = load_data("synthetic", size=16, train_images=1, test_images=24).test
    asked = {"fgsm_255": (4,), "pgd": PGD(4, 2, 2), "corruptions": DRAWN}
    first, second = (report(trained.net, split, Questions(**asked, batch_size=size)) for size in (24, 7))
    assert first["data"] == second["data"]
    assert first["clean"] == pytest.approx(second["clean"], rel=1e-5)
    assert first["fgsm"][0] == pytest.approx(second["fgsm"][0], rel=0.02, abs=0.02)
    assert first["pgd"]["error_after_steps"] == pytest.approx(second["pgd"]["error_after_steps"], abs=0.05)
    for name, errors in first["corruptions"]["errors"].items():
        assert errors == pytest.approx(second["corruptions"]["errors"][name], abs=0.05)
    other = report(trained.net, split, Questions(**asked, seed=1))
    assert other["corruptions"]["errors"] != first["corruptions"]["errors"]


def test_a_diverged_model_makes_a_valid_record(known, tmp_path):
    class Diverged(nn.Module):
        def forward(self, images):
            return images.flatten(1)[:, :2] * math.nan

    found = report(Diverged(), known, Questions(fgsm_255=()))
    write_record(tmp_path / "record.json", found)
    content = json.loads((tmp_path / "record.json").read_text(), parse_constant=pytest.fail)
    assert content["clean"]["top1"] == 0
    assert content["clean"]["loss"] is None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"fgsm_255": (8, 300)}, "fgsm_255"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"definition": "mnist"}, "definition='mnist'"),
    ],
)
def test_questions_that_make_no_sense_are_refused(asked, words):
    with pytest.raises(ValueError, match=words):
        Questions(**asked)

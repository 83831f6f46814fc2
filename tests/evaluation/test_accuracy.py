"""Accuracy, loss and calibration of models whose every prediction is known."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from puzzlemix.evaluation.accuracy import accuracy_of, eval_mode, evaluate, judge
from puzzlemix.evaluation.calibration import BINS, calibration_error, confidence_bins


def in_batches(images, labels, size):
    return list(zip(images.split(size), labels.split(size), strict=True))


def test_a_model_of_known_answers_is_judged_as_known(table_of, numbered_images):
    # of 12 images the first 6 have their class on top, the next 3 in the fifth place, the last 3 in the sixth
    places = torch.tensor([0] * 6 + [4] * 3 + [5] * 3)
    labels = torch.arange(12) % 8
    rolls = (labels - 7 + places).tolist()  # the class is `place` below the top
    logits = torch.stack([torch.arange(8.0).roll(roll) for roll in rolls])
    found = evaluate(table_of(logits), in_batches(numbered_images(12), labels, 5))
    assert found.images == 12
    assert found.top1 == 6 / 12
    assert found.top5 == 9 / 12
    assert found.loss == pytest.approx(F.cross_entropy(logits, labels).item(), rel=1e-6)


@pytest.mark.parametrize("size", [1, 7, 100])
def test_batches_do_not_matter(table_of, numbered_images, generator, size):
    logits, labels = torch.randn(100, 10, generator=generator) * 3, torch.arange(100) % 10
    model, images = table_of(logits), numbered_images(100)
    whole, parts = evaluate(model, [(images, labels)]), evaluate(model, in_batches(images, labels, size))
    assert parts == pytest.approx(whole, rel=1e-5)


def test_sums_of_processes_add_up(table_of, numbered_images, generator):
    logits, labels = torch.randn(60, 10, generator=generator), torch.arange(60) % 10
    parts = [judge(logits[rank::3], labels[rank::3]) for rank in range(3)]
    assert accuracy_of(sum(parts)) == pytest.approx(accuracy_of(judge(logits, labels)), rel=1e-5)


def test_calibration_error_is_the_gap_between_saying_and_being_right():
    # 10 images said with 0.8, of which 5 are right; 30 said with 0.55, of which 27 are right
    confidence = torch.tensor([0.8] * 10 + [0.55] * 30)
    logits = torch.stack([confidence.log(), (1 - confidence).log()], dim=1)
    right = torch.tensor([True] * 5 + [False] * 5 + [True] * 27 + [False] * 3)
    found = calibration_error(confidence_bins(logits, right))
    assert found == pytest.approx((10 * 0.3 + 30 * 0.35) / 40, abs=1e-6)


def test_calibration_error_is_that_of_its_definition(generator):
    logits, labels = torch.randn(500, 6, generator=generator) * 2, torch.arange(500) % 6
    confidence, said = logits.softmax(1).max(1)
    expected = 0.0
    for low in range(BINS):
        inside = (confidence > low / BINS) & (confidence <= (low + 1) / BINS)
        if inside.any():
            gap = confidence[inside].mean() - (said[inside] == labels[inside]).float().mean()
            expected += gap.abs().item() * inside.float().mean().item()
    assert accuracy_of(judge(logits, labels)).ece == pytest.approx(expected, abs=1e-6)


def test_a_model_that_is_always_sure_and_right_is_calibrated():
    logits = 100 * torch.eye(5)
    assert accuracy_of(judge(logits, torch.arange(5))).ece == 0
    assert accuracy_of(judge(logits, torch.arange(5).roll(1))).ece == 1


def test_a_diverged_model_is_never_right():
    found = accuracy_of(judge(torch.full((4, 3), math.nan), torch.zeros(4, dtype=torch.int64)))
    assert (found.top1, found.top5) == (0, 0)
    assert math.isnan(found.loss)
    assert found.ece == 0


def test_every_module_keeps_its_mode():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Sequential(nn.Dropout()))
    model[0].eval()
    with eval_mode(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, False, True, True]
    with pytest.raises(KeyError), eval_mode(model):
        raise KeyError
    assert [module.training for module in model.modules()] == [True, False, True, True]


def test_logits_are_found_in_what_models_return(table_of, numbered_images):
    class Wrapped(nn.Module):
        def forward(self, images):
            return {"logits": table_of(torch.eye(4))(images), "loss": None}

    class Odd(nn.Module):
        def forward(self, images):
            return {"scores": table_of(torch.eye(4))(images)}

    batches = [(numbered_images(4), torch.arange(4))]
    assert evaluate(Wrapped(), batches).top1 == 1
    assert evaluate(Odd(), batches, logits=lambda output: output["scores"]).top1 == 1
    with pytest.raises(TypeError, match="pass logits="):
        evaluate(Odd(), batches)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (torch.tensor([0, 1, 2, 4]), "labels run from 0 to 4, but the model knows 4 classes"),
        (torch.tensor([0, 1, 2, -1]), "labels run from -1 to 2"),
        (torch.eye(4), "int64 labels"),
        (torch.arange(3), "int64 labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused(table_of, numbered_images, labels, words):
    with pytest.raises(ValueError, match=words):
        evaluate(table_of(torch.eye(4)), [(numbered_images(4), labels)])


def test_nothing_to_evaluate_on_is_an_error(table_of):
    with pytest.raises(ValueError, match="at least one batch"):
        evaluate(table_of(torch.eye(4)), [])

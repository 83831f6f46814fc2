import pytest
import torch
from torch import nn

from puzzlemix.experiments.lambda_curves import Pairs, cutmix, different_pairs, input_mixup, measure, total_variation
from puzzlemix.models import build_model


def pairs(count=8, classes=4):
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(count) % classes
    images = torch.rand(count, 3, 16, 16, generator=generator)
    saliency = torch.rand(count, 16, 16, generator=generator) ** 8
    return Pairs(images, labels, saliency, different_pairs(labels, generator))


def points(model, lambdas=(0.0, 0.5, 1.0)):
    found = measure(model, [pairs(), pairs()], torch.Generator().manual_seed(1), lambdas=lambdas)
    return {(point.method, point.grid, point.lam): point for point in found}


class SaysTheFirst(nn.Module):
    """Puts class 0 first and class 1 second, whatever it sees."""

    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = nn.Identity(), nn.Identity()

    def forward(self, images):
        self.layer2(self.layer1(images))
        return torch.tensor([3.0, 2.0, 1.0, 0.0]).expand(len(images), -1)


def test_partners_have_other_classes():
    for seed in range(20):
        labels = torch.tensor([0, 0, 0, 1, 1, 2, 2, 3])
        partners = different_pairs(labels, torch.Generator().manual_seed(seed))
        assert (labels[partners] != labels).all()


def test_pasting_keeps_one_images_worth_of_saliency_and_puzzle_mix_more():
    found = points(build_model("preact_resnet18", 4, width=2, seed=0), (0.0, 0.3, 1.0))
    for lam in (0.0, 0.3, 1.0):
        assert found["input_mixup", "", lam].saliency == pytest.approx(1)
        assert found["cutmix", "", lam].saliency == pytest.approx(1, abs=0.05)
    assert [found["puzzle", "8", lam].saliency for lam in (0.0, 1.0)] == pytest.approx([1, 1])
    assert found["puzzle", "8", 0.3].saliency > 1.05
    assert found["manifold_mixup", "", 0.3].saliency is None


def test_lambda_is_the_first_images_share_under_every_mix_of_images():
    model = build_model("preact_resnet18", 4, width=2, seed=0)
    for lam in (0.0, 0.2, 0.5, 0.9, 1.0):
        for seed in range(5):
            generator = torch.Generator().manual_seed(seed)
            shares = [mix(model, pairs(), lam, generator).ratio for mix in (input_mixup, cutmix)]
            assert shares[0].tolist() == pytest.approx([lam] * 8)
            # whole pixels: sides are even, and 16 pixels make an image
            assert shares[1].tolist() == pytest.approx([lam] * 8, abs=0.2)
        assert float(shares[1].var()) == 0


def test_the_random_grid_is_the_average_of_the_grids():
    found = points(build_model("preact_resnet18", 4, width=2, seed=0), (0.5,))
    losses = [found["puzzle", grid, 0.5].loss for grid in ("2", "4", "8", "16")]
    assert found["puzzle", "random", 0.5].loss == pytest.approx(sum(losses) / 4)


def test_predictions_are_counted_as_the_paper_counts_them():
    batch = pairs()
    point = points(SaysTheFirst())["input_mixup", "", 0.5]
    couples = [{int(a), int(b)} for a, b in zip(batch.labels, batch.labels[batch.partners], strict=True)]
    assert point.top1 == pytest.approx(sum(0 in couple for couple in couples) / len(couples))
    assert point.top2 == pytest.approx(sum(couple == {0, 1} for couple in couples) / len(couples))


def test_total_variation_of_a_step():
    images = torch.zeros(1, 1, 4, 4)
    images[..., 2:] = 1
    assert total_variation(images).item() == pytest.approx(1 / 3)  # one of three steps across, none down

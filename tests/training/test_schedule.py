import dataclasses

import pytest

from puzzlemix.training.schedule import (
    IMAGENET_KNOTS,
    Phase,
    ScheduleConfig,
    cosine_rate,
    learning_rate,
    linear_rate,
    one_cycle_rate,
    phase_at,
)


@pytest.mark.parametrize(
    ("epochs", "lr", "milestones"),
    [
        (400, 0.1, (200, 300)),  # C.1, WRN28-10
        (1200, 0.1, (400, 800)),  # C.1, PreActResNet18
        (1200, 0.2, (600, 900)),  # C.2, Tiny-ImageNet
        (600, 0.2, (350, 500)),  # half, PreActResNet18
        (200, 0.2, (120, 170)),  # half, WRN28-10
    ],
)
def test_the_papers_steps_epoch_by_epoch(epochs, lr, milestones):
    config = ScheduleConfig(schedule="step", lr=lr, milestones=milestones)
    first, second = milestones
    for epoch in range(epochs):
        expected = lr if epoch < first else lr / 10 if epoch < second else lr / 100
        assert learning_rate(config, epoch, epochs) == pytest.approx(expected, rel=1e-12)
        assert learning_rate(config, epoch + 0.99, epochs) == pytest.approx(expected, rel=1e-12)


def test_steps_fall_at_a_half_and_three_quarters_where_nothing_is_said():
    config = ScheduleConfig(schedule="step", lr=1.0)
    rates = [learning_rate(config, epoch, 8) for epoch in range(8)]
    assert rates == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.01, 0.01])


def papers_imagenet_rate(epoch):
    """Supplementary C.3, sentence by sentence."""
    if epoch < 8:
        return 0.5 + (1.0 - 0.5) * epoch / 8
    if epoch < 15:
        return 1.0 + (0.125 - 1.0) * (epoch - 8) / (15 - 8)
    if epoch < 40:
        return 0.2 + (0.02 - 0.2) * (epoch - 15) / (40 - 15)
    if epoch < 65:
        return 0.02 + (0.002 - 0.02) * (epoch - 40) / (65 - 40)
    if epoch < 90:
        return 0.002 + (0.0002 - 0.002) * (epoch - 65) / (90 - 65)
    return 0.0002 + (0.00002 - 0.0002) * (epoch - 90) / (100 - 90)


def test_the_papers_imagenet_schedule_epoch_by_epoch():
    config = ScheduleConfig(schedule="linear")
    for tenth in range(1000):
        rate = learning_rate(config, tenth / 10, 100)
        assert rate == pytest.approx(papers_imagenet_rate(tenth / 10), rel=1e-12)


def test_linear_holds_its_ends_and_jumps_where_an_epoch_comes_twice():
    assert linear_rate(-1, IMAGENET_KNOTS) == 0.5
    assert linear_rate(15, IMAGENET_KNOTS) == 0.2
    assert linear_rate(14.999999, IMAGENET_KNOTS) == pytest.approx(0.125, abs=1e-5)
    assert linear_rate(200, IMAGENET_KNOTS) == 0.00002
    assert linear_rate(3, [(0, 0.3)]) == 0.3


def test_cosine():
    assert [cosine_rate(p, 0.2) for p in (0, 0.5, 1)] == pytest.approx([0.2, 0.1, 0])
    assert cosine_rate(1.5, 0.2) == 0


def test_one_cycle_is_that_of_torch():
    from torch import nn
    from torch.optim import SGD
    from torch.optim.lr_scheduler import OneCycleLR

    optimiser = SGD(nn.Linear(1, 1).parameters(), lr=1, momentum=0.9)
    theirs = OneCycleLR(optimiser, max_lr=0.2, total_steps=101)
    for step in range(101):
        # torch puts the peak one step early
        progress = step / 100 if step > 29 else step / 29.3 * 0.3
        assert one_cycle_rate(progress, 0.2) == pytest.approx(optimiser.param_groups[0]["lr"], abs=4e-3)
        optimiser.step()
        theirs.step()
    assert max(one_cycle_rate(i / 1000, 0.2) for i in range(1001)) == 0.2


def test_warmup_starts_from_nothing():
    config = ScheduleConfig(schedule="cosine", lr=0.2, warmup=5)
    assert learning_rate(config, 0, 100) == 0
    assert learning_rate(config, 2.5, 100) == pytest.approx(cosine_rate(0.025, 0.2) / 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"schedule": "cosin"}, "did you mean cosine"),
        ({"lr": 0}, "lr=0"),
        ({"lr": float("nan")}, "lr=nan"),
        ({"drop": 2}, "drop=2"),
        ({"warmup": -1}, "warmup=-1"),
        ({"milestones": (200, 100)}, r"milestones=\(200, 100\)"),
        ({"milestones": (0, 5)}, "rising epochs from 1"),
        ({"knots": ((5, 0.1), (0, 0.2))}, "epochs that do not fall"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        ScheduleConfig(**fields)


def test_image_sizes_grow():
    phases = (Phase(0, 128, 1024), Phase(15, 224, 448))
    assert [phase_at(phases, epoch) for epoch in (0, 14, 15, 99)] == [phases[0], phases[0], phases[1], phases[1]]
    assert phase_at((), 3) is None
    assert phase_at(phases[1:], 3) is None


def test_schedules_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ScheduleConfig().lr = 1  # type: ignore

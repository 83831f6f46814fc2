import pytest
import torch

from puzzlemix.bench import steps
from puzzlemix.bench.steps import Bench, loop_times, puzzle_times, step_times
from puzzlemix.bench.timing import QUICK, Times
from puzzlemix.methods import METHODS, PuzzleSettings
from puzzlemix.training.config import DataConfig, LoopConfig, MachineConfig, ModelConfig, TrainConfig


@pytest.fixture
def tiny():
    return TrainConfig(
        data=DataConfig("synthetic", train_images=12, test_images=4, size=16),
        model=ModelConfig("preact_resnet18", width=2),
        loop=LoopConfig(epochs=1, batch_size=4),
        machine=MachineConfig(device="cpu", tensorboard=False),
    )


def weights_of(bench):
    return [weight.detach().clone() for weight in bench.engine.model.parameters()]


@pytest.mark.filterwarnings("ignore:a saliency map is all zero:RuntimeWarning")
def test_every_method_and_the_cheaper_kinds_of_puzzle_mix_are_timed(tiny):
    times = step_times(tiny, QUICK)
    assert set(times) == {*METHODS, steps.BF16, steps.REFRESHED, steps.HALF}
    assert all(0 < time.best <= time.median for time in times.values())


def test_methods_can_be_chosen(tiny):
    assert list(step_times(tiny, QUICK, {"mine": PuzzleSettings(grids=(2,))})) == ["mine"]


@pytest.mark.filterwarnings("ignore:a saliency map is all zero:RuntimeWarning")
def test_puzzle_mix_can_be_timed_beside_vanilla_alone(tiny):
    times = puzzle_times(tiny, QUICK)
    assert list(times) == ["puzzle", steps.BF16, steps.REFRESHED, steps.HALF]
    assert len({vanilla for _, vanilla in times.values()}) == 4


def test_variants_are_put_together_from_the_steps_they_take():
    kinds = {"puzzle": 10.0, "new map kept": 12.0, "map reused": 4.0, "unmixed": 2.0}
    times = {name: Times(value, 2 * value) for name, value in kinds.items()}
    found = {name: steps._put_together(name, times) for name in ("puzzle", steps.REFRESHED, steps.HALF)}
    assert found == {"puzzle": Times(10, 20), steps.REFRESHED: Times(6, 12), steps.HALF: Times(6, 12)}


@pytest.mark.parametrize(("refresh", "passes"), [(None, 3), (1, 3), (steps._NEVER_STALE, 1)])
def test_only_a_new_map_costs_a_pass(tiny, refresh, passes):
    bench = Bench(tiny)
    step = bench.step_of(PuzzleSettings(grids=(2,), refresh=refresh))
    modes = []
    bench.engine.model.register_forward_pre_hook(lambda module, _: modes.append(module.training))
    for _ in range(3):
        step()
    assert modes.count(False) == passes
    assert modes.count(True) == 3


def test_the_steps_of_a_bench_learn_nothing(tiny):
    bench = Bench(tiny)
    before = weights_of(bench)
    for function in (bench.step_of(PuzzleSettings()), bench.bare_step(), bench.pipeline()):
        function()
    assert all(torch.equal(old, new) for old, new in zip(before, weights_of(bench), strict=True))


def test_the_loop_is_timed_for_longer_than_an_epoch_and_leaves_the_random_state_alone(tiny):
    before = torch.get_rng_state()
    times = loop_times(tiny, QUICK._replace(steps=4))
    assert list(times) == [steps.OURS, steps.BARE, steps.PIPELINE]
    assert times[steps.PIPELINE].best < times[steps.OURS].best
    assert torch.equal(torch.get_rng_state(), before)

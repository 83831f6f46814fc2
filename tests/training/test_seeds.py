import itertools

import torch

from puzzlemix.training.seeds import global_state_kept, seed_layers, step_generator

PLACES = list(itertools.product((0, 1), repeat=5))


def test_every_step_of_every_process_draws_its_own():
    assert len({torch.rand((), generator=step_generator(*place)).item() for place in PLACES}) == len(PLACES)


def test_nothing_depends_on_what_was_drawn_before():
    first = torch.rand(3, generator=step_generator(1, 2, 3))
    torch.rand(10, generator=step_generator(1, 2, 2))
    assert torch.equal(torch.rand(3, generator=step_generator(1, 2, 3)), first)


def test_layers_draw_by_step_too_and_outside_nobody_notices():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    device = torch.device("cpu")
    with global_state_kept(device):
        drawn = []
        for place in ((0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 0, 1), (0, 0, 0)):
            seed_layers(device, *place)
            drawn.append(torch.rand(()).item())
    assert len(set(drawn)) == 4
    assert drawn[0] == drawn[-1]
    assert torch.equal(torch.rand(3), expected)

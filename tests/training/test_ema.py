import torch
from torch import nn

from puzzlemix.training.ema import Ema


def model_of(value):
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    with torch.no_grad():
        for tensor in model.state_dict().values():
            tensor.fill_(value)
    return model


def test_it_follows_by_the_formula():
    ema = Ema(model_of(0), decay=0.3)
    expected = 0.0
    for step, value in enumerate((1, 2, 4), start=1):
        ema.update(model_of(value), step)
        decay = min(0.3, step / (step + 9))
        expected = decay * expected + (1 - decay) * value
        for name, tensor in ema.model.state_dict().items():
            wanted = value if name.endswith("num_batches_tracked") else expected
            torch.testing.assert_close(tensor, torch.full_like(tensor, wanted))


def test_it_is_a_copy_in_eval_mode_that_asks_for_no_gradients():
    model = model_of(1)
    ema = Ema(model, 0.9)
    assert model.training
    assert not ema.model.training
    assert not any(p.requires_grad for p in ema.model.parameters())
    with torch.no_grad():
        model[0].weight.zero_()
    assert ema.model.get_parameter("0.weight").min() == 1

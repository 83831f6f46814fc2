import pytest
import torch
from torch.nn.functional import avg_pool2d

from puzzlemix.core.transport import solve_transport, transport_problem


@pytest.mark.parametrize("number", range(24))
@pytest.mark.parametrize("role", ["first", "second"])
def test_paper_moves_what_the_reference_moves(golden, number, role):
    case = {
        field: torch.tensor(golden[f"case{number:02}.{field}"])
        for field in ("mask", f"{role}_source", f"{role}_filled")
    }
    mask = case["mask"]
    pooled = avg_pool2d(torch.tensor(golden["saliency"]), 32 // mask.shape[-1])
    share = pooled / pooled.sum((1, 2), keepdim=True)
    if role == "second":
        mask, share = 1 - mask, share[torch.tensor(golden["index"])]
    source = solve_transport(transport_problem(share, (mask > 0).long(), 0.8, "visible", 1), "paper")
    compared = (mask > 0).flatten(1) & (case[f"{role}_filled"] > 0)
    assert compared.any()
    assert source[compared].tolist() == case[f"{role}_source"][compared].tolist()

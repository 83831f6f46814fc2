import os
from pathlib import Path

import hypothesis
import numpy as np
import pytest
import torch

hypothesis.settings.register_profile("puzzlemix", deadline=None, max_examples=40, derandomize=True)
hypothesis.settings.load_profile("puzzlemix")


@pytest.fixture(scope="session")
def shared():
    """The folder of reference material beside a checkout; tests that want it are skipped where it is missing."""
    folder = Path(os.environ.get("PUZZLEMIX_SHARED", Path(__file__).parents[2] / "shared"))
    if not folder.is_dir():
        pytest.skip("no reference material: set PUZZLEMIX_SHARED to its folder")
    return folder


@pytest.fixture(scope="session")
def golden(shared):
    """Six real images mixed by the reference: {name: array}."""
    return dict(np.load(shared / "golden" / "reference_32.npz"))


@pytest.fixture
def threads():
    """Set torch's thread count for the length of a test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(0)

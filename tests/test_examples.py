import math
import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
NEEDS = {
    "plain_loop": "torchvision",
    "timm_model": "timm",
    "lightning_module": "lightning",
    "hugging_face_trainer": "transformers",
}


@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.filterwarnings("default")  # what other packages warn about is their own affair
def test_the_example_runs(name):
    pytest.importorskip(NEEDS[name])
    example = runpy.run_path(str(EXAMPLES / f"{name}.py"))
    assert math.isfinite(example["main"](steps=2, batch_size=4))

import importlib
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="session")
def benchmark_module():
    """Import a module of benchmarks/, which is a folder of scripts and no package."""
    if not FOLDER.is_dir():
        pytest.skip("no benchmarks/ beside the tests")
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))

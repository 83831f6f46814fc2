import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import puzzlemix

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_installed_one():
    assert puzzlemix.__version__ == metadata.version("puzzlemix")


def test_every_public_name_exists():
    assert all(hasattr(puzzlemix, name) for name in puzzlemix.__all__)


def test_imports_point_one_way():
    pytest.importorskip("importlinter")
    found = subprocess.run(
        [Path(sys.executable).parent / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout


def test_importing_is_light():
    code = "import torch, sys, puzzlemix; print([m for m in ('numba', 'scipy', 'matplotlib') if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

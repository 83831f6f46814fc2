"""Packages that only some models need are imported when those models are asked for."""

import importlib
from types import ModuleType


def require(package: str) -> ModuleType:
    """Import a package of the extra `train`, or say how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f'{package} cannot be imported ({error}): pip install "puzzlemix[train]"') from error

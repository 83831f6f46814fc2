"""The one error of data sets, and the hint every optional package is asked for with."""

import importlib
from typing import Any


class DataError(ValueError):
    """A data set that is missing, damaged or laid out otherwise than expected; the message says what to do."""


def needed(module: str, why: str) -> Any:
    """Import an optional module, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'{why} needs {module}: pip install "puzzlemix[train]"') from error

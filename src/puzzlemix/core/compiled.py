"""How kernels are compiled: on first use, cached on disk, free of the interpreter lock."""

from collections.abc import Callable
from typing import Any

import numba


def compiled(function: Callable) -> Any:
    """Compile on first use; cached on disk unless no cache directory is writable."""
    try:
        return numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba found no place to write: the package and the home directory are read-only
        return numba.njit(nogil=True)(function)

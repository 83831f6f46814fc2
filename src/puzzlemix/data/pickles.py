"""The official CIFAR files are Python pickles: here they are read as data, and run nothing.

A pickle may name any function and have it called. Of the names that occur in files of plain values and numpy arrays,
each stands for a small class or function here; any other is refused.
"""

import io
import pickle
import re
from typing import Any

import numpy as np

from .errors import DataError

_PLAIN = re.compile(r"[<>|=]?[biu][1248]")


class _Dtype:
    """What a pickle says of an array's type."""

    def __init__(self, code: Any, *_: Any):
        self.code = code.decode("ascii") if isinstance(code, bytes) else code
        self.order = "|"

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        self.order = order.decode("ascii") if isinstance(order, bytes) else order

    def real(self) -> np.dtype:
        code = str(self.order).replace("|", "") + str(self.code).lstrip("<>|=")
        if not _PLAIN.fullmatch(code):
            raise ValueError(f"an array is of type {self.code!r}")
        return np.dtype(code)


class _Array:
    """What a pickle says of an array."""

    def __init__(self, *_: Any):
        self.value: np.ndarray | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, columns_first, data = state
        data = data.encode("latin1") if isinstance(data, str) else data
        self.value = _shaped(data, dtype, shape, "F" if columns_first else "C")


def _from_buffer(data: Any, dtype: _Dtype, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.value = _shaped(data, dtype, shape, order)
    return array


def _shaped(data: Any, dtype: _Dtype, shape: Any, order: Any) -> np.ndarray:
    return np.frombuffer(data, dtype.real()).reshape(shape, order="F" if order == "F" else "C")


def _encode(text: str, *_: Any) -> bytes:
    """How bytes look in files that were written for Python 2."""
    return text.encode("latin1")


_STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
    ("_codecs", "encode"): _encode,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _from_buffer for core in ("core", "_core")},
}


# the one written in Python: the other one can be made to claim any amount of memory by a few bytes
class _Reader(pickle._Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _STAND_INS:
            raise pickle.UnpicklingError(f"it would run {module}.{name}, which a data set has no use for")
        return _STAND_INS[module, name]


def read_pickle(data: bytes, name: str) -> dict[str, Any]:
    """Read a dictionary of plain values and numpy arrays; `name` is for messages."""
    try:
        read = _Reader(io.BytesIO(data), encoding="bytes").load()
        if not isinstance(read, dict):
            raise ValueError(f"it holds a {type(read).__name__}, not a dictionary")
        return {_text(key): value.value if isinstance(value, _Array) else value for key, value in read.items()}
    except Exception as error:  # damaged bytes can fail in any way
        raise DataError(
            f"{name} ({len(data):,} bytes) cannot be read ({error or type(error).__name__}): fetch the data set again"
        ) from error


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)

import contextlib
import os
import pickle
import struct

import numpy as np
import pytest

from puzzlemix.data import DataError
from puzzlemix.data.pickles import read_pickle

PIXELS = np.arange(12, dtype=np.uint8).reshape(3, 4)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_and_arrays_are_read(protocol):
    values = {
        "data": PIXELS,
        "labels": [1, 2, 3],
        "names": ["a", "b"],
        "wide": np.asfortranarray(PIXELS.astype(np.int64)),
    }
    read = read_pickle(pickle.dumps(values, protocol), "x")
    assert read["labels"] == [1, 2, 3]
    assert read["names"] == ["a", "b"]
    for name in ("data", "wide"):
        assert read[name].dtype == values[name].dtype
        assert np.array_equal(read[name], values[name])


def test_files_written_by_python_2_are_read():
    """As the official ones are: texts are bytes, the array's content is a text."""
    text = lambda value: b"U" + bytes([len(value)]) + value  # noqa: E731
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85" + text(b"b") + b"tR"
        b"(K\x01K\x03K\x04\x86cnumpy\ndtype\n("
        + text(b"u1")
        + b"K\x00K\x01tR(K\x03"
        + text(b"|")
        + b"NNNJ\xff\xff\xff\xff"
        b"J\xff\xff\xff\xffK\x00tb\x89" + text(PIXELS.tobytes()) + b"tb"
    )
    made = b"\x80\x02}(" + text(b"data") + array + text(b"labels") + b"]K\x07a" + b"u."
    read = read_pickle(made, "x")
    assert np.array_equal(read["data"], PIXELS)
    assert read["labels"] == [7]


class Evil:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize(
    "evil",
    [
        Evil(os.system, "touch evil"),
        Evil(eval, "open('evil', 'w')"),
        Evil(getattr, "text", "upper"),
        Evil(np.save, "evil", [1]),
        Evil(np.load, "evil"),
    ],
    ids=lambda evil: evil.call.__name__,
)
def test_nothing_is_run(evil, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for protocol in (2, 5):
        with pytest.raises(DataError, match=r"x .* cannot be read .*it would run"):
            read_pickle(pickle.dumps({"labels": evil}, protocol), "x")
    assert not list(tmp_path.iterdir())


def test_arrays_of_objects_are_refused():
    with pytest.raises(DataError, match="cannot be read"):
        read_pickle(pickle.dumps({"data": np.array([{}])}), "x")


def test_a_huge_place_in_memory_costs_nothing():
    claim = b"\x80\x02}r" + struct.pack("<I", 2**32 - 1) + b"."
    assert read_pickle(claim, "x") == {}


@pytest.mark.parametrize("value", [[1], "text", PIXELS])
def test_other_things_than_dictionaries_are_refused(value):
    with pytest.raises(DataError, match="not a dictionary"):
        read_pickle(pickle.dumps(value), "x")


def test_damage_anywhere_is_a_data_error_or_harmless():
    whole = pickle.dumps({"data": PIXELS, "labels": [1, 2, 3]})
    rng = np.random.default_rng(0)
    for trial in range(400):
        data = bytearray(whole[: rng.integers(1, len(whole) + 1)] if trial % 4 == 0 else whole)
        for place in rng.integers(0, len(data), 2):
            data[place] = rng.integers(256)
        with contextlib.suppress(DataError):
            assert isinstance(read_pickle(bytes(data), "x"), dict)

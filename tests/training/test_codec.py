import json
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pytest

from puzzlemix.training.codec import decode, encode


class Pair(NamedTuple):
    epoch: int
    size: float


@dataclass(frozen=True)
class Inner:
    rate: float = 1.0
    kind: Literal["a", "b"] = "a"


@dataclass(frozen=True)
class Outer:
    name: str = "x"
    on: bool = False
    count: int | None = None
    inner: Inner = field(default_factory=Inner)
    extra: Inner | None = None
    grids: tuple[int | tuple[int, int], ...] = ()
    pairs: tuple[Pair, ...] = ()


FULL = Outer("y", True, 3, Inner(2.0, "b"), Inner(), (2, (4, 8)), (Pair(1, 2.0),))


@pytest.mark.parametrize("config", [Outer(), FULL])
def test_there_and_back_through_json(config):
    back = decode(Outer, json.loads(json.dumps(encode(config))))
    assert back == config
    assert type(back.inner) is Inner
    assert all(type(pair) is Pair for pair in back.pairs)


def test_whole_numbers_become_floats_where_floats_belong():
    assert repr(decode(Inner, {"rate": 3}).rate) == "3.0"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"nam": "x"}, "nam is no setting: did you mean name"),
        ({"inner": {"rat": 1}}, "inner.rat is no setting: did you mean rate"),
        ({"inner": {"kind": "c"}}, "inner.kind is 'c': choose one of a, b"),
        ({"on": 1}, "on is 1: pass true or false"),
        ({"count": "3"}, "count is '3': pass a whole number"),
        ({"count": True}, "count is True: pass a whole number"),
        ({"inner": {"rate": "1"}}, "inner.rate is '1': pass a number"),
        ({"inner": 3}, "inner is 3: pass an object"),
        ({"name": None}, "name is None: pass a text"),
        ({"pairs": [[1]]}, r"pairs\[0\] is \[1\]: pass a list of 2"),
        ({"grids": 4}, "grids is 4: pass a list"),
        ({"grids": ["4"]}, r"grids\[0\]"),
    ],
)
def test_what_does_not_fit_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        decode(Outer, values)


def test_not_even_an_object():
    with pytest.raises(ValueError, match=r"the config is \[\]: pass an object"):
        decode(Outer, [])

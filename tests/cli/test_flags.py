from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import pytest

from puzzlemix.cli.flags import Names, add_flags, changed, field_helps, flags_of, read_flags, read_grid
from puzzlemix.cli.parser import Parser, UsageError
from puzzlemix.core.inputs import Grid


class Step(NamedTuple):
    epoch: int
    size: int
    crop: float | None = None


@dataclass(frozen=True)
class Noise:
    """Noise.

    prob, eps: how often and how much.
    """

    prob: float = 0.5
    eps: float = 8.0


@dataclass(frozen=True)
class Mixture:
    """The mixture.

    beta: smoothness. xi: moved distance.
    """

    beta: float = 1.2
    xi: float = 0.8


@dataclass(frozen=True)
class Settings:
    """All kinds of fields.

    count: how many; rate: how fast, e.g. 0.1. name: what it is called: a word. way: there or back.
    """

    count: int | None = None
    rate: float = 0.1
    name: str = "it"
    way: Literal["there", "back"] = "there"
    quick: bool = False
    calm: bool | None = None
    grids: tuple[Grid, ...] = (2, (2, 4))
    marks: tuple[int, ...] = ()
    knots: tuple[tuple[float, float], ...] = ()
    steps: tuple[Step, ...] = ()
    noise: Noise | None = None
    mix: Mixture = field(default_factory=Mixture)


NAMES = Names(plain=("mix",), renamed={("name",): "title"}, helps={("quick",): "in a hurry"})


def typed(*arguments, base=Settings(), names=NAMES):
    """The settings, with the arguments laid over them."""
    parser, flags = Parser("test", "", ""), list(flags_of(base, names))
    add_flags(parser, "settings", flags)
    return changed(base, read_flags(parser.read(list(arguments)), flags))


def test_nothing_typed_changes_nothing():
    base = Settings(count=3, noise=Noise(eps=1.0))
    assert typed(base=base) == base


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--count", "4"], Settings(count=4)),
        (["--rate", "1e-3"], Settings(rate=0.001)),
        (["--title", "that"], Settings(name="that")),
        (["--way", "back"], Settings(way="back")),
        (["--quick", "--no-calm"], Settings(quick=True, calm=False)),
        (["--grids", "4", "2x8"], Settings(grids=(4, (2, 8)))),
        (["--marks", "3,5", "9"], Settings(marks=(3, 5, 9))),
        (["--knots", "0", "0.5", "8", "1"], Settings(knots=((0.0, 0.5), (8.0, 1.0)))),
        (["--steps", "0,128,15,224"], Settings(steps=(Step(0, 128), Step(15, 224)))),
        (["--steps", "0", "128", "0.5", "15", "224"], Settings(steps=(Step(0, 128, 0.5), Step(15, 224)))),
        (["--steps", "0", "128", "15", "224", "1.0"], Settings(steps=(Step(0, 128), Step(15, 224, 1.0)))),
        (["--beta", "2"], Settings(mix=Mixture(beta=2.0))),
        (["--noise"], Settings(noise=Noise())),
        (["--noise-eps", "2"], Settings(noise=Noise(eps=2.0))),
    ],
)
def test_values_are_read_by_their_type(arguments, wanted):
    assert typed(*arguments) == wanted


def test_what_was_set_can_be_taken_back():
    base = Settings(count=3, marks=(1, 2), noise=Noise(), quick=True)
    found = typed("--count", "none", "--marks", "--no-noise", "--no-quick", base=base)
    assert found == Settings()


def test_a_group_keeps_what_is_not_typed():
    assert typed("--noise-prob", "0.1", base=Settings(noise=Noise(eps=3.0))).noise == Noise(prob=0.1, eps=3.0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--count", "few"], "--count is 'few': pass a whole number"),
        (["--rate", "fast"], "--rate is 'fast': pass a number"),
        (["--way", "bck"], "--way 'bck' is unknown: did you mean back?"),
        (["--grids", "2x"], "--grids is '2x': pass a grid, as 4 or 2x8"),
        (["--knots", "1", "2", "3"], "--knots has 3 values: pass 2 for each entry, X X"),
        (["--steps", "1"], "--steps has 1 values: pass 2 or 3 for each entry, EPOCH SIZE [CROP]"),
        (["--name", "x"], "'--name' is not understood"),
    ],
)
def test_what_cannot_be_read_is_named(arguments, said):
    with pytest.raises(UsageError) as error:
        typed(*arguments)
    assert said in str(error.value)


def test_hidden_fields_are_no_flags():
    with pytest.raises(UsageError, match="--rate"):
        typed("--rate", "1", names=Names(hidden=[("rate",)]))


def test_help_comes_from_the_docstrings():
    parser = Parser("test", "", "")
    add_flags(parser, "settings", list(flags_of(Settings(), NAMES)))
    text = " ".join(parser.format_help().split())
    assert "--count N how many (default: none)" in text
    assert "--rate X how fast, e.g. 0.1 (default: 0.1)" in text
    assert "--title NAME what it is called: a word (default: it)" in text
    assert "--way {there,back} there or back (default: there)" in text
    assert "--quick, --no-quick in a hurry (default: off)" in text
    assert "--grids [GRID ...] (default: 2 2x4)" in text
    assert "--noise-eps X how often and how much (default: 8.0)" in text


def test_helps_of_a_base_class_count_too():
    @dataclass(frozen=True)
    class Louder(Noise):
        """Noise. loud: very."""

        loud: bool = True

    assert field_helps(Louder) == {"prob": "how often and how much", "eps": "how often and how much", "loud": "very"}


def test_grids():
    assert (read_grid("16"), read_grid("2x8")) == (16, (2, 8))
    for text in ("", "x", "2x", "-4", "2x2x2", "4.0"):
        with pytest.raises(ValueError, match="cannot be read"):
            read_grid(text)

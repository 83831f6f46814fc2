import pytest

from puzzlemix.cli.parser import Parser, UsageError


@pytest.fixture
def parser():
    parser = Parser("cook", "Cook a meal.", "puzzlemix cook --servings 2")
    parser.add_argument("--servings", type=int, default=1)
    parser.add_argument("--side-dish")
    return parser


def test_underscores_are_read_as_hyphens_in_names_alone(parser):
    found = parser.read(["--side_dish=some_rice", "--servings", "2"])
    assert (found.side_dish, found.servings) == ("some_rice", 2)


def test_unknown_flags_are_answered_with_the_nearest(parser):
    with pytest.raises(UsageError, match="'--serving' is not understood: did you mean --servings"):
        parser.read(["--serving", "3"])
    with pytest.raises(UsageError, match="'--serving' is not understood"):
        parser.read(["--serving=3"])
    with pytest.raises(UsageError, match="'soup' is not understood: see puzzlemix cook --help"):
        parser.read(["soup"])


def test_flags_are_not_guessed_from_their_beginning(parser):
    with pytest.raises(UsageError, match="did you mean --side-dish"):
        parser.read(["--side", "rice"])


def test_complaints_are_raised(parser):
    with pytest.raises(UsageError, match="--servings: invalid int value: 'many'"):
        parser.read(["--servings", "many"])


def test_help_begins_with_what_it_does_and_examples(parser):
    assert "Cook a meal.\n\nexamples:\n  puzzlemix cook --servings 2\n" in parser.format_help()

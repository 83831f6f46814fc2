import pytest

SMALL = ("--quick", "--train-images", 20, "--test-images", 10, "--batch-size", 10, "--width", 2, "--device", "cpu")


def columns(output):
    """The table's rows by their names: texts."""
    return {line[:34].split("   ")[0].strip(): line.split() for line in output.splitlines() if " ms " in line}


def test_every_part_is_measured(call):
    code, output, errors = call("bench", *SMALL)
    assert (code, errors) == (0, "")
    rows = columns(output)
    assert {"plain mixup", "grid 16", "vanilla", "puzzle", "our loop", "bare loop", "input pipeline"} <= set(rows)
    assert rows["vanilla"][-1] == "1.00"


def test_a_part_alone(call):
    code, output, _ = call("bench", "loop", *SMALL)
    assert code == 0
    assert set(columns(output)) == {"our loop", "bare loop", "input pipeline"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["stps"], "there is no part 'stps': did you mean steps"),
        (["--model", "resnt50"], "did you mean resnet50"),
        (["--batch-size", "0"], "batch_size=0"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(call, arguments, said):
    code, _, errors = call("bench", *arguments)
    assert (code, errors.count("\n")) == (2, 1)
    assert said in errors

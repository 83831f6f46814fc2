import pytest

from puzzlemix.experiments.published import PairedTest, PublishedTable, Sweep
from puzzlemix.experiments.tables import (
    Column,
    p_value,
    paired_test,
    paired_text,
    spread,
    sweep_text,
    table_text,
    verdict,
)

PAPER = PublishedTable("A table", ("top1", "fgsm"), {"Vanilla": (21.14, 63.92), "Puzzle Mix": (15.95, 63.71)})
OURS = {
    "Vanilla": [{"top1": 20.0, "fgsm": 60.0}, {"top1": 22.0, "fgsm": 62.0}],
    "Puzzle Mix": [{"top1": 16.0}, {"top1": 17.0}],
}


def test_ours_stand_beside_the_papers():
    assert table_text(PAPER, list(PAPER.rows), OURS) == (
        "**A table**, errors in %\n\n"
        "| method     | top-1, paper |      top-1, ours | FGSM, paper |       FGSM, ours |\n"
        "| ---------- | -----------: | ---------------: | ----------: | ---------------: |\n"
        "| Vanilla    |        21.14 | 21.00 ± 1.41 (2) |       63.92 | 61.00 ± 1.41 (2) |\n"
        "| Puzzle Mix |        15.95 | 16.50 ± 0.71 (2) |       63.71 |                - |\n\n"
        "- top-1: Puzzle Mix leads Vanilla by 4.50 points (Welch's t-test: p = 0.092).\n"
    )


def test_a_table_that_the_paper_lacks_has_our_columns_only():
    text = table_text(PublishedTable("Ours", ("top1",), {}), ["Vanilla"], {"Vanilla": [{"top1": 20.0}]})
    assert "| method  | top-1 |\n" in text
    assert text.endswith("| Vanilla | 20.00 |\n")


def test_columns_beside_the_errors():
    more = [Column("epochs", {"Vanilla": "40"}), Column("time", {"Puzzle Mix": "1.70"}, "Times of one machine.")]
    text = table_text(PAPER, list(PAPER.rows), OURS, more)
    assert text.splitlines()[2].endswith("| epochs | time |")
    assert text.splitlines()[4].endswith("|     40 |      |")
    assert text.endswith("- Times of one machine.\n")


def test_a_sweep_has_mean_and_deviation_over_its_values():
    ours = {"a": [{"top1": 16.0}, {"top1": 17.0}], "b": [{"top1": 18.5}], "c": []}
    assert sweep_text(Sweep((0.8, 0.9, 1.0), 16.19, 0.22), ours) == (
        "Top-1 errors over all values:\n\n"
        "|       | values |  mean | deviation |\n"
        "| ----- | -----: | ----: | --------: |\n"
        "| paper |      3 | 16.19 |      0.22 |\n"
        "| ours  |      2 | 17.50 |      1.41 |\n"
    )


def test_the_paired_test_is_scipys():
    one, other = [20.0, 21.5, 19.0, 22.0], [20.5, 21.0, 20.0, 22.25]
    from scipy.stats import ttest_rel

    expected = ttest_rel(one, other)
    found = paired_test([a - b for a, b in zip(one, other, strict=True)])
    assert (found.runs, found.mean) == (4, pytest.approx(-0.3125))
    assert (found.statistic, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))


def test_too_few_runs_for_a_test_leave_it_out():
    paper = PairedTest(10, -0.025, 0.239, -0.105, 0.919)
    assert "| paper |   10 | -0.025 |     0.239 | -0.105 | 0.919 |" in paired_text(paper, [])
    last = [paired_text(paper, differences).splitlines()[-1] for differences in ([], [0.5], [0.5, 0.5], [0.5, -0.25])]
    assert [[cell.strip() for cell in line.split("|")[2:-1]] for line in last] == [
        ["0", "-", "-", "-", "-"],
        ["1", "0.500", "-", "-", "-"],
        ["2", "0.500", "0.000", "-", "-"],
        ["2", "0.125", "0.530", "0.333", "0.795"],
    ]


def test_welchs_test_is_scipys():
    from scipy.stats import ttest_1samp, ttest_ind

    for one, other in (([1.0, 2.0, 4.0], [3.0, 5.0, 6.0, 8.0]), ([5.0, 7.0], [1.0, 1.5])):
        assert p_value(one, other) == pytest.approx(ttest_ind(one, other, equal_var=False).pvalue)
    # where scipy's warns, of seeds that came to the same, it is the test of the others against that value
    others = [99.8, 99.9, 99.85]
    assert p_value([100.0, 100.0, 100.0], others) == pytest.approx(ttest_1samp(others, 100.0).pvalue)
    assert p_value([100.0, 100.0], [99.8, 99.8]) is None


def test_one_seed_promises_nothing():
    assert p_value([1.0], [2.0, 3.0]) is None
    assert "too few seeds" in verdict("top1", ["a", "b"], {"a": [{"top1": 1.0}], "b": [{"top1": 2.0}]})
    assert verdict("top1", ["a"], {"a": [{"top1": 1.0}]}) == ""
    assert (spread([]), spread([2.0])) == ("-", "2.00")

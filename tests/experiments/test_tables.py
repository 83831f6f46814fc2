import math

import pytest

from puzzlemix.experiments.published import PublishedTable
from puzzlemix.experiments.tables import p_value, spread, table_text, verdict

PAPER = PublishedTable("A table", ("top1", "fgsm"), {"Vanilla": (21.14, 63.92), "Puzzle Mix": (15.95, 63.71)})
OURS = {
    "Vanilla": [{"top1": 20.0, "fgsm": 60.0}, {"top1": 22.0, "fgsm": 62.0}],
    "Puzzle Mix": [{"top1": 16.0}, {"top1": 17.0}],
}


def test_ours_stand_beside_the_papers():
    assert table_text(PAPER, list(PAPER.rows), OURS) == (
        "**A table**, errors in %\n\n"
        "| method | top-1, paper | top-1, ours | FGSM, paper | FGSM, ours |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| Vanilla | 21.14 | 21.00 ± 1.41 (2) | 63.92 | 61.00 ± 1.41 (2) |\n"
        "| Puzzle Mix | 15.95 | 16.50 ± 0.71 (2) | 63.71 | - |\n\n"
        "- top-1: Puzzle Mix leads Vanilla by 4.50 points (Welch's t-test: p = 0.092).\n"
    )


def test_a_table_that_the_paper_lacks_has_our_columns_only():
    text = table_text(PublishedTable("Ours", ("top1",), {}), ["Vanilla"], {"Vanilla": [{"top1": 20.0}]})
    assert "| method | top-1 |\n" in text
    assert text.endswith("| Vanilla | 20.00 |\n")


def test_welchs_test_by_its_formula():
    one, other = [1.0, 2.0, 4.0], [3.0, 5.0, 6.0, 8.0]
    variances = [sum((x - sum(v) / len(v)) ** 2 for x in v) / (len(v) - 1) / len(v) for v in (one, other)]
    t = (sum(other) / 4 - sum(one) / 3) / math.sqrt(sum(variances))
    freedom = sum(variances) ** 2 / sum(v**2 / (n - 1) for v, n in zip(variances, (3, 4), strict=True))
    from scipy.stats import t as student

    assert p_value(one, other) == pytest.approx(2 * student.sf(t, freedom))


def test_one_seed_promises_nothing():
    assert p_value([1.0], [2.0, 3.0]) is None
    assert "says nothing of chance" in verdict("top1", ["a", "b"], {"a": [{"top1": 1.0}], "b": [{"top1": 2.0}]})
    assert verdict("top1", ["a"], {"a": [{"top1": 1.0}]}) == ""
    assert (spread([]), spread([2.0])) == ("-", "2.00")

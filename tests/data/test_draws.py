import numpy as np
import pytest
import torch

from puzzlemix.data.draws import Streams, generator_of, hashed, seed_of


def splitmix64(state):
    """The published algorithm, in Python's own integers."""
    mask = 2**64 - 1
    word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & mask
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & mask
    return word ^ (word >> 31)


def test_numbers_are_splitmix64s():
    key = hashed("a", 3)
    golden = 0x9E3779B97F4A7C15
    expected = [splitmix64((int(key[0]) + n * golden) % 2**64) >> 40 for n in range(4)]
    assert (Streams(key).uniform(4)[0] * 2**24).astype(int).tolist() == expected


def test_every_word_and_their_order_count():
    keys = [
        hashed(*words)[0]
        for words in [
            (1, 2),
            (2, 1),
            (1,),
            (1, 2, 0),
            ("1", 2),
            ("",),
            ("a",),
            ("a", ""),
            ("a\0",),
            (-1, 2),
            ("abcdefgh",),
        ]
    ]
    assert len(set(keys)) == len(keys)


def test_arrays_give_each_row_its_own_key():
    rows = np.array([5, 0, 2**40])
    assert hashed("x", rows).tolist() == [hashed("x", int(row))[0] for row in rows]
    assert hashed("x", rows[:0]).shape == (0,)


def test_a_row_depends_on_its_key_alone_and_on_what_was_drawn_before_in_it():
    together, alone = Streams(hashed(np.arange(5))), Streams(hashed(np.array([3])))
    for shape in ((), (2, 3), (7,)):
        assert np.array_equal(together.uniform(*shape)[3:4], alone.uniform(*shape))


def test_numbers_are_uniform():
    unit = Streams(hashed("u", np.arange(200))).uniform(500)
    assert unit.dtype == np.float32
    assert unit.min() >= 0
    assert unit.max() < 1
    counts = np.histogram(unit, 20, (0, 1))[0]
    assert np.abs(counts - 5000).max() < 5 * np.sqrt(5000)
    assert abs(np.corrcoef(unit[:, 0], unit[:, 1])[0, 1]) < 0.3
    integers = Streams(hashed("i", np.arange(1000))).integers(9, below=7)
    assert set(integers.ravel().tolist()) == set(range(7))
    assert Streams(hashed(0)).uniform(low=3.0, high=3.0) == 3


@pytest.mark.parametrize("words", [("step", 0, 1), ("step", 2**70, "\udcff")])
def test_generators_follow_from_words(words):
    assert 0 <= seed_of(*words) < 2**63
    first, second = (torch.rand(3, generator=generator_of(*words)) for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, torch.rand(3, generator=generator_of(*words, 0)))


def test_seeds_stay_what_they_are():
    """Runs of all versions draw alike: these numbers must never change."""
    assert seed_of("step", 0, 1, 2) == 8488960724041578837
    assert hashed("order", 0, 0, np.arange(4)).argsort(kind="stable").tolist() == [3, 2, 0, 1]

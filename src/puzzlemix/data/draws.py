"""Random numbers as a pure function of integers: no state to save, nothing that depends on what was drawn before.

splitmix64's finaliser is used as a hash of counters. It is a few integer operations, so the numbers are the same on
every machine and for every version of torch and numpy.
"""

import numpy as np
import torch

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def _scramble(words: np.ndarray) -> np.ndarray:
    """splitmix64's finaliser: every bit of the input moves every bit of the output."""
    words = (words ^ (words >> np.uint64(30))) * _FIRST
    words = (words ^ (words >> np.uint64(27))) * _SECOND
    return words ^ (words >> np.uint64(31))


def hashed(*words: int | str | np.ndarray) -> np.ndarray:
    """Fold integers, texts and integer arrays (B,) into keys (B,), uint64; the order of the words counts."""
    key = np.zeros(1, dtype=np.uint64)
    for word in words:
        for number in _numbers(word) if isinstance(word, str) else (word,):
            value = np.atleast_1d(number % 2**64 if isinstance(number, int) else number).astype(np.uint64)
            key = _scramble((key ^ _scramble(value + _GOLDEN)) + _GOLDEN)
    return key


def _numbers(text: str) -> list[int]:
    """Cut a text into numbers of seven bytes, with its length in the eighth: no two texts have the same."""
    data = text.encode(errors="surrogateescape")  # file names may be any bytes
    parts = [data[start : start + 7] for start in range(0, max(len(data), 1), 7)]
    return [int.from_bytes(part, "little") ^ (len(data) % 256 << 56) for part in parts]


def seed_of(*words: int | str) -> int:
    """Hash words to one seed for `torch.Generator.manual_seed`."""
    return int(hashed(*words)[0] >> np.uint64(1))


def generator_of(*words: int | str) -> torch.Generator:
    """Make a CPU generator that depends on these words only."""
    return torch.Generator().manual_seed(seed_of(*words))


class Streams:
    """One stream of uniform numbers per key, all drawn side by side: row b depends on key b alone."""

    def __init__(self, keys_B: np.ndarray):
        self._keys_B = keys_B
        self._drawn = 0

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """Draw (B, *shape) float32 in [low, high)."""
        count = int(np.prod(shape, dtype=np.int64))
        counters = np.arange(self._drawn, self._drawn + count, dtype=np.uint64) * _GOLDEN
        self._drawn += count
        words = _scramble(self._keys_B[:, None] + counters)
        unit = (words >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)
        return unit.reshape(-1, *shape) * (high - low) + low

    def integers(self, *shape: int, below: int) -> np.ndarray:
        """Draw (B, *shape) int64 in 0 ... below - 1."""
        return (self.uniform(*shape) * below).astype(np.int64)

"""What several processes remember of the saliency of the same samples, brought together.

Shape suffixes: S samples, R rows and K columns of the maps.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor


class Remembered(NamedTuple):
    """Rows of a saliency cache's state: sample numbers (S), their uses (S), frames (S,5) and maps (S,R,K), if any."""

    samples: Tensor
    uses: Tensor
    frames: Tensor
    maps: Tensor | None

    @classmethod
    def none(cls) -> "Remembered":
        """Nothing yet."""
        numbers = torch.zeros(0, dtype=torch.int32)
        return cls(numbers.long(), numbers, numbers.new_zeros(0, 5), None)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Remembered":
        """What a `SaliencyCache.state_dict` holds."""
        return cls(*(state[name] for name in cls._fields))

    def as_dict(self) -> dict[str, Any]:
        """For `SaliencyCache.load_state_dict`."""
        return self._asdict()

    def since(self, before: "Remembered") -> "Remembered":
        """The rows that are new, or were used, since all were as `before`."""
        known = torch.zeros(_end(self, before), dtype=torch.int32)
        known[before.samples] = before.uses
        return self._rows(self.uses != known[self.samples])

    def updated(self, parts: Sequence["Remembered"]) -> "Remembered":
        """With the rows of the parts, which share no sample, in place of its own."""
        if not parts:
            return self
        taken = torch.zeros(_end(self, *parts), dtype=torch.bool)
        for part in parts:
            taken[part.samples] = True
        kept = self._rows(~taken[self.samples])
        rows = [one for one in (kept, *parts) if len(one.samples)]
        return Remembered(*(torch.cat(column) for column in zip(*rows, strict=True)))

    def _rows(self, which: Tensor) -> "Remembered":
        maps = None if self.maps is None else self.maps[which]
        return Remembered(self.samples[which], self.uses[which], self.frames[which], maps)


def _end(*all_rows: Remembered) -> int:
    """One more than the largest sample number."""
    return max((int(rows.samples.max()) + 1 for rows in all_rows if len(rows.samples)), default=0)

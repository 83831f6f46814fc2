"""What only a process of its own can tell: the time of an import and of a first mix, and the peak of memory.

`python benchmarks/fresh.py import | first-mix | memory-mix | memory-mixup` prints one number: seconds, or batches.
"""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

# Every freed tensor goes back to the system at once: otherwise what the warm-up left in malloc's hands would serve the
# measured call, and its memory would not be seen.
_NOTHING_KEPT = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0", "MALLOC_ARENA_MAX": "1"}


def ask(question: str, **environment: str) -> float:
    """Start a process that answers with a number."""
    everything = {**os.environ, **_NOTHING_KEPT} if question.startswith("memory") else {**os.environ}
    command = [sys.executable, str(Path(__file__)), question]
    answer = subprocess.run(command, env={**everything, **environment}, check=True, stdout=subprocess.PIPE, text=True)
    return float(answer.stdout)


def seconds_of_import() -> float:
    """`import puzzlemix` where torch is there already."""
    start = time.perf_counter()
    import puzzlemix  # noqa: F401

    return time.perf_counter() - start


def seconds_of_first_mix() -> float:
    """The first call of `puzzle_mix` in this process."""
    from puzzlemix import puzzle_mix

    images, saliency, index = _noise(100, 32)
    start = time.perf_counter()
    puzzle_mix(images, saliency, index=index, lam=0.5, grid=4)
    return time.perf_counter() - start


def memory_of_mix() -> float:
    """`puzzle_mix` on 128 images of 224 x 224 at grid 16."""
    from puzzlemix import puzzle_mix

    images, saliency, index = _noise(128, 224)
    return _peak(lambda: puzzle_mix(images, saliency, index=index, lam=0.5, grid=16)) / images.nbytes


def memory_of_mixup() -> float:
    """Plain input mixup on the same batch."""
    images, _, index = _noise(128, 224)
    return _peak(lambda: 0.5 * images + (1 - 0.5) * images[index]) / images.nbytes


def _noise(count: int, side: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.set_num_threads(2)
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(count, 3, side, side, generator=generator)
    return images, torch.rand(count, side, side, generator=generator), torch.randperm(count, generator=generator)


def _peak(function: Callable[[], object]) -> int:
    """How far the process grows during a call, in bytes: the result, and all that was needed on the way.

    Linux keeps the largest resident size (VmHWM) and forgets it when 5 is written to clear_refs. Unlike torch's
    profiler this sees whatever holds memory: numpy, numba and threads. The first calls load and compile what is needed.
    """
    for _ in range(2):
        function()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    result = function()
    del result
    return _resident("VmHWM") - before


def _resident(kind: str) -> int:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(kind))
    return int(line.split()[1]) * 1024


QUESTIONS = {
    "import": seconds_of_import,
    "first-mix": seconds_of_first_mix,
    "memory-mix": memory_of_mix,
    "memory-mixup": memory_of_mixup,
}

if __name__ == "__main__":
    print(QUESTIONS[sys.argv[1]]())

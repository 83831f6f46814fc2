"""Spreads a kernel over our own threads.

numba's threading layers do not survive a fork (OpenMP) or two callers at once (workqueue). Ours is a pool that a forked
child starts anew. A kernel takes a range of work as its first two arguments, and lets go of the interpreter lock.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise

import torch


class _Pool:
    """Worker threads, started on first use and never inherited by a forked child."""

    def __init__(self):
        self.forget()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.forget)

    def forget(self):
        self._executor = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="puzzlemix")

    def submit(self, *call):
        return self._executor.submit(*call)


_pool = _Pool()


def run_over(kernel: Callable, items: int, *arguments, least: int = 1) -> None:
    """Call `kernel(start, stop, *arguments)` over ranges covering `items`, each of at least `least` items.

    As many threads as torch uses take part. Every range writes only its own rows, so the result does not depend on
    how the work was divided.
    """
    threads = max(1, min(torch.get_num_threads(), items // max(least, 1)))
    bounds = [items * part // threads for part in range(threads + 1)]
    first, *rest = pairwise(bounds)
    others = [_pool.submit(kernel, start, stop, *arguments) for start, stop in rest]
    try:
        kernel(*first, *arguments)
    finally:
        for other in others:
            other.result()


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch and our kernels use one thread, and afterwards as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

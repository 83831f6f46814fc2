"""Times on a GPU: of the device alone, and as a loop sees them; and how often the host waits for the device."""

import time
import warnings
from collections.abc import Callable, Mapping
from statistics import median

import torch

Function = Callable[[], object]
ROUNDS = 5


def device_times(functions: Mapping[str, Function], device: torch.device, inner: int = 10) -> dict[str, float]:
    """Seconds that the device takes for each: replayed from a CUDA graph, so that launching costs next to nothing.

    inner: calls in one graph, so that replaying costs little as well.
    """
    if device.type == "cpu":
        return loop_times(functions, device)
    times = loop_times({name: captured(function, inner) for name, function in functions.items()}, device)
    return {name: time / inner for name, time in times.items()}


def loop_times(functions: Mapping[str, Function], device: torch.device, seconds: float = 0.1) -> dict[str, float]:
    """Seconds per call of each when called over and over, the median of several rounds in turn."""
    counts = {}
    for name, function in functions.items():
        function()
        counts[name] = max(1, min(200, round(seconds / ROUNDS / max(_lasts(function, 2, device), 1e-7))))
    rounds = [
        {name: _lasts(function, counts[name], device) for name, function in functions.items()} for _ in range(ROUNDS)
    ]
    return {name: median(times[name] for times in rounds) for name in functions}


def _lasts(function: Function, count: int, device: torch.device) -> float:
    """Seconds per call, until the device is done."""
    finish(device)
    start = time.perf_counter()
    for _ in range(count):
        function()
    finish(device)
    return (time.perf_counter() - start) / count


def host_time(function: Function, device: torch.device, calls: int = 20) -> float:
    """Seconds until a call comes back, whatever the device still has to do then; the median of some."""
    times = []
    for _ in range(calls):
        finish(device)
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    finish(device)
    return median(times)


def finish(device: torch.device) -> None:
    """Wait until the device has done what it was told; raises what went wrong there."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def captured(function: Function, inner: int = 1) -> Function:
    """A CUDA graph of `inner` calls; calling the result replays it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            function()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(inner):
            function()
    return graph.replay


def waits(function: Function) -> list[str]:
    """Where the host waits for the device during one call: what torch says of each time."""
    function()
    torch.cuda.synchronize()
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            function()
        finally:
            torch.cuda.set_sync_debug_mode(mode)
    said = [warning for warning in found if "synchronizing CUDA operation" in str(warning.message)]
    return [f"{warning.filename.rpartition('/')[2]}:{warning.lineno}" for warning in said]

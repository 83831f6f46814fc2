"""Being told to stop: SIGTERM (preemption) and Ctrl-C are noted, and heeded between two steps."""

import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Stopped(Exception):
    """A signal ended the run, after what it had done was saved."""

    def __init__(self, signum: int):
        super().__init__(f"stopped by {signal.Signals(signum).name}")
        self.signum = signum

    @property
    def exit_code(self) -> int:
        """What a shell reports for a process that a signal ended: 143 for SIGTERM, 130 for Ctrl-C."""
        return 128 + self.signum


class StopSignals:
    """While entered, the first signal is kept in `received`; a second Ctrl-C interrupts at once, with nothing saved."""

    def __init__(self):
        self.received: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        # Python lets only the main thread handle signals; elsewhere a run can be killed but not asked to stop
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and self.received is not None:
            raise KeyboardInterrupt
        self.received = number

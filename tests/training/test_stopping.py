import os
import signal

import pytest

from puzzlemix.training.stopping import Stopped, StopSignals


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_is_noted_and_has_its_exit_code(number, code):
    before = signal.getsignal(number)
    with StopSignals() as stop:
        assert stop.received is None
        os.kill(os.getpid(), number)
        assert stop.received == number
    assert signal.getsignal(number) == before
    assert Stopped(number).exit_code == code


def test_whoever_presses_twice_does_not_want_to_wait():
    with StopSignals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert stop.received == signal.SIGINT

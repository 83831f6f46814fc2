"""Reads orders, one JSON object a line, and forks a process for each job: none waits for imports."""

import itertools
import json
import os
import signal
import sys
import traceback

import jobs

from puzzlemix.training.config import TrainConfig
from puzzlemix.training.stopping import Stopped


def main():
    for line in sys.stdin:
        order = json.loads(line)
        answer = wait(order["wait"]) if "wait" in order else fork(order)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fork(order):
    pid = os.fork()
    if pid == 0:
        os._exit(run(order))
    return pid


def run(order):
    output = os.open(order["output"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(output, stream)
    os.environ.update(order["environment"])
    if order["kill_at_write"] is not None:
        set_trap(order["kill_at_write"])
    try:
        getattr(jobs, order["job"])(TrainConfig.from_json(order["config"]), order["folder"])
    except Stopped as stopped:
        return stopped.exit_code
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stderr.flush()
    return 0


def set_trap(number):
    """The process dies when half of its checkpoint `number` (counted from 0) is written."""
    count, fsync = itertools.count(), os.fsync

    def fsync_or_die(descriptor):
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if name.endswith(".pt") or not name.endswith(".tmp") or "checkpoints" not in name:
            return fsync(descriptor)
        if next(count) == number:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        return fsync(descriptor)

    os.fsync = fsync_or_die


if __name__ == "__main__":
    main()

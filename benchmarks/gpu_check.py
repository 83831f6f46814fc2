"""Checks and times Puzzle Mix on a GPU: prints a table and writes a record, in one run of some minutes.

On any machine: `python benchmarks/gpu_check.py --prepare build/gpu_reference.pt` solves problems on the CPU.
Where the GPU is: `PYTHONPATH=src python benchmarks/gpu_check.py --reference build/gpu_reference.pt --record gpu.json`;
that needs torch and Triton, but nothing to be installed.

Every part runs on its own: what goes wrong in one is recorded with its error, and the others go on, in a new process
if need be. The record is written anew after every part. When the time is up, the parts that are left are skipped.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import report
import torch
from gpu_parts import PARTS, Bench, NeedsGpu
from report import Row

WHAT = (
    "On generated pictures of 32x32 pixels with 3 labels and Algorithm 1's plans unless said otherwise. Device times "
    "are of CUDA graphs; training steps are in bf16 and channels_last, for 128 images at grid 16"
)
DONE, FAILED, SKIPPED = "done", "failed", "skipped"


class Outcome(NamedTuple):
    """How a part ended: its rows, how long it took, and what went wrong or why it did not run."""

    part: str
    status: str
    seconds: float = 0.0
    rows: tuple[Row, ...] = ()
    words: str = ""


# ---- one process that works through parts -------------------------------------------------------------------------


def work(parts: list[str], bench: Bench, log: Path) -> None:
    """Run parts one after the other and note in the log what each gives; stop where the device is broken."""
    for part in parts:
        _note(log, {"begins": part})
        start = time.perf_counter()
        status, words = _run(part, bench, log)
        _note(log, {"ends": part, "status": status, "seconds": time.perf_counter() - start, "words": words})
        try:
            if bench.device.type == "cuda":
                torch.cuda.synchronize()
                torch.cuda.empty_cache()
        except RuntimeError:
            sys.exit(1)


def _run(part: str, bench: Bench, log: Path) -> tuple[str, str]:
    """Note the rows of a part, each as soon as it is there; how it ended, and in what words."""
    try:
        for row in PARTS[part][0](bench):
            _note(log, {"row": asdict(row)})
    except NeedsGpu as error:
        return SKIPPED, str(error)
    except Exception:  # whatever it is, the other parts go on
        return FAILED, traceback.format_exc(limit=-6)[-2500:]
    return DONE, ""


def _note(log: Path, event: dict[str, Any]) -> None:
    with log.open("a") as lines:
        lines.write(json.dumps(event) + "\n")


# ---- the process that watches it ----------------------------------------------------------------------------------


class Watch:
    """Has parts done by worker processes until all are done or the time is up."""

    def __init__(self, options: argparse.Namespace, log: Path):
        self.options, self.log = options, log
        self.end = time.monotonic() + options.seconds
        self.left = list(options.only)
        self.outcomes: list[Outcome] = []
        self._read = 0
        self._current, self._since = "starting", time.monotonic()
        self._rows: list[Row] = []

    def run(self) -> list[Outcome]:
        """All outcomes, in the order of the parts."""
        while self.left and time.monotonic() < self.end:
            self._watch(subprocess.Popen(self._command()))
        for part in self.left:
            self._add(Outcome(part, SKIPPED, words="the time was up"))
        self.left = []
        return self.outcomes

    def _command(self) -> list[str]:
        options = self.options
        shared = ["--reference", str(options.reference), "--device", options.device, "--only", ",".join(self.left)]
        return [sys.executable, __file__, "--worker", str(self.log), *shared, *["--tiny"] * options.tiny]

    def _watch(self, worker: subprocess.Popen) -> None:
        """Follow one worker's log until it ends, takes too long over a part, or the time is up."""
        self._current, self._since = "starting", time.monotonic()
        while worker.poll() is None:
            time.sleep(0.2)
            self._follow()
            if time.monotonic() > min(self.end, self._since + self._limit()):
                worker.kill()
                worker.wait()
        self._follow()
        self._account_for(worker.returncode)

    def _limit(self) -> float:
        return PARTS[self._current][1] if self._current in PARTS else 120.0

    def _follow(self) -> None:
        text = self.log.read_text() if self.log.exists() else ""
        lines = text[: text.rfind("\n") + 1].splitlines()  # the last one may still be written
        for line in lines[self._read :]:
            self._take(json.loads(line))
        self._read = len(lines)

    def _take(self, event: dict[str, Any]) -> None:
        if "begins" in event:
            self._current, self._since, self._rows = event["begins"], time.monotonic(), []
            print(f"{self._current} ...", file=sys.stderr, flush=True)
        elif "row" in event:
            self._rows.append(Row(**event["row"]))
        else:
            self._add(Outcome(event["ends"], event["status"], event["seconds"], tuple(self._rows), event["words"]))
            self._current, self._since = "between two parts", time.monotonic()

    def _account_for(self, code: int) -> None:
        """A worker that left its part unfinished: that one has failed, the next worker goes on after it."""
        if self._current in self.left:
            reason = "the time was up" if time.monotonic() > self.end else f"its process ended with {code}"
            taken = time.monotonic() - self._since
            self._add(Outcome(self._current, FAILED, taken, tuple(self._rows), f"{reason} after {taken:.0f} s"))
        elif self.left and self._current == "starting":
            self._add(Outcome(self.left[0], FAILED, words=f"no worker started: it ended with {code}"))

    def _add(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.left = [part for part in self.left if part != outcome.part]
        print(
            f"{outcome.part}: {outcome.status} in {outcome.seconds:.1f} s. {outcome.words}", file=sys.stderr, flush=True
        )
        if self.options.record:
            save(self.options.record, self.options, self.outcomes)


# ---- the record ---------------------------------------------------------------------------------------------------


def save(path: Path, options: argparse.Namespace, outcomes: list[Outcome]) -> None:
    """Write the record, whole or not at all."""
    rows = [asdict(row) | {"ratios": row.ratios(), "met": row.met()} for outcome in outcomes for row in outcome.rows]
    parts = {outcome.part: {**outcome._asdict(), "rows": len(outcome.rows)} for outcome in outcomes}
    content = {"what": WHAT, "kind": "measured", "where": where(options.device), "parts": parts, "rows": rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(content, indent=2) + "\n")
    os.replace(draft, path)


def where(device: str) -> dict[str, Any]:
    """The machine and the versions."""
    gpu = device == "cuda" and torch.cuda.is_available()
    versions = {"torch": str(torch.__version__)}
    if sys.modules.get("triton") or gpu:
        import triton

        versions["triton"] = triton.__version__
    return {
        "processor": torch.cuda.get_device_name() if gpu else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": versions,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def table(outcomes: list[Outcome]) -> str:
    """What was judged or measured; of what is plainly right only how much it is."""
    rows = [row for outcome in outcomes for row in outcome.rows]
    shown = report.telling(rows)
    ends = [f"- {end.part}: {end.status}, {end.seconds:.0f} s. {end.words}" for end in outcomes if end.status != DONE]
    right = f"{len(rows) - len(shown)} comparisons without a difference; all others and all times:\n\n"
    return right + report.full_table(shown) + "\n" + "\n".join(ends) + "\n"


# ---- the command --------------------------------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> None:
    """Prepare, or run and report; the exit status tells whether something failed."""
    options = read_options(arguments)
    if options.prepare:
        from gpu_reference import prepare

        prepare(options.prepare, options.tiny)
        return
    if options.worker:
        given = torch.load(options.reference, weights_only=True)
        work(options.only, Bench(torch.device(options.device), given, options.tiny), options.worker)
        return
    with tempfile.TemporaryDirectory() as folder:
        outcomes = Watch(options, Path(folder) / "log.jsonl").run()
    print(table(outcomes))
    if any(outcome.status == FAILED for outcome in outcomes):
        raise SystemExit(1)


def read_options(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Checks and times Puzzle Mix on a GPU.")
    parser.add_argument("--prepare", type=Path, metavar="FILE", help="solve the problems on the CPU, store them, stop")
    parser.add_argument("--reference", type=Path, metavar="FILE", help="what --prepare has stored")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write the record here")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true", help="sizes that only show that everything runs")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long it may take (default 300)")
    parser.add_argument("--only", type=lambda names: names.split(","), default=[*PARTS], help=", ".join(PARTS))
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    if not options.prepare and not options.reference:
        parser.error("pass --reference FILE, or make one first with --prepare FILE")
    if options.device == "cuda" and not options.prepare and not torch.cuda.is_available():
        parser.error("torch finds no GPU: pass --device cpu --tiny to see that everything runs")
    return options


if __name__ == "__main__":
    main()

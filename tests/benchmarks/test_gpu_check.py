import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "gpu_check.py"


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)], capture_output=True, text=True)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """A small one."""
    path = tmp_path_factory.mktemp("gpu") / "folder" / "reference.pt"
    done = run("--prepare", path, "--tiny")
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture
def check(benchmark_module):
    return benchmark_module("gpu_check")


@pytest.fixture
def parts(check, monkeypatch):
    """Parts of our own in the place of the script's."""
    monkeypatch.setattr(check, "PARTS", {})
    return check.PARTS


def tiny_bench(check, reference):
    return check.Bench(torch.device("cpu"), torch.load(reference, weights_only=True), tiny=True)


def test_its_logic_runs_without_a_gpu(reference, tmp_path):
    record = tmp_path / "gpu.json"
    only = "masks,plans,blends,mixes,problems,host,times,waits,preact,compiled mix,hostile"
    done = run("--reference", reference, "--tiny", "--device", "cpu", "--record", record, "--only", only)
    assert done.returncode == 0, done.stderr
    content = json.loads(record.read_text())
    assert {name: part["status"] for name, part in content["parts"].items()} == {
        name: "skipped" if name == "waits" else "done" for name in only.split(",")
    }
    assert content["parts"]["waits"]["words"] == "needs a GPU"
    assert all(row["met"] for row in content["rows"] if row["goal"] is not None and row["judge"] == "value")
    assert "comparisons without a difference" in done.stdout
    assert "| step of PreActResNet-18, eager, exact saliency |" in done.stdout


def test_a_wrong_mask_shows(check, reference):
    bench = tiny_bench(check, reference)
    bench.given["masks"][0]["labels"][1, 0, 0] ^= 1
    first, *others = check.PARTS["masks"][0](bench)
    assert (first.ours, first.met()) == (1, False)
    assert all(row.met() for row in others)


def test_a_wrong_plan_shows(check, reference):
    bench = tiny_bench(check, reference)
    bench.given["plans"][0]["paper"] = bench.given["plans"][0]["paper"].roll(1, dims=1)
    bench.given["plans"][1]["exact cost"] -= 1
    met = [row.met() for row in check.PARTS["plans"][0](bench)]
    assert met[:4] == [False, True, True, False]
    assert all(met[4:])


def test_a_wrong_problem_shows(check, reference, monkeypatch):
    module = sys.modules[check.PARTS["problems"][0].__module__]
    right = module.Posed.plain_problem

    def wrong(posed, shares):
        problem = right(posed, shares)
        return problem._replace(steps=problem.steps.flip(0))

    monkeypatch.setattr(module.Posed, "plain_problem", wrong)
    rows = list(check.PARTS["problems"][0](tiny_bench(check, reference)))
    assert {row.part for row in rows if not row.met()} == {"mask problem"}


def test_a_part_that_fails_keeps_its_rows_and_the_others_go_on(check, parts, reference, tmp_path):
    def breaks(bench):
        yield check.Row("breaks", "before", "us", 1.0, judge="value")
        raise ValueError("no such luck")

    parts |= {"breaks": (breaks, 10), "holds": (lambda bench: iter(()), 10)}
    log = tmp_path / "log"
    check.work(["breaks", "holds"], tiny_bench(check, reference), log)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [next(iter(event)) for event in events] == ["begins", "row", "ends", "begins", "ends"]
    assert [event["status"] for event in events if "ends" in event] == ["failed", "done"]
    assert events[1]["row"]["case"] == "before"
    assert "no such luck" in events[2]["words"]


WORKER = """
import json, os, sys, time
log, left = sys.argv[1:]
def note(**event):
    with open(log, "a") as lines:
        lines.write(json.dumps(event) + "\\n")
for part in left.split(","):
    note(begins=part)
    note(row={"part": part, "case": "first", "unit": "us", "ours": 1.0})
    {"dies": lambda: os._exit(7), "hangs": lambda: time.sleep(60)}.get(part, lambda: None)()
    note(ends=part, status="done", seconds=0.1, words="")
"""


def watched(check, parts, tmp_path, monkeypatch, names, seconds=60, limit=1.0):
    """Outcomes of parts that a stand-in for the worker goes through."""
    parts |= {name: (lambda bench: iter(()), limit) for name in names}
    options = check.argparse.Namespace(only=names, seconds=seconds, record=tmp_path / "record.json", device="cpu")
    watch = check.Watch(options, tmp_path / "log")
    monkeypatch.setattr(watch, "_command", lambda: [sys.executable, "-c", WORKER, watch.log, ",".join(watch.left)])
    return {outcome.part: outcome for outcome in watch.run()}


def test_a_process_that_dies_or_hangs_costs_one_part(check, parts, tmp_path, monkeypatch):
    outcomes = watched(check, parts, tmp_path, monkeypatch, ["one", "dies", "two", "hangs", "three"])
    assert {name: end.status for name, end in outcomes.items()} == {
        "one": "done",
        "dies": "failed",
        "two": "done",
        "hangs": "failed",
        "three": "done",
    }
    assert "ended with 7" in outcomes["dies"].words
    record = json.loads((tmp_path / "record.json").read_text())
    assert [row["part"] for row in record["rows"]] == list(outcomes), "what a part gave before it failed is kept"


def test_when_the_time_is_up_the_rest_is_skipped(check, parts, tmp_path, monkeypatch):
    outcomes = watched(check, parts, tmp_path, monkeypatch, ["one", "hangs", "two"], seconds=2, limit=50)
    assert [end.status for end in outcomes.values()] == ["done", "failed", "skipped"]
    assert "the time was up" in outcomes["hangs"].words
    assert outcomes["two"].words == "the time was up"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--only", "maks"], "no part maks"), ([], "--prepare FILE"), (["--reference", "x"], "finds no GPU")],
)
def test_what_makes_no_sense_is_refused(arguments, words):
    if torch.cuda.is_available() and "GPU" in words:
        pytest.skip("there is a GPU")
    done = run(*arguments)
    assert done.returncode == 2
    assert words in done.stderr


WITHOUT = """
import sys
for name in ("numba", "scipy", "matplotlib", "lightning", "torchvision", "PIL", "safetensors", "rich", "tyro"):
    sys.modules[name] = None
sys.path.insert(0, sys.argv[1])
import gpu_check, torch
from puzzlemix.core.blend import _blend_on_cuda
from puzzlemix.core.mask import exact as mask, MaskProblem
from puzzlemix.core.transport import exact, paper
given = torch.load(sys.argv[2], weights_only=True)
case = given["masks"][0]
assert torch.equal(mask._on_cuda(*(part[:2] for part in case["problem"])), case["labels"][:2])
case = given["plans"][0]
gain, level, *numbers, _ = case["problem"]
assert torch.equal(paper._on_cuda(gain[:2], level[:2], *numbers), case["paper"][:2])
exact._on_cuda(gain[:2], level[:2], *numbers)
images = given["scenes"]["images"]
plan = torch.arange(4).expand(len(images), -1)
shown = _blend_on_cuda(images, images, plan[:, 0], torch.ones(len(images), 2, 2), plan, plan, 16, 16)
torch.testing.assert_close(shown, images)
"""


def test_the_gpus_side_needs_neither_numba_nor_an_installation(reference):
    pytest.importorskip("triton", reason="Triton is missing")
    source = SCRIPT.parents[1] / "src"
    command = [sys.executable, "-c", WITHOUT, str(SCRIPT.parent), str(reference)]
    environment = {"TRITON_INTERPRET": "1", "PYTHONPATH": str(source), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

import multiprocessing
import os
import shutil
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import numba
import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import puzzlemix
from puzzlemix.core.compiled import compiled
from puzzlemix.core.mask import SOLVERS, MaskProblem, solve_mask

OPERATORS = {"exact": torch.ops.puzzlemix.mask_exact.default, "swap": torch.ops.puzzlemix.mask_swap.default}
EACH = pytest.mark.parametrize("solver", SOLVERS)


def problem_of(images, rows, cols, top, seed=0, spread=200, weight=40):
    generator = torch.Generator().manual_seed(seed)

    def draw(least, most, *shape):
        return torch.randint(least, most + 1, shape, generator=generator, dtype=torch.int32)

    steps = draw(-spread, spread, images, rows, cols, top).sort(-1).values
    return MaskProblem(steps, draw(0, weight, images, rows - 1, cols), draw(0, weight, images, rows, cols - 1))


def part(problem, start, stop):
    return MaskProblem(*(tensor[start:stop] for tensor in problem))


@EACH
@pytest.mark.parametrize("images", [0, 1, 15, 16, 17, 50])
def test_an_image_is_solved_as_if_it_were_alone(images, solver):
    problem = problem_of(images, 6, 5, 2)
    found = solve_mask(problem, solver)
    assert found.shape == (images, 6, 5)
    assert found.dtype == torch.int32
    for image in range(images):
        assert torch.equal(found[image : image + 1], solve_mask(part(problem, image, image + 1), solver))


@EACH
def test_the_number_of_threads_changes_nothing(solver, threads):
    problem = problem_of(100, 16, 16, 2)
    threads(1)
    alone = solve_mask(problem, solver)
    for count in (2, 3, 8):
        threads(count)
        assert torch.equal(solve_mask(problem, solver), alone)


@EACH
def test_several_python_threads_at_once(solver, threads):
    threads(2)
    problems = [problem_of(40, 12, 9, 2, seed) for seed in range(8)]
    expected = [solve_mask(problem, solver) for problem in problems]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda problem: solve_mask(problem, solver), problems))
    assert all(map(torch.equal, found, expected))


def _child(problem, expected, solver):
    os._exit(0 if torch.equal(solve_mask(problem, solver), expected) else 1)


@EACH
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_solve_too(solver, threads):
    threads(2)
    problem = problem_of(64, 16, 16, 2)
    child = multiprocessing.get_context("fork").Process(
        target=_child, args=(problem, solve_mask(problem, solver), solver)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child.start()
    child.join(60)
    if child.exitcode is None:
        child.kill()
    assert child.exitcode == 0


@EACH
def test_inputs_stay_as_they_are(solver):
    problem = problem_of(20, 7, 8, 3)
    before = [tensor.clone() for tensor in problem]
    solve_mask(problem, solver)
    assert all(map(torch.equal, problem, before))


@EACH
def test_inputs_of_any_layout(solver):
    problem = problem_of(20, 7, 8, 3)
    scattered = MaskProblem(
        problem.steps.permute(3, 1, 0, 2).contiguous().permute(2, 1, 3, 0),
        problem.down.repeat_interleave(2, -1)[..., ::2],
        problem.across.transpose(1, 2).contiguous().transpose(1, 2),
    )
    assert not any(tensor.is_contiguous() for tensor in scattered)
    assert torch.equal(solve_mask(scattered, solver), solve_mask(problem, solver))


@EACH
def test_the_operator_keeps_torchs_rules(solver):
    torch.library.opcheck(OPERATORS[solver], tuple(problem_of(3, 4, 5, 2)))


@EACH
def test_tracing_needs_no_values(solver):
    problem = problem_of(3, 4, 5, 2)
    on_meta = solve_mask(MaskProblem(*(tensor.to("meta") for tensor in problem)), solver)
    with FakeTensorMode() as mode:
        traced = OPERATORS[solver](*(mode.from_tensor(tensor) for tensor in problem))
    for labels in (on_meta, traced):
        assert labels.shape == (3, 4, 5)
        assert labels.dtype == torch.int32
    assert on_meta.device.type == "meta"
    assert traced.device.type == "cpu"


@EACH
def test_it_compiles_without_a_break(solver):
    problem = problem_of(3, 4, 5, 2)
    solve = torch.compile(lambda *tensors: solve_mask(MaskProblem(*tensors), solver), backend="eager", fullgraph=True)
    assert torch.equal(solve(*problem), solve_mask(problem, solver))


def changed(**tensors):
    return problem_of(2, 3, 4, 2)._replace(**tensors)


FALLING = torch.tensor([1, 0], dtype=torch.int32).expand(2, 3, 4, 2)
HUGE = torch.full((2, 3, 4, 2), -(2**31), dtype=torch.int32)
WRONG = {
    "solver": (changed(), "gco", ValueError, "'gco' is unknown: choose one of 'exact', 'swap'"),
    "falling": (changed(steps=FALLING), "exact", ValueError, "fall with the label.* use solver='swap'"),
    "shape": (changed(steps=FALLING[0]), "exact", ValueError, r"\(3, 4, 2\): pass \(batch, rows, cols, labels - 1\)"),
    "nine labels": (problem_of(2, 3, 4, 8), "exact", ValueError, "9 labels .* pass 2 to 8"),
    "one label": (problem_of(2, 3, 4, 0), "exact", ValueError, "1 labels .* pass 2 to 8"),
    "no cells": (problem_of(2, 1, 1, 2)._replace(steps=torch.zeros(2, 0, 1, 2)), "swap", ValueError, "0x1 has 0 cells"),
    "many cells": (changed(steps=torch.zeros(1, 300, 300, 1)), "swap", ValueError, "300x300 has 90000 cells: pass"),
    "edges": (changed(down=torch.zeros(2, 3, 4)), "swap", ValueError, r"edges \(2, 3, 4\) .* pass \(2, 2, 4\)"),
    "floats": (changed(down=torch.zeros(2, 2, 4)), "swap", TypeError, "torch.float32: pass int32"),
    "huge steps": (changed(steps=HUGE), "swap", ValueError, r"steps -2147483648..-2147483648 leave .*: scale"),
    "heavy": (changed(down=HUGE[:, 1:, :, 0] + 1), "exact", ValueError, "edge weights -2147483647.* leave 0..11184810"),
    "negative": (changed(across=-FALLING[..., 1:, 0]), "exact", ValueError, "edge weights -1..-1 leave .* or clamp"),
}


@pytest.mark.parametrize(("problem", "solver", "error", "says"), WRONG.values(), ids=WRONG.keys())
def test_errors_name_the_value_and_the_remedy(problem, solver, error, says):
    with pytest.raises(error, match=says):
        solve_mask(problem, solver)


def test_swap_takes_falling_steps():
    assert torch.equal(solve_mask(changed(steps=FALLING), "swap"), torch.zeros(2, 3, 4, dtype=torch.int32))


def hostile(rows, cols):
    """Long ways for the flow: between alternating extremes, from corner to corner, along a snake, through a maze.

    Each is (steps, down, across) with values in -1..1.
    """
    rng = np.random.default_rng(0)
    row, col = np.indices((rows, cols))
    corners = 1.0 * (row + col == 0) - (row + col == rows + cols - 2)
    anything = rng.uniform(-1, 1, (rows, cols))
    open_down, open_across = np.ones((rows - 1, cols)), np.ones((rows, cols - 1))
    turns = (col == np.where(row % 2 == 0, cols - 1, 0))[:-1]
    maze = [rng.random(edges.shape) < 0.55 for edges in (open_down, open_across)]
    yield (-1.0) ** (row + col), open_down, open_across
    for steps in (corners, anything):
        yield from ((steps, open_down, open_across), (steps, turns, open_across), (steps, *maze))


@EACH
@pytest.mark.parametrize("size", [(1, 512), (512, 1), (32, 32), (40, 7)])
def test_no_problem_takes_long(size, solver):
    for (steps, *edges), top, weight in product(hostile(*size), (1, 7), (1, 10**6)):
        problem = MaskProblem(
            torch.tensor(500_000 * steps).int()[None, ..., None].repeat(1, 1, 1, top),
            *(torch.tensor(weight * values).int()[None] for values in edges),
        )
        start = time.perf_counter()
        solve_mask(problem, solver)
        assert time.perf_counter() - start < 3


def test_kernels_compile_where_nothing_can_be_written(monkeypatch):
    njit = numba.njit

    def without_cache(**options):
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(numba, "njit", without_cache)
    assert compiled(lambda number: number + 1)(1) == 2


SOLVE_ELSEWHERE = """
import torch, puzzlemix
from puzzlemix.core.mask import MaskProblem, solve_mask
steps = torch.tensor([[-5, 3, -5]]).view(1, 1, 3, 1).int()
problem = MaskProblem(steps, torch.zeros(1, 0, 3).int(), torch.ones(1, 1, 2).int())
print(puzzlemix.__file__, solve_mask(problem).tolist())
"""


def test_a_read_only_installation_solves(tmp_path):
    """A file in the place of every cache folder keeps even root from writing there."""
    package = shutil.copytree(Path(puzzlemix.__path__[0]), tmp_path / "puzzlemix", ignore=lambda *_: ["__pycache__"])
    for folder in [package, *(path for path in package.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "XDG_"))}
    environment |= {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-W", "error", "-c", SOLVE_ELSEWHERE]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split(maxsplit=1) == [str(package / "__init__.py"), "[[[1, 0, 1]]]\n"]

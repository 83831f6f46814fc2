"""Algorithm 1 beside exact solvers: on random costs as the paper draws them (Supplementary B.1), and on those of mixes.

Shape suffixes: B problems, N cells.
"""

import importlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from ..core.mix import puzzle_mix
from ..core.params import PuzzleMixConfig
from ..core.shares import saliency_shares
from ..core.threads import one_thread
from ..core.transport import TransportProblem, solve_transport, transport_problem
from .lambda_curves import Pairs

SIZES = (4, 16, 64, 256, 1024)
READINGS = ("raw", "sum to 1")  # whether uniform saliency is taken as it is drawn; the paper does not say
REAL = "real maps"
_OURS = "paper", "exact"
_REPEATS, _ENOUGH = 3, 0.1  # a solver has so many attempts, no more of them after so many seconds


class Timing(NamedTuple):
    """Costs of one kind and size: seconds per problem on one thread, averages of the trials' best attempts.

    algorithm_1, exact: ours, all problems in one call, as a mix has them; algorithm_1_alone, exact_alone: a call for
    each. scipy, lap, lapjv: solvers of others, a call for each, from a ready cost matrix (None where one is not
    installed). error: e / (e + r), e what Algorithm 1's plan costs above the best one, r what a random one does.
    """

    costs: str
    cells: int
    algorithm_1: float
    exact: float
    algorithm_1_alone: float
    exact_alone: float
    scipy: float
    lap: float | None
    lapjv: float | None
    error: float

    def fastest_other(self) -> str:
        """The name of the fastest solver of others."""
        times = {name: time for name in ("scipy", "lap", "lapjv") if (time := getattr(self, name)) is not None}
        return min(times, key=times.__getitem__)


def measure(trials: int, generator: torch.Generator, sizes: Sequence[int] = SIZES) -> list[Timing]:
    """Solve `trials` random problems of every size in both readings."""
    kinds = [(reading, cells) for reading in READINGS for cells in sizes]
    return [compare(reading, random_problems(reading, cells, trials, generator), generator) for reading, cells in kinds]


def measure_real(
    batches: Iterable[Pairs], trials: int, generator: torch.Generator, sizes: Sequence[int] = SIZES
) -> list[Timing]:
    """Solve the problems of `trials` images of every size that they have, with masks that were solved for."""
    several = list(_enough(batches, trials))
    finest = min(several[0].saliency.shape[1:])
    fitting = [cells for cells in sizes if round(cells**0.5) <= finest]
    return [compare(REAL, real_problems(several, cells, trials, generator), generator) for cells in fitting]


def random_problems(reading: str, cells: int, trials: int, generator: torch.Generator) -> TransportProblem:
    """C' = C - s z^T on a square grid: s uniform, z a fair coin per cell, C the squared distance over (side - 1)^2."""
    side = round(cells**0.5)
    share = torch.rand(trials, side, side, generator=generator)
    visible = torch.rand(trials, side, side, generator=generator) < 0.5
    if reading == "sum to 1":
        share = share / share.sum((1, 2), keepdim=True)
    return transport_problem(share, visible.long(), 1.0, "weight", 1)


def real_problems(
    batches: Iterable[Pairs], cells: int, trials: int, generator: torch.Generator, config: PuzzleMixConfig | None = None
) -> TransportProblem:
    """How the first images are to move to where the masks of mixes show them, lambda drawn per image."""
    config = replace(config or PuzzleMixConfig(), transport=None)
    several = [_problem_of(pairs, round(cells**0.5), generator, config) for pairs in batches]
    gain_BN = torch.cat([problem.gain_BN for problem in several])[:trials]
    level_BN = torch.cat([problem.level_BN for problem in several])[:trials]
    return several[0]._replace(gain_BN=gain_BN, level_BN=level_BN)


def _problem_of(pairs: Pairs, side: int, generator: torch.Generator, config: PuzzleMixConfig) -> TransportProblem:
    lam = torch.rand(len(pairs.labels), generator=generator)
    mixed = puzzle_mix(pairs.images, pairs.saliency, index=pairs.partners, lam=lam, grid=side, config=config)
    top = config.labels - 1
    weight = (mixed.mask * top).round().long()
    shares = saliency_shares(pairs.saliency, mixed.layout)
    return transport_problem(shares, weight, config.xi, config.transport_gain, top)


def _enough(batches: Iterable[Pairs], trials: int) -> Iterator[Pairs]:
    for pairs in batches:
        yield pairs
        trials -= len(pairs.labels)
        if trials <= 0:
            return


def compare(costs: str, problem: TransportProblem, generator: torch.Generator) -> Timing:
    """Time every solver on the same problems, and judge Algorithm 1's plans."""
    trials, cells = problem.gain_BN.shape
    error = _mean_error(problem, generator)  # first, since compiled code is loaded at the first call
    with one_thread():  # the solvers of others have no more
        paper, exact = (_best_time(partial(solve_transport, problem, name, check=False)) for name in _OURS)
        alone = np.array([_times_alone(_only(problem, trial)) for trial in range(trials)]).mean(0).tolist()
    paper_alone, exact_alone, scipy, lap, lapjv = alone
    return Timing(
        costs=costs,
        cells=cells,
        algorithm_1=paper / trials,
        exact=exact / trials,
        algorithm_1_alone=paper_alone,
        exact_alone=exact_alone,
        scipy=scipy,
        lap=None if math.isnan(lap) else lap,
        lapjv=None if math.isnan(lapjv) else lapjv,
        error=error,
    )


def _times_alone(problem: TransportProblem) -> list[float]:
    """One problem: seconds of Algorithm 1, our exact plan, scipy, lap and lapjv; NaN where one is not there."""
    cost_NN = problem.cost()[0].double().numpy()
    others = [linear_sum_assignment, *(_solver_of(package) for package in ("lap", "lapjv"))]
    ours = [partial(solve_transport, problem, name, check=False) for name in _OURS]
    calls = [*ours, *(solve and partial(solve, cost_NN) for solve in others)]
    return [float("nan") if call is None else _best_time(call) for call in calls]


def _only(problem: TransportProblem, trial: int) -> TransportProblem:
    return problem._replace(gain_BN=problem.gain_BN[trial, None], level_BN=problem.level_BN[trial, None])


def _mean_error(problem: TransportProblem, generator: torch.Generator) -> float:
    """The relative error of Algorithm 1, averaged over problems."""
    plan_BN, best_BN = (solve_transport(problem, name) for name in _OURS)
    random_BN = torch.stack([torch.randperm(plan_BN.shape[1], generator=generator) for _ in plan_BN])
    least_B = problem.evaluate(best_BN)
    excess_B, chance_B = ((problem.evaluate(plan) - least_B).double() for plan in (plan_BN, random_BN))
    errors_B = torch.where(excess_B > 0, excess_B / (excess_B + chance_B), 0.0)
    return errors_B.mean().item()


def _best_time(solve: Callable[[], Tensor]) -> float:
    """Seconds of the best of a few attempts."""
    times: list[float] = []
    while len(times) < _REPEATS and sum(times) < _ENOUGH:
        start = time.perf_counter()
        solve()
        times.append(time.perf_counter() - start)
    return min(times)


def _solver_of(package: str) -> Callable[[np.ndarray], Any] | None:
    """The function lapjv of a package, for comparison only; None where it is not installed."""
    try:
        return importlib.import_module(package).lapjv
    except ImportError:
        return None

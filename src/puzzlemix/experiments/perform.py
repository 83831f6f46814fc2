"""One run of a table, from its config to its record: train, attack, corrupt."""

import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from ..evaluation.accuracy import evaluate
from ..evaluation.attacks import PGD, pgd
from ..evaluation.corruption_error import drawn_errors
from ..recording import where
from ..showing.runs import load_run
from ..training.feed import Feed
from ..training.log import Console
from ..training.loop import train
from ..training.outcome import Outcome
from ..training.processes import find_device
from .run import Places, Planned, write_record

# The ablation's attack: seven steps from a random start, as far as FGSM goes.
ABLATION_PGD = PGD(eps_255=8.0, step_255=2.0, steps=7)


def perform(run: Planned, places: Places, console: Console | None = None) -> None:
    """Train, or go on with training, measure and write the record; `Stopped` leaves all of it to be continued."""
    outcome = train(run.config, run.folder(places), console)
    errors = {name: 100 * value for name, value in trained_errors(outcome).items()}
    late = [name for name in run.measures if name in LATE]
    device = find_device(run.config.machine)
    start = time.perf_counter()
    if late:
        model, feed = load_run(run.folder(places)).model.to(device), Feed(run.config, device=device)
        errors |= {name: 100 * LATE[name](model, feed) for name in late}
    about = {"seconds": outcome.seconds, "judged_seconds": time.perf_counter() - start, "where": where(device)}
    write_record(run, places, errors, about)


def trained_errors(outcome: Outcome) -> dict[str, float]:
    """What training itself tells: medians of the last ten epochs, the best epoch's, FGSM of the final weights."""
    errors, history = outcome.errors, outcome.history
    return {
        "top1": errors.median_top1,
        "top5": errors.median_top5,
        "final_top1": errors.top1,
        "best_top1": min(epoch["test_error"] for epoch in history),
        "best_top5": min(epoch["test_error5"] for epoch in history),
        "fgsm": errors.fgsm,
    }


def pgd_error(model: nn.Module, feed: Feed) -> float:
    """The error under the ablation's attack, the starts drawn from a fixed seed."""
    generator = torch.Generator().manual_seed(0)

    def changed() -> Iterator[tuple[Tensor, Tensor]]:
        for batch in feed.test():
            yield pgd(model, batch.images, batch.labels, ABLATION_PGD, generator).images, batch.labels

    return 1 - evaluate(model, changed()).top1


def corruption_error(model: nn.Module, feed: Feed) -> float:
    """The mean error over all corruptions and severities, computed on the test images."""
    error = drawn_errors(model, ((batch.images, batch.labels, batch.samples) for batch in feed.test())).mean()
    assert error is not None
    return error


LATE: dict[str, Callable[[nn.Module, Feed], float]] = {"pgd": pgd_error, "corruption": corruption_error}

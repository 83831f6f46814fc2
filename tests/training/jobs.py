"""What the processes of these tests do: a run, or a part of one that writes down what each rank saw."""

from pathlib import Path

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

from puzzlemix import Draw
from puzzlemix.methods import Batch, PuzzleSettings, build_method
from puzzlemix.methods.puzzle_mix import PuzzleDraw
from puzzlemix.training import loop
from puzzlemix.training.engine import Engine
from puzzlemix.training.loop import train
from puzzlemix.training.processes import start

__all__ = ["dying", "gradients", "listened", "train"]


def listened(config, folder):
    """A run whose every process writes down its draws, its samples and its final weights as `rank{n}.pt`."""
    seen = {"lams": [], "samples": []}
    step, run = Engine.step, loop.Trainer.run

    def listened_step(self, batch, *arguments):
        sums = step(self, batch, *arguments)
        seen["lams"].append(self.method.mixup.last.draw.lam)
        seen["samples"].append(batch.samples)
        return sums

    def listened_run(self):
        outcome = run(self)
        state = self.engine.state_dict()
        torch.save({**seen, "model": state["model"], "ema": state["ema"]}, Path(folder) / f"rank{self.team.rank}.pt")
        return outcome

    Engine.step, loop.Trainer.run = listened_step, listened_run
    train(config, folder)


def dying(config, folder):
    """A run whose second process fails at its third step."""
    step = Engine.step

    def dying_step(self, batch, lr, number, *arguments):
        if number == 3 and self.team.rank == 1:
            raise RuntimeError("the second process has had enough")
        return step(self, batch, lr, number, *arguments)

    Engine.step = dying_step
    train(config, folder)


def plain_net():
    """No batch-norm, or what a process sees would matter to its gradients."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(96, 5)
    )


def gradients(config, folder):
    """One step on this process's share of 8 images, whose pairing stays within every two: gradients and weights."""
    team = start(config.loop, config.machine)
    method = build_method(config.settings, classes=5)
    if isinstance(config.settings, PuzzleSettings):
        method.draw = lambda generator, count: PuzzleDraw(Draw(within_two(count), 0.4, 4))
    engine = Engine(config, plain_net(), method, team)
    travels = []
    if team.size > 1 and config.machine.strategy == "ddp":
        engine.forward.register_comm_hook(None, lambda state, bucket: counted(travels, bucket))
    images = torch.rand(8, 3, 16, 16, generator=torch.Generator().manual_seed(1))
    share = 8 // team.size
    part = slice(team.rank * share, (team.rank + 1) * share)
    batch = Batch(images[part], torch.arange(8)[part] % 5, torch.arange(8)[part])
    engine.net.train()
    sums = team.total(engine.step(batch, 0.1, 1, lambda part: torch.Generator()))
    found = {"weights": engine.state_dict()["model"], "travels": len(travels), "sums": sums}
    torch.save(found, Path(folder) / f"rank{team.rank}.pt")


def counted(travels, bucket):
    travels.append(bucket.index())
    return allreduce_hook(None, bucket)


def within_two(count):
    return torch.arange(count).view(-1, 2).flip(1).flatten()

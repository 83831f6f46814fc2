"""What `gpu_check.py` checks and times, part by part; each part stands alone and gives rows."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import gpu_reference as reference
import torch
import torch.nn.functional as F
from gpu_timing import Function, captured, device_times, finish, host_time, loop_times, waits
from report import SAME, Row
from torch import Tensor

from puzzlemix import Draw, PuzzleMix, PuzzleMixConfig, drop_in, puzzle_mix
from puzzlemix.bench.mixing import Scenery, mix
from puzzlemix.core import blend as blending
from puzzlemix.core import pose as posing
from puzzlemix.core import shares as sharing
from puzzlemix.core import visible as showing
from puzzlemix.core.blend import blend
from puzzlemix.core.blocks import Layout, layout_for
from puzzlemix.core.inputs import MixInputs, read_inputs
from puzzlemix.core.mask import MaskProblem, solve_mask
from puzzlemix.core.mask import gpu as mask_gpu
from puzzlemix.core.shares import saliency_shares
from puzzlemix.core.transport import TransportProblem, exact, paper, solve_transport
from puzzlemix.models import build_model

US, MS, SHARE = "us", "ms", "% of a step"
SCALE = {US: 1e6, MS: 1e3}
MODELS = {"WRN-28-10": ("wrn28_10", {}), "PreActResNet-18": ("preact_resnet18", {})}
TINY_MODELS = {"WRN-28-10": ("wrn10_1", {}), "PreActResNet-18": ("preact_resnet18", {"width": 4})}
EXACT_LIMIT, REUSED_LIMIT, MIX_LIMIT, MOST_LAUNCHES = 1.70, 1.10, 1.5, 30


class NeedsGpu(Exception):
    """A part that means nothing on the CPU."""


@dataclass(frozen=True)
class Bench:
    """Where to measure, on what, and whether only to show that everything runs."""

    device: torch.device
    given: dict[str, Any]
    tiny: bool

    def scenes(self, count: int) -> Scenery:
        """So many pictures, the same ones over and over, each with a partner among its own."""
        few = Scenery(**self.given["scenes"])
        times = -(-count // len(few.partner))
        partner = torch.cat([few.partner + turn * len(few.partner) for turn in range(times)])[:count]
        images, saliency = (part.repeat(times, *[1] * (part.dim() - 1))[:count] for part in few[:2])
        return Scenery(*(part.to(self.device) for part in (images, saliency, partner.clamp(max=count - 1))))

    @property
    def batches(self) -> tuple[int, int]:
        """The usual batch, and a large one."""
        return (4, 8) if self.tiny else (128, 1024)

    @property
    def grids(self) -> tuple[int, ...]:
        """The grids that are timed, the most important one first."""
        return (4, 2) if self.tiny else (16, 8, 4, 2, 32)

    def compiled(self, function: Callable) -> Callable:
        """By torch.compile, in one graph."""
        return torch.compile(function, fullgraph=True, backend="eager" if self.tiny else "inductor")

    def needs_gpu(self) -> None:
        """Raise where there is none."""
        if self.device.type != "cuda":
            raise NeedsGpu("needs a GPU")


# ---- is it right? ------------------------------------------------------------------------------------------------


def masks_right(bench: Bench) -> Iterator[Row]:
    """The same labels as the CPU's, problem by problem."""
    yield from _compared_masks(bench, "masks")


def hostile_masks(bench: Bench) -> Iterator[Row]:
    """Energies made to take long: solved alike, or given up."""
    yield from _compared_masks(bench, "hostile")


def _compared_masks(bench: Bench, kind: str) -> Iterator[Row]:
    for case in bench.given[kind]:
        problem = MaskProblem(*(part.to(bench.device) for part in case["problem"]))
        found = solve_mask(problem).cpu()
        wrong = (found != case["labels"]).flatten(1).any(1)
        yield _count("masks unlike the CPU's", case["name"], wrong, "masks")


def plans_right(bench: Bench) -> Iterator[Row]:
    """The CPU's plans where there is one answer, the least cost where there are several."""
    for case in bench.given["plans"]:
        here = TransportProblem(*case["problem"])
        there = here._replace(gain_BN=here.gain_BN.to(bench.device), level_BN=here.level_BN.to(bench.device))
        wrong = (solve_transport(there).cpu() != case["paper"]).any(1)
        yield _count("plans unlike the CPU's", case["name"], wrong, "plans")
        found = solve_transport(there, "exact").cpu()
        cells = torch.arange(found.shape[1])
        wrong = (here.evaluate(found) != case["exact cost"]) | (found.sort(1).values != cells).any(1)
        yield _count("exact plans that are none", case["name"], wrong, "plans")


def blends_right(bench: Bench) -> Iterator[Row]:
    """Every pixel beside plain tensor operations in float64."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        for layout in (torch.contiguous_format, torch.channels_last):
            for size, grid, tile in (
                ((32, 32), (8, 8), (4, 4)),
                ((33, 31), (7, 4), (5, 8)),
                ((1, 100), (1, 13), (1, 8)),
            ):
                given = _blend_case(bench, size, grid, dtype)
                images = [part.to(memory_format=layout) for part in given[:2]]
                found = blend(*images, *given[2:], tile=tile).double()
                exact_images = [part.double() for part in images]
                expected = blend(
                    *(part.requires_grad_() for part in exact_images), *given[2:], tile=tile
                ).detach()  # the plain version
                apart = float((found - expected).abs().max()) / torch.finfo(dtype).eps
                name = f"{dtype}, {'x'.join(map(str, size))}, {str(layout).removeprefix('torch.')}"
                yield Row("blend", f"{name}, largest error", "eps", apart, judge="value", goal=4)


def _blend_case(bench: Bench, size: tuple[int, int], grid: tuple[int, int], dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    count, cells = bench.batches[0], grid[0] * grid[1]
    images = [torch.rand(count, 3, *size, generator=generator).to(dtype) for _ in range(2)]
    weight = torch.randint(0, 3, (count, *grid), generator=generator) / 2
    plans = [torch.stack([torch.randperm(cells, generator=generator) for _ in range(count)]) for _ in range(2)]
    return [part.to(bench.device) for part in (*images, torch.randperm(count, generator=generator), weight, *plans)]


def mixes_right(bench: Bench) -> Iterator[Row]:
    """The CPU's mixed images. Energies are rounded differently there, so a mask in a hundred may differ by a tie."""
    for case in bench.given["mixes"]:
        given = {name: part.to(bench.device) for name, part in case["given"].items()}
        config = PuzzleMixConfig(**case["options"])
        mixed = puzzle_mix(**given, lam=0.4, grid=case["grid"], config=config)
        other = (mixed.mask.cpu() != case["mask"]).flatten(1).any(1)
        share = 100 * float(other.float().mean())
        yield Row("mix", f"{case['name']}, masks that differ", "%", share, judge="value", goal=1)
        if config.transport == "exact":  # of several plans of the least cost, either may be found
            continue
        apart = (mixed.images.cpu() - case["mixed"]).abs().flatten(1).amax(1)[~other]
        yield Row(
            "mix", f"{case['name']}, largest error of the others", "", float(apart.max()), judge="value", goal=SAME
        )


def problems_right(bench: Bench) -> Iterator[Row]:
    """What the mix's own kernels make of images and labels, beside the plain version."""
    for case in bench.given["mixes"]:
        given = {name: part.to(bench.device) for name, part in case["given"].items()}
        yield from _problems_of(case["name"], PuzzleMixConfig(**case["options"]), given, case["grid"])
        if case["name"] in ("grid 4", "padding"):
            statistics = {"mean": [0.5] * 3, "std": [0.2, 0.25, 0.3]}
            given["images"] = given["images"].to(torch.bfloat16, memory_format=torch.channels_last)
            yield from _problems_of(f"{case['name']}, bfloat16", PuzzleMixConfig(), given | statistics, case["grid"])


def _problems_of(case: str, config: PuzzleMixConfig, given: dict[str, Any], grid: int) -> Iterator[Row]:
    posed = Posed.of(given, grid, config)
    shares, plain = posed.shares(), posed.plain_shares()
    yield Row("saliency shares", f"{case}, largest error", "", _apart([shares], [plain]), judge="value", goal=1e-5)
    exact = given["images"].dtype == torch.float32  # half a pixel's last digit is thousands of units
    apart = _apart(posed.problem(plain), posed.plain_problem(plain))
    yield Row("mask problem", f"{case}, largest error", "", apart, judge="value", goal=2e-6 if exact else 2e-3)
    wrong = [
        int((one.cpu() != other).sum()) for one, other in zip(posed.shown(plain), posed.plain_shown(plain), strict=True)
    ]
    yield Row("what labels show", f"{case}, numbers that differ", "", float(sum(wrong)), judge="value", goal=0)


def _apart(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    """The largest difference, as a share of the largest number."""
    largest = max(float(part.abs().max()) for part in expected if part.numel())
    both = zip(found, expected, strict=True)
    return max(float((one.double() - other.double()).abs().max()) for one, other in both if one.numel()) / largest


@dataclass(frozen=True)
class Posed:
    """A batch that is about to be mixed, and the two ways to each of the problems it poses."""

    inputs: MixInputs
    layout: Layout
    config: PuzzleMixConfig
    labels: Tensor

    @staticmethod
    def of(given: dict[str, Any], grid: int, config: PuzzleMixConfig) -> "Posed":
        """What `puzzle_mix` makes of its arguments before anything is solved, and labels of any kind."""
        options = {"lam": 0.4, "mean": None, "std": None} | given
        inputs = read_inputs(**options, grid=grid)
        height, width = inputs.images.shape[2:]
        layout = layout_for(height, width, inputs.rows, inputs.cols, config.transport_block)
        numbers = torch.arange(len(inputs.index) * layout.cells, device=inputs.index.device)
        labels = (numbers * 7 // 3 % config.labels).int().view(-1, layout.rows, layout.cols)
        return Posed(inputs, layout, config, labels)

    def shares(self) -> Tensor:
        """As the device makes them."""
        return saliency_shares(self.inputs.saliency, self.layout)

    def plain_shares(self) -> Tensor:
        """By torch alone."""
        return sharing._shares_plain(self.inputs.saliency, self.layout)

    def problem(self, shares: Tensor) -> MaskProblem:
        """As the device makes it."""
        return posing.pose_mask(self._pairs(shares), self.inputs.std, self.layout, self.config).problem()

    def plain_problem(self, shares: Tensor) -> MaskProblem:
        """By torch alone."""
        return posing.pair_energy(self._pairs(shares), self.inputs.std, self.layout, self.config).problem()

    def _pairs(self, shares: Tensor) -> posing.Pairs:
        images, index, lam = self.inputs.images, self.inputs.index, self.inputs.lam
        return posing.Pairs(images, images, shares, shares, index, lam)

    def shown(self, shares: Tensor) -> tuple[Tensor, ...]:
        """Mask, ratio, gains and levels as the device makes them."""
        return showing._show(*self._to_show(shares))

    def plain_shown(self, shares: Tensor) -> tuple[Tensor, ...]:
        """By torch alone, on the CPU: elsewhere it multiplies by a reciprocal where it should divide."""
        labels, shares, index, *settings = self._to_show(shares)
        return showing._show_plain(labels.cpu(), shares.cpu(), index.cpu(), *settings)

    def _to_show(self, shares: Tensor) -> tuple[Any, ...]:
        config, numbers = self.config, self.layout.numbers
        graded = config.transport_gain == "weight"
        return self.labels, shares, self.inputs.index, numbers, config.top, config.xi, graded


def _count(part: str, case: str, wrong: Tensor, unit: str) -> Row:
    return Row(part, case, f"{unit} of {len(wrong)}", float(wrong.sum()), judge="value", goal=0)


# ---- how long does it take? --------------------------------------------------------------------------------------


def times_usual(bench: Bench) -> Iterator[Row]:
    """The parts of a mix and all of it, for the usual batch."""
    for side in bench.grids:
        yield from _times_of(bench, bench.batches[0], side)


def times_large(bench: Bench) -> Iterator[Row]:
    """The same for many images."""
    for side in bench.grids:
        yield from _times_of(bench, bench.batches[1], side)


def _times_of(bench: Bench, count: int, side: int) -> Iterator[Row]:
    batch = bench.scenes(count)
    judged = count == 128 and side == 16
    name = f"{count} images, {side}x{side}"
    functions = _pieces(batch, side)
    times = device_times(functions, bench.device)
    goals = {"mask": 200.0, "plans of both images": 100.0} if judged else {}
    for piece, seconds in times.items():
        yield Row(piece, name, US, 1e6 * seconds, judge="value", goal=goals.get(piece))
    for piece, seconds in loop_times(functions, bench.device).items():
        yield Row(f"{piece}, launched", name, US, 1e6 * seconds, judge="value")
    whole = partial(mix, batch, side)
    yield Row("whole mix, device", name, US, 1e6 * device_times({"mix": whole}, bench.device, 3)["mix"], judge="value")
    yield Row("whole mix, launched", name, US, 1e6 * loop_times({"mix": whole}, bench.device)["mix"], judge="value")


def _pieces(batch: Scenery, side: int) -> dict[str, Function]:
    problem = reference.mask_of(batch, side)
    labels = solve_mask(problem, check=False)
    plans = reference.plans_of(batch, side, labels)
    sources = solve_transport(plans, check=False).unflatten(0, (2, -1))
    tile = batch.images.shape[2] // side, batch.images.shape[3] // side
    weight = 1 - labels.float() / 2
    given = {"images": batch.images, "saliency": batch.saliency, "index": batch.partner}
    posed = Posed.of(given, side, PuzzleMixConfig())
    shares = posed.shares()
    return {
        "saliency shares": posed.shares,
        "mask problem": lambda: posed.problem(shares),
        "what labels show": lambda: posed.shown(shares),
        "mask": lambda: solve_mask(problem, check=False),
        "plans of both images": lambda: solve_transport(plans, check=False),
        "exact plans of both images": lambda: solve_transport(plans, "exact", check=False),
        "blend": lambda: blend(batch.images, batch.images, batch.partner, weight, *sources, tile=tile),
    }


def images_of_224(bench: Bench) -> Iterator[Row]:
    """Blend and mix of large images, beside plain mixup."""
    side = 32 if bench.tiny else 224
    for dtype in (torch.float32, torch.bfloat16):
        few = bench.scenes(bench.batches[0])
        large = F.interpolate(few.images, size=(side, side)).to(dtype)
        maps = F.interpolate(few.saliency[:, None], size=(side, side))[:, 0]
        batch = few._replace(images=large, saliency=maps)
        half = torch.full((), 0.5, dtype=dtype, device=bench.device)
        functions = {
            "blend": _pieces(batch._replace(images=large.float()), 4 if bench.tiny else 16)["blend"],
            "whole mix": partial(mix, batch, 4 if bench.tiny else 16),
            "plain mixup": lambda images=large, partner=few.partner, half=half: torch.lerp(
                images, images[partner], half
            ),
        }
        times = device_times(functions, bench.device, 3)
        for name in ("blend", "whole mix"):
            peers = {"plain mixup": 1e6 * times["plain mixup"]}
            yield Row(
                name, f"{len(large)} images of {side}x{side}, {dtype}", US, 1e6 * times[name], peers, judge="time"
            )


def variants(bench: Bench) -> Iterator[Row]:
    """The kernels with other numbers of warps, lanes and steps."""
    bench.needs_gpu()
    for count, side in ((128, 16), (128, 32), (1024, 16)):
        name = f"{count} images, {side}x{side}"
        batch = bench.scenes(count)
        problem, usual = reference.mask_of(batch, side), mask_gpu.launch_for(side * side)
        for launched in mask_gpu.variants(side * side):
            of_warps = (launched.pushes, launched.relaxations) == (usual.pushes, usual.relaxations)
            if (side == 16 and count == 128) or of_warps:
                solve = partial(mask_gpu.solve_on_gpu, *problem, launched)
                yield _variant(
                    bench, f"mask, {name}", ", ".join(f"{n} {of}" for of, n in asdict(launched).items()), solve
                )
        functions = _pieces(batch, side)
        for piece, setting, changed in _settings():
            with changed:
                yield _variant(bench, f"{piece}, {name}", setting, functions[piece])


def _variant(bench: Bench, part: str, setting: str, function: Function) -> Row:
    return Row(part, setting, US, 1e6 * device_times({"it": function}, bench.device)["it"], judge="value")


def _settings() -> Iterator[tuple[str, str, contextlib.AbstractContextManager]]:
    """Of the other kernels: which one, in words, and what makes it so."""
    for lanes in (32, 64, 256):
        yield "exact plans of both images", f"{lanes} lanes per warp", _set(exact, "LANES_PER_WARP", lanes)
        yield "plans of both images", f"at most {lanes} lanes", _set(paper, "MOST_LANES", lanes)
    for patch in ((4, 32), (16, 32), (32, 32)):
        yield "blend", f"patches of {patch[0]}x{patch[1]}", _set(blending, "PATCH", patch)


@contextlib.contextmanager
def _set(module: Any, name: str, value: Any) -> Iterator[None]:
    """Give a module's variable another value for a while."""
    before = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, before)


def kernels(bench: Bench) -> Iterator[Row]:
    """What a mix at the finest of the paper's grids spends its time on, kernel by kernel."""
    bench.needs_gpu()
    batch = bench.scenes(128)
    events = _launches(partial(mix, batch, 16), bench)
    yield Row("launches", "mix", "", sum(event.count for event in events) / 10, judge="value", goal=MOST_LAUNCHES)
    for event in events[:20]:
        yield Row("kernels of a mix", event.key[:60], US, event.self_device_time_total / 10, judge="value")
    mixup, labels, drawn = PuzzleMix(torch.nn.Identity(), 100), batch.partner % 100, Draw(batch.partner, 0.5, 16)
    count = sum(event.count for event in _launches(lambda: mixup(batch.images, labels, **_known(batch, drawn)), bench))
    yield Row("launches", "drop-in, saliency given", "", count / 10, judge="value", goal=MOST_LAUNCHES)


def _known(batch: Scenery, drawn: Draw) -> dict[str, Any]:
    return {"saliency": batch.saliency, "draw": drawn}


def _launches(function: Function, bench: Bench) -> list[Any]:
    """What the device does in ten calls, the longest first; what the host does for it is not counted."""
    function()
    finish(bench.device)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for _ in range(10):
            function()
        finish(bench.device)
    events = [event for event in profile.key_averages() if event.self_device_time_total > 0]
    return sorted(events, key=lambda event: -event.self_device_time_total)


def host_times(bench: Bench) -> Iterator[Row]:
    """How long the host is busy with one call, while the device has nothing else to do."""
    batch = bench.scenes(bench.batches[0])
    grid = bench.grids[0]
    mixup, labels, drawn = PuzzleMix(torch.nn.Identity(), 100), batch.partner % 100, Draw(batch.partner, 0.5, grid)
    functions: dict[str, Function] = {
        "mix": partial(mix, batch, grid),
        "drop-in, saliency given": lambda: mixup(batch.images, labels, **_known(batch, drawn)),
        "plain mixup": lambda: torch.lerp(batch.images, batch.images[batch.partner], 0.5),
    }
    for name, function in functions.items():
        yield Row("the host's time", name, US, 1e6 * host_time(function, bench.device), judge="value")


# ---- does the host wait? -----------------------------------------------------------------------------------------


def host_waits(bench: Bench) -> Iterator[Row]:
    """How often the host waits for the device in a mix and in a training step; it must not."""
    bench.needs_gpu()
    batch = bench.scenes(128)
    cases: dict[str, Function] = {
        "mix": partial(mix, batch, 16),
        "mix of normalised images": partial(_mix_of, batch, mean=[0.5] * 3, std=[0.25] * 3),
        "mix with exact plans": partial(_mix_of, batch, config=PuzzleMixConfig(transport="exact")),
        "mix with finer blocks": partial(_mix_of, batch, grid=4, config=PuzzleMixConfig(transport_block=4)),
        "mix with padding": partial(_mix_of, batch, grid=7),
    }
    trainer = Trainer(bench, "PreActResNet-18")
    cases |= {f"training step, {name}": step for name, step in trainer.steps().items()}
    if len(waits(lambda: batch.partner.max().item())) != 1:
        raise RuntimeError("reading a number was not counted as waiting: torch counts otherwise here")
    for name, function in cases.items():
        found = waits(function)
        case = f"{name} ({', '.join(sorted(set(found)))})" if found else name
        yield Row("host waits", case, "times", len(found), judge="value", goal=0)


def _mix_of(batch: Scenery, grid: int = 16, **options: Any) -> Tensor:
    return puzzle_mix(batch.images, batch.saliency, index=batch.partner, lam=0.5, grid=grid, **options).images


# ---- training steps ----------------------------------------------------------------------------------------------


class Trainer:
    """A network in bf16 with an optimiser and a batch; the learning rate is 0, so that all steps are alike."""

    def __init__(self, bench: Bench, name: str, compiled: bool = False):
        model_name, options = (TINY_MODELS if bench.tiny else MODELS)[name]
        model = build_model(model_name, 100, seed=0, **options).to(bench.device, memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.model: Callable[[Tensor], Tensor] = bench.compiled(model) if compiled else model
        self.device = bench.device
        torch.backends.cudnn.benchmark = True
        self.optimiser = torch.optim.SGD(model.parameters(), lr=0.0, momentum=0.9, nesterov=True, weight_decay=1e-4)
        self.batch = bench.scenes(bench.batches[0])
        self.images = self.batch.images.contiguous(memory_format=torch.channels_last)
        self.labels = torch.arange(len(self.images), device=bench.device) % 100
        self.draw = Draw(self.batch.partner, 0.5, 4 if bench.tiny else 16)
        self.mixup = PuzzleMix(self.model, 100, precision=torch.bfloat16)
        self.samples = torch.arange(len(self.images))

    def steps(self) -> dict[str, Function]:
        """Steps that differ in how the batch comes about."""
        kept = PuzzleMix(self.model, 100, precision=torch.bfloat16, refresh=2**30)

        def reused() -> None:
            self.learn(*kept(self.images, self.labels, samples=self.samples, draw=self.draw))

        return self.graph_steps() | {"saliency remembered": reused}

    def graph_steps(self) -> dict[str, Function]:
        """Those of them that never look at a number on the host, so that a CUDA graph can hold them."""
        maps = self.batch.saliency
        return {
            "vanilla": lambda: self.learn(self.images, self.labels),
            "exact saliency": lambda: self.learn(*self.mixup(self.images, self.labels, draw=self.draw)),
            "saliency given": lambda: self.learn(*self.mixup(self.images, self.labels, draw=self.draw, saliency=maps)),
        }

    def learn(self, images: Tensor, targets: Tensor) -> None:
        """One step of SGD."""
        self.optimiser.zero_grad()
        with torch.autocast(self.device.type, torch.bfloat16):
            logits = self.model(images)
        F.cross_entropy(logits.float(), targets).backward()
        self.optimiser.step()


def steps(bench: Bench, name: str, compiled: bool) -> Iterator[Row]:
    """Step ratios of one network, launched one by one and from CUDA graphs."""
    with _set(drop_in, "puzzle_mix", bench.compiled(puzzle_mix) if compiled else puzzle_mix):
        trainer = Trainer(bench, name, compiled)
        how = "compiled" if compiled else "eager"
        yield from _ratios(name, how, loop_times(trainer.steps(), bench.device, 1.0))
        if bench.device.type == "cuda":
            graphs = {case: captured(step) for case, step in trainer.graph_steps().items()}
            times = loop_times(graphs, bench.device, 1.0)
            yield from _ratios(name, f"{how}, CUDA graph", times)
            yield _share_of_mix(bench, name, how, trainer, times["vanilla"])


def _ratios(name: str, how: str, times: dict[str, float]) -> Iterator[Row]:
    vanilla = times["vanilla"]
    yield Row(f"step of {name}", f"{how}, vanilla", MS, 1e3 * vanilla, judge="value")
    for case, seconds in times.items():
        if case == "vanilla":
            continue
        goal = EXACT_LIMIT if case == "exact saliency" else REUSED_LIMIT
        peers = {"vanilla": 1e3 * vanilla}
        yield Row(f"step of {name}", f"{how}, {case}", MS, 1e3 * seconds, peers, judge="time", goal=goal)


def _share_of_mix(bench: Bench, name: str, how: str, trainer: Trainer, step: float) -> Row:
    """The mix of the step's own images, of which the device's time counts."""
    batch = trainer.batch._replace(images=trainer.images)
    whole = partial(_drop_in_mix, batch, trainer.draw.grid)
    share = 100 * device_times({"mix": whole}, bench.device, 3)["mix"] / step
    goal = MIX_LIMIT if name == "WRN-28-10" else None
    return Row("whole mix", f"{how}, of a {name} step", SHARE, share, judge="value", goal=goal)


def _drop_in_mix(batch: Scenery, grid: Any) -> Tensor:
    """By whatever the drop-in uses, compiled or not."""
    return drop_in.puzzle_mix(batch.images, batch.saliency, index=batch.partner, lam=0.5, grid=grid).images


def compiled_mix(bench: Bench) -> Iterator[Row]:
    """The whole mix as one compiled graph."""
    batch = bench.scenes(bench.batches[0])
    side = bench.grids[0]
    compiled = bench.compiled(partial(puzzle_mix, grid=side))

    def call() -> Any:
        return compiled(batch.images, batch.saliency, index=batch.partner, lam=0.5)

    plain = puzzle_mix(batch.images, batch.saliency, index=batch.partner, lam=0.5, grid=side)
    other = (call().mask != plain.mask).flatten(1).any(1)
    yield Row("compiled mix", "masks that differ", "%", 100 * float(other.float().mean()), judge="value", goal=1)
    name = f"{len(batch.images)} images, {side}x{side}"
    yield Row(
        "compiled mix, device", name, US, 1e6 * device_times({"mix": call}, bench.device, 3)["mix"], judge="value"
    )
    yield Row("compiled mix, launched", name, US, 1e6 * loop_times({"mix": call}, bench.device)["mix"], judge="value")


# name -> (the part, how many seconds it takes at most); the most telling ones first, for when time runs out
PARTS: dict[str, tuple[Callable[[Bench], Iterator[Row]], float]] = {
    "masks": (masks_right, 90),
    "plans": (plans_right, 90),
    "blends": (blends_right, 60),
    "mixes": (mixes_right, 60),
    "problems": (problems_right, 60),
    "host": (host_times, 30),
    "times": (times_usual, 60),
    "waits": (host_waits, 60),
    "wide": (partial(steps, name="WRN-28-10", compiled=False), 60),
    "preact": (partial(steps, name="PreActResNet-18", compiled=False), 60),
    "large batch": (times_large, 40),
    "compiled mix": (compiled_mix, 90),
    "hostile": (hostile_masks, 30),
    "large images": (images_of_224, 30),
    "variants": (variants, 90),
    "kernels": (kernels, 30),
    "compiled wide": (partial(steps, name="WRN-28-10", compiled=True), 150),
    "compiled preact": (partial(steps, name="PreActResNet-18", compiled=True), 120),
}

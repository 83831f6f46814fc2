"""What mixed images keep against lambda: tables, and with --record records/curves.json.

`python benchmarks/curves.py --network RUN` takes some minutes; RUN is the folder of a finished run, best a vanilla one,
whose network looks at its test images. `--quick` only shows that everything runs.
"""

import json
from collections.abc import Sequence
from typing import Any

import recording
from networks import network_of, read_options

from puzzlemix.core.params import GRIDS
from puzzlemix.experiments import lambda_curves
from puzzlemix.experiments.figures import Source
from puzzlemix.experiments.lambda_curves import Point
from puzzlemix.experiments.tables import markdown
from puzzlemix.recording import where, write_record

WHAT = (
    "{pairs} pairs of test images of {data}, {model} after {epochs} epochs; saliency: what is kept of both images', "
    "each summing to 1; variation: mean absolute difference of neighbouring pixels; both averaged over pairs"
)
WAYS = {
    "Puzzle Mix": ("puzzle", "random"),
    **{f"grid {grid}": ("puzzle", str(grid)) for grid in GRIDS},
    "input mixup": ("input_mixup", ""),
    "CutMix": ("cutmix", ""),
    "manifold mixup": ("manifold_mixup", ""),
}
MEASURES = {
    "saliency": "Mixed saliency",
    "variation": "Total variation",
    "loss": "Cross-entropy",
    "top1": "Top-1 accuracy",
    "top2": "Top-2 accuracy",
}


def text(points: Sequence[Point]) -> str:
    """A table for each measure, a line for each lambda."""
    return "\n".join(f"{title}:\n\n{_table(points, name)}" for name, title in MEASURES.items())


def _table(points: Sequence[Point], measure: str) -> str:
    values = {(p.method, p.grid, p.lam): getattr(p, measure) for p in points}
    lambdas = sorted({p.lam for p in points})
    ways = {name: way for name, way in WAYS.items() if values[*way, lambdas[0]] is not None}
    rows = [[f"{lam:g}", *(f"{values[*way, lam]:.3f}" for way in ways.values())] for lam in lambdas]
    return markdown(["lambda", *ways], rows)


def load() -> tuple[dict[str, Any], list[Point]] | None:
    """The record; None where nothing has been recorded."""
    path = recording.path_of("curves")
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    return content, [Point(**point) for point in content["points"]]


def main(arguments: list[str] | None = None) -> None:
    """Measure, print, record."""
    options = read_options("curves", "What mixed images keep against lambda.", arguments)
    source = Source(options.network, pairs=options.pairs)
    points = lambda_curves.measure(source.network, source.batches(), source.generator())
    print(text(points), end="")
    if options.record:
        what = WHAT.format(pairs=f"{options.pairs:,}", **network_of(options.network))
        content = {"what": what, "kind": "measured", "where": where(), "points": [p._asdict() for p in points]}
        write_record(recording.path_of("curves"), content)


if __name__ == "__main__":
    main()

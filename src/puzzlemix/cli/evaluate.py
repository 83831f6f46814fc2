"""`puzzlemix evaluate`: how good trained networks are, and how well they stand attacks and corruptions."""

import argparse
import dataclasses
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..data import DATA_SETS
from ..drawing.files import KINDS
from ..evaluation.attacks import PGD
from ..evaluation.report import DRAWN, Questions, report
from ..recording import where, write_record
from ..training.codec import encode, nearest
from ..training.config import DataConfig, MachineConfig, ModelConfig
from ..training.processes import find_device
from .flags import Names, add_flags, changed, flags_of, read_flags
from .parser import Parser, UsageError
from .planning import NAMES
from .subjects import Subject, Wanted, find_subject
from .tables import aligned

RECORD = "evaluation.json"
# what the attack curves are drawn of: the paper's attack of up to 20 steps, and reaches up to its FGSM's
CURVE_REACHES, CURVE_PGD = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0), PGD(eps_255=4.0, step_255=2.0, steps=20)
_NAMES = dataclasses.replace(NAMES, hidden=(("data", "train_images"),))
_ABOUT = """\
Judge trained networks on test images: errors, loss, calibration, attacks, corruptions.

A network is the folder of a run, a file of weights with --model and --data, or the name of a torchvision classifier,
which brings its own weights. All that is found goes to one JSON record."""
_EXAMPLES = f"""
puzzlemix evaluate runs/RUN                          errors, calibration, FGSM at 8/255
puzzlemix evaluate runs/RUN --fgsm-255 2 4 8 --pgd --pgd-steps 20 --pgd-restarts 3
puzzlemix evaluate runs/RUN --corruptions {DRAWN}      19 corruptions at 5 severities, computed here
puzzlemix evaluate runs/RUN --corruptions CIFAR-100-C
puzzlemix evaluate runs/ADV runs/VANILLA --curves attacks.png
puzzlemix evaluate best.pth --model wrn28_10 --data cifar100
puzzlemix evaluate resnet50 --download --data imagenet --root /data
"""


class _Asked(NamedTuple):
    """What was typed."""

    found: argparse.Namespace
    wanted: Wanted
    questions: Questions


def run(arguments: list[str]) -> int:
    """Judge, record, and print a table."""
    asked = _read(arguments)
    device = find_device(MachineConfig(device=asked.found.device))
    subjects = _told_apart(
        [(what, find_subject(what, asked.wanted)) for what in asked.found.models], asked.found.models
    )
    answers = [_judged(subject, asked.questions, device) for subject in subjects]
    content = {"what": "evaluation", "kind": "measured", "seed": asked.questions.seed}
    content |= {"questions": encode(asked.questions), "where": where(device), "evaluations": answers}
    path = asked.found.output or _usual_place(asked.found.models)
    write_record(path, content)
    if asked.found.curves is not None:
        draw_attacks(answers, asked.found.curves)
        sys.stdout.write(f"{asked.found.curves}\n")
    sys.stdout.write(f"{aligned(_table(answers))}\n\n{path}\n")
    return 0


def _judged(subject: Subject, questions: Questions, device: str) -> dict[str, Any]:
    def tell(stage: str) -> None:
        sys.stderr.write(f"{subject.name}: {stage}\n")

    found = report(subject.model, subject.split, questions, device=device, tell=tell)
    return {"name": subject.name, "model": subject.about, **found}


def _told_apart(found: Sequence[tuple[str, Subject]], models: Sequence[str]) -> list[Subject]:
    """Call by their folders those that would have the same name."""
    counts = Counter(subject.name for _, subject in found)
    return [subject if counts[subject.name] == 1 else subject._replace(name=Path(what).name) for what, subject in found]


def _usual_place(models: Sequence[str]) -> Path:
    alone = Path(models[0])
    return alone / RECORD if len(models) == 1 and alone.is_dir() else Path(RECORD)


# ---- reading -----------------------------------------------------------------------------------------------------


def _read(arguments: list[str]) -> _Asked:
    """What is asked for; UsageError where it cannot be meant."""
    parser = _parser()
    questions = list(flags_of(Questions(), Names()))
    add_flags(parser, "what is asked", questions)
    data = list(flags_of(DataConfig(), _NAMES, ("data",)))
    add_flags(parser, "test images (of a run: its own, where nothing else is said)", data)
    model = list(flags_of(ModelConfig(), _NAMES, ("model",)))
    add_flags(parser, "network of a file of weights", model)
    found = parser.read(arguments)
    try:
        asked = _for_curves(changed(Questions(), read_flags(found, questions)), found)
        wanted = _wanted(read_flags(found, data + model), found)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from error
    _check(found, wanted)
    return _Asked(found, wanted, asked)


def _parser() -> Parser:
    parser = Parser("evaluate", _ABOUT, _EXAMPLES)
    parser.add_argument("models", nargs="+", metavar="MODEL", help="a run's folder, a file of weights, or a name")
    add = parser.add_argument
    add("-o", "--output", type=Path, metavar="FILE", help=f"the record (RUN/{RECORD}, of several models {RECORD})")
    add("--curves", type=Path, metavar="FILE", help=f"draw errors by strength of attack: {', '.join(KINDS)}")
    add("--ema", action="store_true", help="the averaged weights of runs")
    add("--root", metavar="FOLDER", help="the folder of data sets (a run's own; data)")
    add("--download", action="store_true", help="fetch data sets and weights that are missing")
    add(
        "--device",
        default="auto",
        choices=("auto", "cpu", "cuda", "mps"),
        metavar="NAME",
        help="auto, cpu, cuda or mps",
    )
    return parser


def _for_curves(questions: Questions, found: argparse.Namespace) -> Questions:
    """Where curves are to be drawn, ask for what they show, unless something else was typed."""
    if found.curves is None:
        return questions
    typed = dataclasses.asdict(Questions()) != dataclasses.asdict(questions)
    reaches = questions.fgsm_255 if typed and questions.fgsm_255 != Questions().fgsm_255 else CURVE_REACHES
    return dataclasses.replace(questions, fgsm_255=reaches, pgd=questions.pgd or CURVE_PGD)


def _wanted(typed: Mapping[tuple[str, ...], Any], found: argparse.Namespace) -> Wanted:
    groups: dict[str, dict[str, Any]] = {"data": {}, "model": {}}
    for (group, name), value in typed.items():
        groups[group][name] = value
    return Wanted(**groups, root=found.root, download=found.download, ema=found.ema)


def _check(found: argparse.Namespace, wanted: Wanted) -> None:
    if found.curves is not None and found.curves.suffix.lower() not in KINDS:
        raise UsageError(f"{found.curves} does not end like a picture: choose one of {', '.join(KINDS)}")
    name = wanted.data.get("name")
    if name is not None and name not in DATA_SETS and not Path(name).expanduser().exists():
        raise UsageError(f"there is no data set {name!r}: {nearest(name, DATA_SETS)}")


# ---- showing -----------------------------------------------------------------------------------------------------


def _table(answers: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """Errors in per cent, one line for each model."""
    columns = [_columns(answer) for answer in answers]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [
        (answer["name"], *(found.get(name, "") for name in names))
        for answer, found in zip(answers, columns, strict=True)
    ]
    return [("model", *names), *rows]


def _columns(answer: Mapping[str, Any]) -> dict[str, str]:
    clean = answer["clean"]
    columns = {"error": _percent(1 - clean["top1"]), "top-5 error": _percent(1 - clean["top5"])}
    columns |= {"loss": f"{clean['loss']:.3f}", "calibration error": _percent(clean["ece"])}
    columns |= {f"FGSM {entry['eps_255']:g}/255": _percent(1 - entry["top1"]) for entry in answer.get("fgsm", ())}
    if "pgd" in answer:
        attack = answer["pgd"]
        columns[f"PGD {attack['eps_255']:g}/255 {attack['norm']}"] = _percent(attack["error"])
    if "corruptions" in answer:
        columns["corruptions"] = _percent(answer["corruptions"]["mean_error"])
    return columns


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def draw_attacks(answers: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the attack curves among the evaluations of a record."""
    from ..drawing import save_figure
    from ..drawing.attack_curves import AttackCurves, draw_attack_curves

    curves = [
        AttackCurves(
            answer["name"],
            {0.0: 1 - answer["clean"]["top1"], **{entry["eps_255"]: 1 - entry["top1"] for entry in answer["fgsm"]}},
            answer["pgd"]["error_after_steps"],
        )
        for answer in answers
    ]
    attack = answers[0]["pgd"]
    words = f"PGD, {attack['norm']}, reach {attack['eps_255']:g}/255, step {attack['step_255']:g}/255"
    save_figure(draw_attack_curves(curves, pgd_title=words), path)

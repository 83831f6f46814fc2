"""What README.md and docs/ say: their code runs, their links lead somewhere, their commands and settings exist."""

import dataclasses
import re
import shlex
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import puzzlemix
from puzzlemix import Adversarial, PuzzleMix, PuzzleMixConfig, View
from puzzlemix.data import DATA_SETS
from puzzlemix.methods import METHODS, Augment, Batch

ROOT = Path(__file__).parents[1]
DOCUMENTS = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if path.is_file()]
CARDS = sorted((ROOT / "docs" / "methods").glob("*.md"))
GROUPS = {kind.__name__: kind for kind in (Augment, PuzzleMixConfig, Adversarial)}

pytestmark = pytest.mark.skipif(not DOCUMENTS, reason="no documents beside the tests")


def name_of(path):
    return str(path.relative_to(ROOT))


def blocks(path, language):
    """The code blocks of one language, without those after a mark `<!-- not run -->`."""
    text = re.sub(r"<!-- not run -->\n```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)


def commands(path):
    """Every line of a console block that calls the command line, without comments."""
    lines = (line for block in blocks(path, "bash") for line in block.replace("\\\n", " ").splitlines())
    return [shlex.split(line, comments=True) for line in lines if line.startswith("puzzlemix ")]


with_blocks = pytest.mark.parametrize("path", [p for p in DOCUMENTS if blocks(p, "python")], ids=name_of)
every_document = pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
every_card = pytest.mark.parametrize("path", CARDS, ids=name_of)


# ---- code ----------------------------------------------------------------------------------------------------------


def surroundings():
    """What the snippets take for granted: a model, images and their labels, and what is known of them."""
    torch.manual_seed(0)
    layers = {"layer1": torch.nn.Conv2d(3, 8, 3), "layer2": torch.nn.ReLU(), "pool": torch.nn.AdaptiveAvgPool2d(1)}
    head = {"flat": torch.nn.Flatten(), "linear": torch.nn.Linear(8, 100)}
    model = torch.nn.Sequential(OrderedDict(layers | head))
    x, y, zeros = torch.rand(4, 3, 32, 32), torch.tensor([3, 1, 4, 1]), torch.zeros(4, dtype=torch.long)
    known = {
        **{name: getattr(puzzlemix, name) for name in puzzlemix.__all__},
        **{"torch": torch, "F": F, "Batch": Batch, "model": model, "N": 100, "rank": 0},
        **{
            "x": x,
            "y": y,
            "images": x,
            "labels": y % 10,
            "loader": [(x, y)] * 2,
            "maps": x.mean(1),
            "saliency": x.mean(1),
        },
        **{"MEAN": (0.5,) * 3, "STD": (0.25,) * 3, "attention_maps": lambda batch: batch.mean(1)},
        **{"segments": y[:, None, None].expand(-1, 32, 32), "segmentation_one_hots": torch.rand(4, 5, 32, 32)},
        **{"numbers": torch.arange(4), "top": zeros, "left": zeros, "flipped": zeros.bool()},
    }
    known["optimizer"] = torch.optim.SGD(model.parameters(), lr=0.01)
    known["generator"] = torch.Generator().manual_seed(0)
    known["mixup"] = PuzzleMix(model, num_classes=100, generator=known["generator"])
    known["record"] = known["mixup"](x, y) and known["mixup"].last
    assert known["View"] is View
    return known


@with_blocks
@pytest.mark.filterwarnings("default")  # what other packages warn about is their own affair
def test_the_code_runs(path, tmp_path, monkeypatch):
    """In the tutorial block after block, elsewhere each on its own."""
    pytest.importorskip("lightning")
    pytest.importorskip("torchvision")
    monkeypatch.chdir(tmp_path)
    known = surroundings()
    for number, block in enumerate(blocks(path, "python"), start=1):
        known = known if path.stem == "tutorial" else surroundings()
        exec(compile(block, f"{name_of(path)}, block {number}", "exec"), known)


# ---- links ---------------------------------------------------------------------------------------------------------


def anchors(path):
    """What a `#` may lead to: each title as GitHub writes it."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.M), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@every_document
def test_the_links_lead_somewhere(path):
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        place, _, anchor = link.partition("#")
        if not place.startswith(("http://", "https://")):
            target = path.parent / place if place else path
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


# ---- commands ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planning():
    pytest.importorskip("lightning")
    from puzzlemix.cli import planning

    return planning


@pytest.mark.parametrize("path", [p for p in DOCUMENTS if commands(p)], ids=name_of)
def test_the_commands_are_understood(path, planning, tmp_path, monkeypatch):
    from puzzlemix.cli import COMMANDS

    monkeypatch.chdir(tmp_path)
    Path("photos.zip").touch()
    Path("runs/RUN").mkdir(parents=True)
    Path("runs/RUN/config.json").write_text(planning.SMALL.to_json())
    for _, command, *arguments in commands(path):
        assert command in {*COMMANDS, "--help"}
        if command == "train" and "--help" not in arguments:
            planning.read_plan(arguments)


def flags_there_are(planning):
    """All flags of `puzzlemix train`, whatever the method, and of their negations."""
    from puzzlemix.cli.parser import Parser

    flags = {"--method", "--config", "--out", "--seed", "--help"}
    for method in METHODS:
        parser = Parser("train", "", "")
        planning.add_settings(parser, planning.with_method(planning.SMALL, method), tuple(planning._TITLES))
        flags |= {name for action in parser._actions for name in action.option_strings}
    return flags


@pytest.mark.parametrize("name", ["training.md", "choosing.md", "data.md", *(f"methods/{p.name}" for p in CARDS)])
def test_the_flags_that_are_named_exist(name, planning):
    text = re.sub(r"torchrun .*? puzzlemix", "puzzlemix", (ROOT / "docs" / name).read_text())
    named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
    assert named - flags_there_are(planning) == set()


def test_every_flag_of_a_run_is_explained(planning):
    """Those of the methods stand in their cards, by the names of the settings."""
    text = "".join((ROOT / "docs" / name).read_text() for name in ("training.md", "data.md"))
    config = planning.SMALL
    groups = ("data", "loop", "schedule", "optimiser", "machine", "model")
    from puzzlemix.cli.flags import flags_of

    flags = [flag for group in groups for flag in flags_of(getattr(config, group), planning.NAMES, (group,))]
    names = {"--" + flag.name.replace("_", "-") for flag in flags}
    missing = {name for name in names if name not in text and name.replace("--", "--no-") not in text}
    assert missing == set()


# ---- settings ------------------------------------------------------------------------------------------------------


def rows_below(text):
    """The first two cells of a table's rows: names, and defaults as they are written."""
    return dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", text, flags=re.MULTILINE))


def defaults_of(kind):
    shown = {field.name: repr(getattr(kind(), field.name)).replace("'", '"') for field in dataclasses.fields(kind)}
    return {name: re.sub(r"^(\w+)\(.*\w+=.*\)$", r"\1()", value) for name, value in shown.items()}


def test_every_method_has_a_card():
    assert {path.stem for path in CARDS} == set(METHODS)


@every_card
def test_a_card_has_all_its_parts(path):
    titles = re.findall(r"^## (.+)$", path.read_text(), flags=re.MULTILINE)
    assert titles == ["Use", "Details", "Hyperparameters", "Warnings"]


@every_card
def test_a_card_names_every_setting_with_its_default(path):
    own, *others = re.split(r"^`(\w+)`, .*:$|^`(\w+)`:$", path.read_text().split("## Hyperparameters")[1], flags=re.M)
    assert rows_below(own) == defaults_of(METHODS[path.stem].settings)
    parts = [part for part in others if part]
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        assert rows_below(text) == defaults_of(GROUPS[name])


def test_every_data_set_is_listed():
    table = (ROOT / "docs" / "data.md").read_text().split("## Options")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE)) == set(DATA_SETS)


def test_the_papers_errors_are_the_published_ones():
    pytest.importorskip("lightning")
    from puzzlemix.experiments import published

    tables = (published.CIFAR100_WRN, published.CIFAR100_PREACT, published.TINY_IMAGENET, published.IMAGENET_100)
    names = {"vanilla": "Vanilla", "input mixup": "Input", "manifold mixup": "Manifold"}
    text = (ROOT / "docs" / "choosing.md").read_text()
    lines = re.findall(r"^\| ([\w ]+) ((?:\| [\d.]+ ){4})\|$", text, flags=re.MULTILINE)
    assert len(lines) == len(METHODS)
    for name, cells in lines:
        expected = [table.rows[names.get(name, name)][0] for table in tables]
        assert [float(cell) for cell in cells.split("|")[1:]] == expected

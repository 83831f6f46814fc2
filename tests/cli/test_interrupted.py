"""`puzzlemix reproduce`, stopped in the middle of a run: the same command ends in the same record."""

import json
import signal

import numpy as np
from PIL import Image

from puzzlemix.experiments.recipes import TABLES

CLASSES, SIZE = 6, 16
ROW = list(TABLES["mini"].recipes).index("Puzzle Mix (refresh 4)")  # it keeps saliency from epoch to epoch


def write_images(folder):
    """A set so small that an epoch is one step."""
    random = np.random.default_rng(0)
    for split, count in (("train", 17), ("val", 2)):
        for label in range(CLASSES):
            place = folder / split / f"class {label}"
            place.mkdir(parents=True)
            for number in range(count):
                pixels = random.integers(40 * label, 40 * label + 56, size=(SIZE, SIZE, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(place / f"{number}.png")


def test_a_table_that_was_interrupted_goes_on_to_the_same_record(installed):
    write_images(installed.folder / "images")
    command = ["reproduce", "mini", "--data", "images", "--only", ROW, "--device", "cpu", "--workers", 0]

    process = installed.start(*command, "--runs", "runs", "--records", "records")
    next(line for line in process.stderr if line.startswith("epoch 5/40"))
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate(timeout=900)
    assert (process.returncode, output) == (143, "")
    assert errors.splitlines()[-1].endswith("the same command goes on")
    assert not (installed.folder / "records").exists()

    code, _, errors = installed(*command, "--runs", "runs", "--records", "records")
    assert code == 0, errors
    assert "going on from" in errors
    code, _, errors = installed(*command, "--runs", "others", "--records", "uninterrupted")
    assert code == 0, errors
    kept, whole = (read_record(installed.folder / name) for name in ("records", "uninterrupted"))
    assert kept["errors"] == whole["errors"]
    assert kept["config"] == whole["config"]
    assert kept["errors"].keys() >= {"top1", "fgsm", "pgd", "corruption"}


def read_record(folder):
    """The one record in a folder."""
    (path,) = folder.glob("*.json")
    return json.loads(path.read_text())

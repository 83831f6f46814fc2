"""Records: what was measured, where, and the numbers, as records/<name>.json."""

import contextlib
import datetime
import json
import os
import platform
import tempfile
from dataclasses import asdict, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from report import Row

RECORDS = Path(__file__).parents[1] / "records"


def where() -> dict[str, Any]:
    """The machine and the versions, without anybody's names or paths."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("puzzlemix", "torch", "numpy", "numba", "scipy")},
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def _processor() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    return platform.processor() or platform.machine()


def path_of(name: str) -> Path:
    """Where a record lies."""
    return RECORDS / f"{name}.json"


def save(name: str, what: str, rows: list[Row]) -> None:
    """Write records/<name>.json, whole or not at all."""
    entries = [asdict(row) | {"ratios": row.ratios(), "met": row.met()} for row in rows]
    content = json.dumps({"what": what, "kind": "measured", "where": where(), "rows": entries}, indent=2) + "\n"
    RECORDS.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=RECORDS, suffix=".part", delete=False) as part:
        part.write(content)
    os.chmod(part.name, 0o644)
    os.replace(part.name, path_of(name))


def load(name: str) -> tuple[dict[str, Any], list[Row]] | None:
    """A record and its rows; None where nothing has been recorded."""
    try:
        content = json.loads(path_of(name).read_text())
    except FileNotFoundError:
        return None
    known = [part.name for part in fields(Row)]
    return content, [Row(**{key: entry[key] for key in known}) for entry in content["rows"]]

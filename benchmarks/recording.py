"""Records: what was measured, where, and the numbers, as records/<name>.json."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from report import Row

from puzzlemix.recording import where, write_record

RECORDS = Path(__file__).parents[1] / "records"


def path_of(name: str) -> Path:
    """Where a record lies."""
    return RECORDS / f"{name}.json"


def save(name: str, what: str, rows: list[Row]) -> None:
    """Write records/<name>.json, whole or not at all."""
    entries = [asdict(row) | {"ratios": row.ratios(), "met": row.met()} for row in rows]
    write_record(path_of(name), {"what": what, "kind": "measured", "where": where(), "rows": entries})


def load(name: str) -> tuple[dict[str, Any], list[Row]] | None:
    """A record and its rows; None where nothing has been recorded."""
    try:
        content = json.loads(path_of(name).read_text())
    except FileNotFoundError:
        return None
    known = [part.name for part in fields(Row)]
    return content, [Row(**{key: entry[key] for key in known if key in entry}) for entry in content["rows"]]

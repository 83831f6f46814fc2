"""Files that are whole or not there."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Replace a file at once: whoever reads it, even after a crash or a power cut, finds the old or the new one."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            # Without it, a power cut after the rename could leave an empty file under the final name.
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed process left of a file it was writing; nobody else may be writing here."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make a rename last through a power cut; not every system lets a folder be opened for that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""The interactive page: pick two pictures, move the settings, and watch mask, moves and mix follow.

`Explorer` answers what the page asks for, as plain values; `serve` puts it behind a server of the standard library.
"""

from .answers import Explorer
from .server import Server, open_server

__all__ = ["Explorer", "Server", "open_server"]

"""The explorer behind a plain server of the standard library."""

import ipaddress
import logging
import secrets
import socket
import socketserver
import threading
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .answers import Explorer
from .handler import Handler
from .sessions import Sessions

LOG = logging.getLogger(__name__)
_MOST_CONNECTIONS = 64


class Server(ThreadingHTTPServer):
    """Serves the page on `host:port`; port 0 takes a free one. `address` is what to open in a browser."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 32

    def __init__(self, explorer: Explorer, host: str = "127.0.0.1", port: int = 0):
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.explorer, self.host = explorer, host
        self.key = secrets.token_urlsafe(16)
        self.sessions = Sessions()
        self._connections = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__((host, port), Handler)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self.server_address[1]

    @property
    def address(self) -> str:
        """What to open: it holds the key."""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}/?key={self.key}"

    def knows(self, key: str | None) -> bool:
        """Whether this is the key of the address."""
        return key is not None and secrets.compare_digest(key.encode(), self.key.encode())

    def accepts_host(self, header: str | None) -> bool:
        """Whether a request is meant for this machine.

        Another page can let a name of its own point here (DNS rebinding), but neither a number nor our names.
        """
        name = _host_in(header)
        return name in {"localhost", self.host.lower(), socket.gethostname().lower()} or _is_number(name)

    def server_bind(self) -> None:
        """Bind, but do not ask a name server what this machine is called."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.host, self.port

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, unless there are too many already."""
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer all requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note what broke a connection: as a rule a browser that went away."""
        LOG.debug("a connection broke", exc_info=True)

    def server_close(self) -> None:
        """Stop listening."""
        super().server_close()
        self.explorer.close()


def open_server(explorer: Explorer, host: str = "127.0.0.1", port: int = 0) -> Server:
    """Listen, answering once `serve_forever()` is called; ValueError where the host or the port cannot be had."""
    try:
        return Server(explorer, host, port)
    except (OSError, OverflowError) as error:
        raise ValueError(f"{host}:{port} cannot be listened on ({error}): pass another port, or 0 for any") from error


def _host_in(header: str | None) -> str:
    """The name or number in a Host header; nothing where it is not one."""
    try:
        parts = urlsplit(f"//{header or ''}")
        return (parts.hostname or "") if parts.netloc == header and parts.username is None else ""
    except ValueError:
        return ""


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

"""Requests and replies. Who knows the key in the printed address gets a session; all else needs that session's cookie.

Requests that name a host which could be rebound to this machine are refused, and so are those that other pages send.
"""

import json
import logging
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from .sessions import Session
from .sources import SourceError

if TYPE_CHECKING:
    from .server import Server

LOG = logging.getLogger(__name__)
MOST_JSON = 2**16
_SECONDS = 60  # that a connection may be silent
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PAGE = resources.files("puzzlemix.explorer") / "page"
_SCRIPTS = ("page", "ask", "blocks", "controls", "pictures", "show")
_FILES = {f"/{name}.js": "text/javascript" for name in _SCRIPTS} | {
    "/style.css": "text/css",
    "/icon.svg": "image/svg+xml",
}


class Reply(NamedTuple):
    """What goes back: the status, the kind of content, the content, and cookies to set."""

    status: int
    kind: str
    content: bytes
    cookies: tuple[str, ...] = ()


class RefusedError(Exception):
    """A request that gets no answer but a status and a word about why."""

    def __init__(self, status: int, words: str):
        super().__init__(words)
        self.status = status


class Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    server: "Server"  # type: ignore[assignment]  # nothing else makes handlers of this kind
    protocol_version = "HTTP/1.1"
    timeout = _SECONDS
    server_version, sys_version = "puzzlemix", ""

    def do_GET(self) -> None:  # the base class's name
        """Answer with the page, one of its files, or a picture."""
        self._answer(self._get)

    def do_POST(self) -> None:
        """Answer a question of the page."""
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet."""
        LOG.debug(format, *args)

    def _answer(self, make: Callable[[], Reply]) -> None:
        try:
            self._check_sender()
            reply = make()
        except RefusedError as error:
            reply = _refusal(error.status, str(error))
        except (ValueError, ImportError) as error:
            reply = _refusal(400, str(error), about="source" if isinstance(error, SourceError) else "request")
        except MemoryError:
            reply = _refusal(413, "this takes more memory than there is: pass a smaller picture")
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            LOG.exception("%s failed", urlsplit(self.path).path)
            reply = _refusal(500, "something went wrong here: the terminal says what")
        self._send(reply)

    def _send(self, reply: Reply) -> None:
        self.close_connection |= reply.status >= 400  # what else was sent may not have been read
        self.send_response(reply.status)
        self.send_header("Content-Type", f"{reply.kind}; charset=utf-8" if "text/" in reply.kind else reply.kind)
        self.send_header("Content-Length", str(len(reply.content)))
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        for cookie in reply.cookies:
            self.send_header("Set-Cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(reply.content)

    # ---- who asks ------------------------------------------------------------------------------------------------

    def _check_sender(self) -> None:
        """Refuse what may come from other pages."""
        host, origin = self.headers.get("Host"), self.headers.get("Origin")
        if not self.server.accepts_host(host):
            raise RefusedError(403, f"{host} is no address of this page: open the one that was printed")
        if origin not in (None, f"http://{host}"):
            raise RefusedError(403, "other pages may not ask here")

    def _cookie(self, name: str) -> str | None:
        try:
            found = SimpleCookie(self.headers.get("Cookie", "")).get(self._named(name))
        except CookieError:
            return None
        return None if found is None else found.value

    def _named(self, name: str) -> str:
        """The cookie's own name: all ports of a host share their cookies."""
        return f"puzzlemix-{name}-{self.server.port}"

    def _session(self) -> Session:
        found = self.server.sessions.find(self._cookie("session"))
        if found is None:
            raise RefusedError(401, "this page is no longer kept: reload it")
        return found

    # ---- what is asked -------------------------------------------------------------------------------------------

    def _get(self) -> Reply:
        url = urlsplit(self.path)
        if url.path == "/":
            return self._page(parse_qs(url.query))
        if url.path in _FILES:
            return Reply(200, _FILES[url.path], (_PAGE / url.path[1:]).read_bytes())
        if url.path.startswith("/picture/"):
            key = unquote(url.path.removeprefix("/picture/"))
            return Reply(200, "image/jpeg", self.server.explorer.thumbnail(self._session(), key))
        raise RefusedError(404, "there is nothing here")

    def _page(self, query: dict[str, list[str]]) -> Reply:
        """The page, for those who know the key; whoever has no session yet gets one."""
        key = query["key"][0] if "key" in query else self._cookie("key")
        if not self.server.knows(key):
            return Reply(403, "text/html", (_PAGE / "locked.html").read_bytes())
        cookies = [f"{self._named('key')}={self.server.key}"]
        if self.server.sessions.find(self._cookie("session")) is None:
            cookies.append(f"{self._named('session')}={self.server.sessions.open()}")
        return Reply(200, "text/html", (_PAGE / "index.html").read_bytes(), tuple(cookies))

    def _post(self) -> Reply:
        explorer, session, url = self.server.explorer, self._session(), urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        if url.path == "/upload":
            return _reply(explorer.upload(session, self._body(explorer.most_bytes), query.get("name", "")))
        values = _read_json(self._body(MOST_JSON))
        match url.path:
            case "/start":
                return _reply(explorer.start())
            case "/batch":
                return _reply(explorer.batch(session, values))
            case "/draw":
                return _reply(explorer.draw(values))
            case "/mix":
                return _reply(explorer.mix(session, values))
            case "/row":
                return _reply(explorer.row(session, values, query.get("name", "")))
            case "/figure.png":
                return Reply(200, "image/png", explorer.figure(session, values))
            case "/rows.png":
                return Reply(200, "image/png", explorer.rows_figure(session, values))
        raise RefusedError(404, "there is nothing here")

    def _body(self, most: int) -> bytes:
        """What was sent, if it is not too much."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise RefusedError(411, "the request does not say how long it is")
        if int(length) > most:
            raise RefusedError(413, f"this is larger than {most / 2**20:.0f} MiB: pass a smaller file")
        content = self.rfile.read(int(length))
        if len(content) < int(length):
            raise ConnectionError("the request broke off")
        return content


def _reply(value: Any) -> Reply:
    return Reply(200, "application/json", json.dumps(value, allow_nan=False).encode())


def _refusal(status: int, words: str, about: str = "request") -> Reply:
    return _reply({"error": words, "about": about})._replace(status=status)


def _read_json(content: bytes) -> dict[str, Any]:
    try:
        values = json.loads(content or b"{}")
    except (ValueError, RecursionError):
        raise RefusedError(400, "the request is no JSON") from None
    if not isinstance(values, dict):
        raise RefusedError(400, "the request is no object")
    return values

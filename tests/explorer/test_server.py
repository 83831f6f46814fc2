import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from puzzlemix.explorer import Explorer, open_server
from puzzlemix.explorer.handler import MOST_JSON
from puzzlemix.explorer.sessions import Recent, Sessions

MIX = {"first": "drawn-5", "second": "drawn-28", "source": {"kind": "contrast"}}


class Visitor:
    """A browser of sorts: it keeps cookies, and sends the Host and Origin it is told to."""

    def __init__(self, server):
        self.server = server
        self.cookies = {}
        self.headers = {}

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        try:
            kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
            sent = {**({"Cookie": kept} if kept else {}), **headers}
            connection.request(method, path, body, sent)
            reply = connection.getresponse()
            self.headers = {name.lower(): value for name, value in reply.getheaders()}
            self.set_cookies = [value for name, value in reply.getheaders() if name.lower() == "set-cookie"]
            for cookie in self.set_cookies:
                name, _, rest = cookie.partition("=")
                self.cookies[name] = rest.partition(";")[0]
            return reply.status, reply.read()
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.ask("GET", path, **headers)

    def post(self, path, values=None, **headers):
        status, content = self.ask("POST", path, json.dumps(values or {}), **headers)
        return status, json.loads(content) if "json" in self.headers["content-type"] else content

    def enter(self):
        url = urlsplit(self.server.address)
        assert self.get(f"{url.path}?{url.query}")[0] == 200
        return self


@pytest.fixture(scope="module")
def server(explorer, serve):
    return serve(explorer)


@pytest.fixture
def stranger(server):
    return Visitor(server)


@pytest.fixture
def visitor(server):
    return Visitor(server).enter()


# ---- who may ask -----------------------------------------------------------------------------------------------------


def test_only_this_machine_is_listened_to_by_default(server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("path", ["/", "/?key=", "/?key=guess", "/?key=%C3%A9"])
def test_without_the_key_there_is_no_page(stranger, path):
    status, content = stranger.get(path)
    assert status == 403
    assert b"needs its key" in content
    assert not stranger.cookies


def test_without_a_session_nothing_is_answered(stranger):
    for path in ("/start", "/mix", "/upload?name=a.png", "/figure.png"):
        assert stranger.post(path)[0] == 401
    assert stranger.get("/picture/drawn-5")[0] == 401


def test_who_has_the_key_once_may_come_back(visitor):
    before = dict(visitor.cookies)
    assert visitor.get("/")[0] == 200
    assert visitor.cookies == before
    assert visitor.post("/start")[0] == 200


def test_cookies_stay_with_this_page(stranger):
    stranger.enter()
    assert len(stranger.set_cookies) == 2
    for cookie in stranger.set_cookies:
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}


def test_the_key_does_not_replace_a_lost_session(visitor):
    visitor.cookies = {name: value for name, value in visitor.cookies.items() if "session" not in name}
    status, answer = visitor.post("/start")
    assert (status, answer["error"]) == (401, "this page is no longer kept: reload it")
    visitor.get("/")
    assert visitor.post("/start")[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "a@127.0.0.1", "127.0.0.1/", ""]
)
def test_other_names_for_this_machine_are_refused(visitor, host):
    assert visitor.post("/start", Host=host)[0] == 403


@pytest.mark.parametrize("host", ["localhost:99", "127.0.0.1", "[::1]:99", "LOCALHOST", socket.gethostname()])
def test_numbers_and_our_own_names_are_served(visitor, host):
    assert visitor.post("/start", Host=host)[0] == 200


def test_other_pages_are_refused(visitor, server):
    for origin in (
        "http://evil.example",
        "null",
        f"http://localhost:{server.port}",
        f"https://127.0.0.1:{server.port}",
    ):
        assert visitor.post("/start", Origin=origin)[0] == 403
    assert visitor.post("/start", Origin=f"http://127.0.0.1:{server.port}")[0] == 200


def test_no_other_page_may_read_or_frame_it(visitor):
    visitor.get("/")
    assert not any(name.startswith("access-control") for name in visitor.headers)
    assert "frame-ancestors 'none'" in visitor.headers["content-security-policy"]
    assert visitor.headers["cache-control"] == "no-store"
    assert visitor.headers["x-content-type-options"] == "nosniff"


def test_two_visitors_have_pictures_of_their_own(server, visitor, photo):
    status, content = visitor.ask("POST", "/upload?name=mine.png", photo)
    key = json.loads(content)["key"]
    assert status == 200
    assert visitor.get(f"/picture/{key}")[0] == 200
    other = Visitor(server).enter()
    assert other.cookies != visitor.cookies
    assert other.get(f"/picture/{key}")[0] == 400
    assert other.post("/mix", MIX | {"first": key})[0] == 400


def test_sessions_are_bounded_and_the_oldest_ends():
    sessions = Sessions(most=2)
    one, two = sessions.open(), sessions.open()
    assert sessions.find(one)
    three = sessions.open()
    assert sessions.find(two) is None
    assert sessions.find(one)
    assert sessions.find(three)
    assert sessions.find(None) is None


def test_recent_entries_are_made_once_and_bounded():
    made = []
    recent = Recent(2)
    for key in (1, 1, 2, 1, 3, 1, 2):
        recent.get_or_make(key, lambda key=key: made.append(key) or key)
    assert made == [1, 2, 3, 2]
    assert len(recent) == 2


# ---- what is asked ---------------------------------------------------------------------------------------------------


def test_the_page_has_all_its_files(visitor):
    page = visitor.get("/")[1].decode()
    for path, kind in (("/style.css", "text/css"), ("/page.js", "text/javascript"), ("/icon.svg", "image/svg+xml")):
        assert path in page
        assert visitor.get(path)[0] == 200
        assert visitor.headers["content-type"].startswith(kind)
    for module in ("ask", "blocks", "controls", "pictures", "show"):
        assert visitor.get(f"/{module}.js")[0] == 200
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page


@pytest.mark.parametrize(
    "path", ["/nothing", "/../server.py", "/%2e%2e/server.py", "/page/index.html", "/server.py", "//etc/passwd"]
)
def test_there_are_no_other_files(visitor, path):
    assert visitor.get(path)[0] == 404
    assert visitor.post(path)[0] == 404


def test_a_mix_comes_over_the_wire(visitor):
    status, answer = visitor.post("/mix", MIX)
    assert status == 200
    assert answer["names"] == ["star", "heart"]
    status, answer = visitor.post("/row?name=gamma", MIX)
    assert (status, len(answer["mixes"])) == (200, 5)


def test_a_figure_comes_over_the_wire(visitor):
    status, content = visitor.post("/figure.png", MIX | {"settings": {"grid": 3}})
    assert (status, content[:4]) == (200, b"\x89PNG")


def test_mistakes_are_told_and_the_connection_ends(visitor):
    status, answer = visitor.post("/mix", MIX | {"settings": {"gamma": 2}})
    assert status == 400
    assert "gamma=2" in answer["error"]
    assert answer["about"] == "request"
    assert visitor.headers["connection"] == "close"


def test_what_is_wrong_with_the_source_is_told_apart(visitor):
    status, answer = visitor.post("/mix", MIX | {"source": {"kind": "run", "name": ""}})
    assert (status, answer["about"]) == (400, "source")


@pytest.mark.parametrize("body", ["{", "[]", "3", '"mix"', "[" * 5000, b"\xff\xfe"])
def test_what_is_no_request_is_refused(visitor, body):
    status, _ = visitor.ask("POST", "/mix", body)
    assert status == 400


def test_what_is_too_large_is_refused_unread(visitor, explorer):
    assert visitor.ask("POST", "/mix", "x" * (MOST_JSON + 1))[0] == 413
    status, content = visitor.ask(
        "POST", "/upload?name=a.png", None, **{"Content-Length": str(explorer.most_bytes + 1)}
    )
    assert status == 413
    assert b"64 MiB" in content


@pytest.mark.parametrize("length", ["", "-1", "many", "1e3"])
def test_a_length_is_needed(visitor, length):
    assert visitor.ask("POST", "/mix", None, **{"Content-Length": length})[0] == 411


def test_a_request_that_breaks_off_harms_nobody(server, visitor):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"POST /mix HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{")
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
    assert visitor.post("/start")[0] == 200


def test_a_mistake_of_ours_is_logged_and_admitted(visitor, explorer, monkeypatch, caplog):
    monkeypatch.setattr(explorer, "start", lambda: 1 / 0)
    status, answer = visitor.post("/start")
    assert (status, answer["error"]) == (500, "something went wrong here: the terminal says what")
    assert "ZeroDivisionError" in caplog.text


def test_a_port_in_use_is_named(server):
    with pytest.raises(ValueError, match=f"127.0.0.1:{server.port} cannot be listened on"):
        open_server(Explorer(), port=server.port)


def test_an_impossible_port_is_named():
    with pytest.raises(ValueError, match="pass another port"):
        open_server(Explorer(), port=70_000)


def test_the_address_can_be_opened(explorer):
    for host, shown in (("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("localhost", "localhost")):
        with open_server(explorer, host) as server:
            assert server.address == f"http://{shown}:{server.port}/?key={server.key}"
            assert len(server.key) > 20


@pytest.mark.parametrize("size", [0, 16, 5000])
def test_an_unusable_size_is_named(size):
    with pytest.raises(ValueError, match=f"size={size}"):
        Explorer(size=size)

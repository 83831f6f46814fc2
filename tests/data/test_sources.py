import hashlib
import http.server
import threading

import pytest

from puzzlemix.data import DataError
from puzzlemix.data.request import Request
from puzzlemix.data.sources import File, Source, fetch, open_source

CONTENT = b"train/cat/a.png" * 100


@pytest.fixture
def address(tmp_path):
    """A web server whose files lie in `served`."""
    (tmp_path / "served").mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(tmp_path / "served"))

        def log_message(self, format, *arguments):
            pass

        def do_GET(self):
            if self.path == "/cut.bin":
                self.send_response(200)
                self.send_header("Content-Length", "1000")
                self.end_headers()
                self.wfile.write(b"only this")
            else:
                super().do_GET()

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def file_at(address, name="a.bin", content=CONTENT):
    return File(f"{address}/{name}", f"deep/{name}", hashlib.md5(content).hexdigest())


def test_a_file_is_fetched_once(address, tmp_path):
    (tmp_path / "served" / "a.bin").write_bytes(CONTENT)
    fetch(file_at(address), tmp_path / "root")
    assert (tmp_path / "root" / "deep" / "a.bin").read_bytes() == CONTENT
    (tmp_path / "served" / "a.bin").unlink()
    fetch(file_at(address), tmp_path / "root")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.bin", r"gave 5 bytes with the MD5 sum .*, expected "),
        ("missing.bin", r"missing\.bin cannot be downloaded .*404.* put it at .*deep"),
        ("cut.bin", r"gave 9 bytes with the MD5 sum"),
    ],
)
def test_nothing_is_left_of_a_download_that_failed(address, tmp_path, name, message):
    (tmp_path / "served" / "a.bin").write_bytes(b"other")
    with pytest.raises(DataError, match=message):
        fetch(file_at(address, name), tmp_path / "root")
    assert not list((tmp_path / "root" / "deep").iterdir())


def test_no_network_is_said(tmp_path):
    with pytest.raises(DataError, match=r"cannot be downloaded .* try again"):
        fetch(file_at("http://127.0.0.1:1"), tmp_path)


def test_a_missing_set_is_downloaded_if_asked_to(address, tmp_path, write):
    packed = write({"train/a.txt": b"a"}, "zip", "served/a").read_bytes()
    source = Source("x", ("deep/a.zip",), ("train", "val"), (file_at(address, "a.zip", packed),))
    root = tmp_path / "root"
    with pytest.raises(DataError) as missing:
        open_source(source, Request(root))
    assert str(missing.value) == (
        f"x is not in {root}: found no such folder; expected deep/a.zip: add --download (in Python download=True), or "
        f"run `curl -fL --create-dirs -o {root}/deep/a.zip {address}/a.zip`"
    )
    assert open_source(source, Request(root, download=True)).names == ("train/a.txt",)
    assert open_source(source, Request(root)).names == ("train/a.txt",)


def test_what_is_there_is_told(tmp_path):
    source = Source("x", ("x", "x.zip"), ("mark",), advice="fetch it to {root}")
    with pytest.raises(
        DataError, match=f"x is not in {tmp_path}: found nothing; expected x or x.zip: fetch it to {tmp_path}"
    ):
        open_source(source, Request(tmp_path))
    (tmp_path / "x").mkdir()
    with pytest.raises(DataError, match="found x; expected x or"):
        open_source(source, Request(tmp_path))


def test_the_first_place_counts_and_the_root_itself_too(tmp_path, write):
    source = Source("x", ("x", "x.zip"), ("mark",))
    write({"b.txt": b""}, "zip", "x")
    assert open_source(source, Request(tmp_path)).names == ("b.txt",)
    write({"a.txt": b""}, name="x")
    assert open_source(source, Request(tmp_path)).names == ("a.txt",)
    (tmp_path / "mark.gz").write_bytes(b"")
    assert "mark.gz" in open_source(source, Request(tmp_path)).names

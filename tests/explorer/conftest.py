"""An explorer whose small classifier is not trained, and pictures as a visitor may send them."""

import io
import threading

import pytest
import torch
from PIL import Image

from puzzlemix.explorer import Explorer, open_server
from puzzlemix.explorer.sessions import Session
from puzzlemix.models import save_weights
from puzzlemix.showing import classifier

CONTRAST = {"kind": "contrast"}


@pytest.fixture(scope="session")
def untrained(tmp_path_factory):
    """A folder where torch finds weights of the small classifier: random ones, as training takes a while."""
    folder = tmp_path_factory.mktemp("hub") / "checkpoints"
    folder.mkdir()
    save_weights(classifier.build_classifier(), folder / classifier.FILE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.hub, "get_dir", lambda: str(folder.parent))
        yield folder


@pytest.fixture(scope="session")
def explorer(untrained, tmp_path_factory):
    made = Explorer(root=tmp_path_factory.mktemp("data"), size=64)
    yield made
    made.close()


@pytest.fixture
def session():
    return Session()


@pytest.fixture
def mix(explorer, session):
    """Ask for a mix of two drawn samples; settings by name."""

    def ask(first="drawn-5", second="drawn-28", source=CONTRAST, **settings):
        values = {"first": first, "second": second, "source": source, "settings": settings}
        return explorer.mix(session, values)

    return ask


@pytest.fixture(scope="session")
def serve():
    """Start servers that end with the tests."""
    running = []

    def start(explorer, **options):
        server = open_server(explorer, **options)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        running.append(server)
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def file_of():
    """The bytes of an image file."""

    def encode(image, kind="png", **options):
        target = io.BytesIO()
        image.save(target, kind, **options)
        return target.getvalue()

    return encode


@pytest.fixture(scope="session")
def photo(file_of):
    """A picture with a bright spot, as a PNG file."""
    image = Image.new("RGB", (90, 70), (40, 90, 60))
    image.paste((250, 230, 40), (50, 20, 75, 45))
    return file_of(image)

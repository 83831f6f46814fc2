"""`puzzlemix explore`: serve the interactive page."""

import importlib.util
import sys
import webbrowser

from .parser import Parser

_NEEDED = {"PIL": "Pillow", "matplotlib": "matplotlib", "safetensors": "safetensors", "torchvision": "torchvision"}
_ABOUT = """\
Open a page in the browser on which one plays with Puzzle Mix: pick two pictures, move the settings, see the mix.

It is served from this machine, to this machine, until Ctrl-C. Only who has the address that is printed can use it."""
_EXAMPLES = """
puzzlemix explore                           the page, on a free port
puzzlemix explore --port 8765 --no-browser  on a machine elsewhere; then: ssh -L 8765:localhost:8765 MACHINE
puzzlemix explore --root ~/data             data sets lie there
"""


def run(arguments: list[str]) -> int:
    """Serve until Ctrl-C."""
    parser = Parser("explore", _ABOUT, _EXAMPLES)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (0.0.0.0: all there are)")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (any that is free)")
    parser.add_argument("--root", default="data", help="the folder of data sets (data)")
    parser.add_argument("--size", type=int, default=224, help="the side that pictures are brought to (224)")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser, only print the address")
    asked = parser.read(arguments)
    _check_installed()
    from ..explorer import Explorer, open_server

    server = open_server(Explorer(root=asked.root, size=asked.size), asked.host, asked.port)
    sys.stdout.write(f"{server.address}\nCtrl-C ends it.\n")
    sys.stdout.flush()
    if not asked.no_browser:
        webbrowser.open(server.address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.stdout.write("\n")
    finally:
        server.server_close()
    return 0


def _check_installed() -> None:
    missing = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise ImportError(f'the page needs {" and ".join(missing)}: pip install "puzzlemix[explore]"')

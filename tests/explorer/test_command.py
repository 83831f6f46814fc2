import importlib.util
import signal
import subprocess
import sys
import urllib.request

import pytest

from puzzlemix.cli import main


def test_it_serves_until_ctrl_c():
    # what runs in the background may have been told to ignore Ctrl-C, and would pass that on
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from puzzlemix.cli import main; raise SystemExit(main())"
    )
    command = [sys.executable, "-c", program, "explore", "--no-browser"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        assert running.stdout.readline() == "Ctrl-C ends it.\n"
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address, timeout=60) as page:
            assert b"Puzzle Mix explorer" in page.read()
        running.send_signal(signal.SIGINT)
        _, complaints = running.communicate(timeout=60)
    finally:
        running.kill()
        running.communicate()
    assert (running.returncode, complaints) == (0, "")


def test_what_is_not_installed_is_named(monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torchvision" else found(name))
    assert main(["explore"]) == 1
    assert 'the page needs torchvision: pip install "puzzlemix[explore]"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--port", "99999"], 1, "pass another port"),
        (["--host", "no.such.host.invalid"], 1, "cannot be listened on"),
        (["--size", "5"], 1, "size=5"),
        (["--prot", "80"], 2, "--port"),
    ],
)
def test_what_cannot_be_meant_is_told(arguments, code, words, capsys):
    assert main(["explore", "--no-browser", *arguments]) == code
    assert words in capsys.readouterr().err


def test_the_browser_is_opened_at_the_address(monkeypatch, capsys):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def interrupted(server):
        raise KeyboardInterrupt

    monkeypatch.setattr("puzzlemix.explorer.server.Server.serve_forever", interrupted)
    assert main(["explore"]) == 0
    assert opened == [capsys.readouterr().out.splitlines()[0]]

"""How soon the explorer answers: over HTTP, as a browser asks, with pictures of 224x224 whose saliency is kept.

`python benchmarks/explorer.py` takes half a minute, and prints a table; --record also writes records/explorer.json.
`--quick` only shows that everything runs. In the record a row's time is the median of its changes.
"""

import argparse
import http.client
import json
import threading
import time
from collections.abc import Iterator
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import recording
import report
import torch
from report import Row

from puzzlemix.explorer import Explorer, Server, open_server

WHAT = (
    "Answers of the explorer to one change of a setting, over HTTP: mix, seven panels, figures, and the two methods "
    "beside it, for two pictures of 224x224 whose saliency is kept; medians of the changes"
)
GOAL = 200  # milliseconds
CHANGES: dict[str, list[Any]] = {
    "lam": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    "beta": [0.0, 0.6, 1.2, 2.4, 4.8, 9.6],
    "gamma": [0.0, 0.25, 0.5, 0.75, 1.0],
    "eta": [0.0, 0.1, 0.2, 0.5, 1.0, 2.0],
    "xi": [0.0, 0.1, 0.4, 0.8, 1.6],
    "grid": [2, 4, 8, 12, 15, 16, 20],
    "labels": [2, 3, 5, 8],
    "transport": ["none", "paper", "exact"],
    "seed": [0, 1, 2, 3],
}
# what takes longest: many blocks, which move for nothing
HARDEST = {"grid": 20, "labels": 8, "xi": 0.0, "transport": "exact"}


class Client:
    """A browser of sorts: one connection that is kept, and the session's cookie."""

    def __init__(self, server: Server):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port)
        url = urlsplit(server.address)
        self._connection.request("GET", f"{url.path}?{url.query}")
        reply = self._connection.getresponse()
        reply.read()
        cookies = [value.partition(";")[0] for name, value in reply.getheaders() if name.lower() == "set-cookie"]
        self._headers = {"Cookie": "; ".join(cookies)}

    def ask(self, path: str, values: dict[str, Any]) -> float:
        """Ask, and give the milliseconds until all of the answer is there."""
        begun = time.perf_counter()
        self._connection.request("POST", path, json.dumps(values), self._headers)
        reply = self._connection.getresponse()
        content = reply.read()
        passed = 1e3 * (time.perf_counter() - begun)
        if reply.status != 200:
            raise SystemExit(f"{path} answered {reply.status}: {content.decode()[:300]}")
        return passed


def request(settings: dict[str, Any], kind: str = "contrast", first: int = 5) -> dict[str, Any]:
    """What the page sends."""
    return {"first": f"drawn-{first}", "second": "drawn-28", "source": {"kind": kind}, "settings": settings}


def measure(client: Client, rounds: int) -> Iterator[Row]:
    """Every setting in turn, each value several times; then what happens less often."""
    client.ask("/mix", request({}))
    changes: list[float] = []
    for name, values in CHANGES.items():
        times = [client.ask("/mix", request({name: value})) for _ in range(rounds) for value in values]
        changes += times
        yield row("a change of", name, times)
    hardest = [client.ask("/mix", request(HARDEST | {"lam": 0.5 + 0.01 * k})) for k in range(4 * rounds)]
    yield row("a change of", "lam, at 20x20, 8 labels, exact transport, xi 0", hardest)
    yield Row("all of these", "the slowest", "ms", max(changes + hardest), judge="value", goal=GOAL)
    fresh = [client.ask("/mix", request({}, first=100 + k)) for k in range(2 * rounds)]
    yield row("other pictures", "with their saliency, by contrast", fresh, goal=None)
    for name in ("lam", "beta", "gamma"):
        yield row("a row of", name, [client.ask(f"/row?name={name}", request({})) for _ in range(rounds)], goal=None)


def row(part: str, case: str, times: list[float], goal: float | None = GOAL) -> Row:
    """The median of some times."""
    return Row(part, case, "ms", median(times), judge="value", goal=goal)


def main(arguments: list[str] | None = None) -> None:
    """Measure and print, and record if asked."""
    parser = argparse.ArgumentParser(description="Measure how soon the explorer answers.")
    parser.add_argument("--quick", action="store_true", help="every change once, to see that it runs")
    parser.add_argument("--record", action="store_true", help="write records/explorer.json")
    options = parser.parse_args(arguments)
    if options.record and options.quick:
        parser.error("a record is carefully measured: leave out --quick")
    torch.set_num_threads(2)
    server = open_server(Explorer())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    rows = list(measure(Client(server), rounds=1 if options.quick else 4))
    server.shutdown()
    server.server_close()
    print(report.full_table(rows))
    if options.record:
        recording.save("explorer", WHAT, rows)


if __name__ == "__main__":
    main()

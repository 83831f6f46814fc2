"""Where saliency comes from: sources are loaded, fetched or trained aside, while the page goes on."""

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from ..showing import Saliency, contrast_saliency, run_saliency, small_classifier, torchvision_saliency
from .sessions import Recent

MOST_SOURCES = 4
MOST_WAITING = 8
_PATIENCE = 0.15  # seconds that a request waits for a source that may be there at once

Kind = Literal["contrast", "classifier", "run", "torchvision"]


class SourceError(ValueError):
    """A source that cannot be had; the message says what to do."""


@dataclass(frozen=True)
class SourceRequest:
    """Which source: name is a run's folder or a model of torchvision; download: whether weights may be fetched."""

    kind: Kind = "classifier"
    name: str = ""
    download: bool = False

    def __post_init__(self):
        if self.kind in ("run", "torchvision") and not self.name.strip():
            missing = "the folder of a run" if self.kind == "run" else "the name of a model, such as resnet18"
            raise SourceError(f"the saliency has no source yet: write {missing}")

    @property
    def code(self) -> str:
        """The Python that makes this source."""
        if self.kind == "classifier":
            return "small_classifier()"
        if self.kind == "run":
            return f"run_saliency({self.name.strip()!r})"
        if self.kind == "torchvision":
            return f"torchvision_saliency({self.name.strip()!r}{', download=True' if self.download else ''})"
        return "contrast_saliency()"


@dataclass(frozen=True)
class Waiting:
    """A source that is not there yet, what it waits for, and since when, in seconds."""

    words: str
    seconds: float


class Sources:
    """The sources in use, the most recent ones kept, one loaded at a time."""

    def __init__(self):
        self._ready: Recent[SourceRequest, Saliency] = Recent(MOST_SOURCES)
        self._loading: dict[SourceRequest, tuple[Future[Saliency], float]] = {}
        self._lock = threading.Lock()
        self._aside = ThreadPoolExecutor(1, thread_name_prefix="source")

    def find(self, request: SourceRequest) -> Saliency | Waiting:
        """The source, or what it waits for; what went wrong is raised to whoever asks next."""
        found = contrast_saliency() if request.kind == "contrast" else self._ready.get(request)
        if found is not None:
            return found
        future, since = self._start(request)
        try:
            return future.result(_PATIENCE)
        except TimeoutError:
            return Waiting(_words(request), time.monotonic() - since)
        except (ValueError, ImportError, OSError) as error:
            raise SourceError(str(error)) from error
        finally:
            if future.done():
                self._forget(request)

    def _start(self, request: SourceRequest) -> tuple[Future[Saliency], float]:
        with self._lock:
            if request not in self._loading:
                if len(self._loading) >= MOST_WAITING:
                    raise ValueError("too many sources of saliency are being loaded: try again in a minute")
                self._loading[request] = self._aside.submit(self._load, request), time.monotonic()
            return self._loading[request]

    def _load(self, request: SourceRequest) -> Saliency:
        found = _load(request)
        self._ready.put(request, found)
        return found

    def _forget(self, request: SourceRequest) -> None:
        with self._lock:
            self._loading.pop(request, None)

    def close(self) -> None:
        """Load nothing more."""
        self._aside.shutdown(wait=False, cancel_futures=True)


def _load(request: SourceRequest) -> Saliency:
    if request.kind == "classifier":
        return small_classifier()
    if request.kind == "run":
        return run_saliency(request.name.strip())
    return torchvision_saliency(request.name.strip(), download=request.download)


def _words(request: SourceRequest) -> str:
    if request.kind == "classifier":
        return "training a small classifier, once: it takes less than a minute"
    return f"loading {request.name.strip()}"

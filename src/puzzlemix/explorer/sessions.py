"""Visitors and what is kept for each: their pictures and saliency maps, apart from all others', bounded in number."""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from torch import Tensor

from .pictures import Picture

MOST_SESSIONS = 16
MOST_PICTURES = 64  # of one visitor, 150 kB each at 224 x 224
MOST_MAPS = 48

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A dictionary of the most recently used entries that any thread may use."""

    def __init__(self, most: int):
        self._most = most
        self._entries: OrderedDict[Key, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """Look an entry up, and keep it for longer."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep an entry, and drop the one that was not used for longest where there are too many."""
        with self._lock:
            self._entries[key] = value
            self._entries.move_to_end(key)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """Look an entry up, or make it; two threads at once may both make it."""
        found = self.get(key)
        if found is None:
            found = make()
            self.put(key, found)
        return found

    def __len__(self) -> int:
        return len(self._entries)


class Session:
    """One visitor's own pictures, saliency maps by picture and source, and drawings of these."""

    def __init__(self):
        self.pictures: Recent[str, Picture] = Recent(MOST_PICTURES)
        self.maps: Recent[tuple[str, Hashable], Tensor] = Recent(MOST_MAPS)
        self.overlays: Recent[tuple[str, Hashable, str], str] = Recent(MOST_MAPS)


class Sessions:
    """All visitors, by a token that cannot be guessed."""

    def __init__(self, most: int = MOST_SESSIONS):
        self._sessions: Recent[str, Session] = Recent(most)

    def open(self) -> str:
        """Begin a session; gives its token."""
        token = secrets.token_urlsafe(24)
        self._sessions.put(token, Session())
        return token

    def find(self, token: str | None) -> Session | None:
        """The session of this token, if it is still kept."""
        return None if token is None else self._sessions.get(token)

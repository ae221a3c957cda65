"""The kernels that a compile server is asked for, and which comes next: data alone, without sockets and clocks.

What somebody waits for comes before what an ended program had asked for. Of what is waited for, what most processes
wait for comes first; then what its asker has fewest other requests before, so that a program with five kernels does not
stand behind the five hundred of another; then what was asked for first.
"""

from __future__ import annotations

from dataclasses import field
from typing import Final

from graphflow._core.common.records import dataclass

MOST_BYTES: Final = 256 << 20
"""Of all sources together."""
REQUESTS_A_COMPILER: Final = 8
"""Loading Numba takes as long as five kernels."""


def is_worth_another(waiting: int, free: int, compilers: int) -> bool:
    """Whether another compiler process gains time, beside `compilers` of which some are free to take a request now.

    A compiler is nearly always free when somebody looks, since what has one look is that a kernel has come.
    """
    return waiting - free > REQUESTS_A_COMPILER * compilers


@dataclass
class Request:
    """A kernel that is wanted. askers: the clients that wait. place: how many of its asker's were before it."""

    key: str
    source: str
    number: int
    place: int
    askers: set[int] = field(default_factory=set)
    tries: int = 0

    @property
    def order(self) -> tuple[bool, int, int, int]:
        """What is smallest comes first."""
        return not self.askers, -len(self.askers), self.place, self.number


class Requests:
    """The requests of a server; each is waiting, or being made."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._waiting: dict[str, Request] = {}
        self._made: dict[str, Request] = {}
        self._outstanding: dict[int, int] = {}
        self._bytes = 0
        self._number = 0

    def __len__(self) -> int:
        return len(self._waiting) + len(self._made)

    def outstanding(self, client: int) -> int:
        """How many a client waits for."""
        return self._outstanding.get(client, 0)

    def add(self, client: int, key: str, source: str) -> bool:
        """Notes that a client wants a kernel; False if there is no room for its source.

        To make room, what nobody waits for any more is forgotten, the latest first.
        """
        found = self._waiting.get(key) or self._made.get(key)
        if found is None:
            while self._bytes + len(source) > self._most_bytes:
                orphans = [request for request in self._waiting.values() if not request.askers]
                if not orphans:
                    return False
                self._forget(max(orphans, key=lambda request: request.number))
            self._number += 1
            found = Request(key, source, self._number, 0)
            self._waiting[key] = found
            self._bytes += len(source)
        if client not in found.askers:
            place = self.outstanding(client)
            found.place = min(found.place, place) if found.askers else place
            found.askers.add(client)
            self._outstanding[client] = place + 1
        return True

    def leave(self, client: int) -> None:
        """Notes that a client has gone; what it asked for will still be made, later."""
        for request in [*self._waiting.values(), *self._made.values()]:
            request.askers.discard(client)
        self._outstanding.pop(client, None)

    def take(self) -> Request | None:
        """The request to begin with now, or None."""
        if not self._waiting:
            return None
        found = min(self._waiting.values(), key=lambda request: request.order)
        del self._waiting[found.key]
        self._made[found.key] = found
        found.tries += 1
        return found

    def put_back(self, request: Request) -> None:
        """Notes that what was begun has to be begun again."""
        self._waiting[request.key] = self._made.pop(request.key)

    def finish(self, request: Request) -> set[int]:
        """Notes that a request is answered; the clients that wait for the answer."""
        self._forget(request)
        for client in request.askers:
            self._outstanding[client] -= 1
        return request.askers

    def all_waiting(self) -> list[Request]:
        """The requests that nobody has begun."""
        return list(self._waiting.values())

    def _forget(self, request: Request) -> None:
        if self._waiting.pop(request.key, None) or self._made.pop(request.key, None):
            self._bytes -= len(request.source)

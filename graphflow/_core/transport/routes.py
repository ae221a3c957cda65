"""Which address of numbers a task's address leads to: chosen anew with each connection, and while none stands.

The user's token is the secret of one machine. So what is checked is the address that is connected to, and not the name,
which may mean another machine a moment later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from errno import EHOSTUNREACH
from typing import Final

from graphflow._core.common.timeouts import LOOK_UP_SECONDS
from graphflow._core.transport.addresses import endpoint, is_loopback, split
from graphflow._core.transport.keys import HOW_TO, ClusterKeys
from graphflow._core.transport.names import NAMES

_STANDS_WITHIN: Final = 0.5
"""After so many seconds without a connection it is looked why, and whether another address is better."""
SILENT: Final = (
    "something listens there that does not answer as a task of this cluster: it is stopped, overloaded, or another "
    "program"
)
"""Why there is no answer if a connection could be made."""

_NO_PORT: Final = "its port is 0, which stands for any free one: give the port that the task has printed"


class Route:
    """The way to an address (host:port). For one thread. ValueError for what is no address.

    keys: those of the cluster; without them it only leads to this machine.
    """

    def __init__(self, address: str, keys: ClusterKeys | None) -> None:
        self.host, self.port = split(address, any_port=True)
        self._keys = keys
        self.endpoint = ""
        """What was chosen last; "" before that."""
        self.trouble = ""
        """Why there is no connection, as far as that is known."""
        self._since = 0.0

    def choose(self, then: Callable[[], None] | None = None) -> str:
        """What to connect to from now on; "" if nothing is known, or nothing better than what was chosen.

        Never waits. then: called, in any thread, when there may be something to choose.
        """
        now = time.monotonic()
        if not self.port:
            self.trouble = _NO_PORT
            return ""
        if self.endpoint and now - self._since < _STANDS_WITHIN:
            return ""
        anywhere = self._keys is not None
        if self.endpoint:
            found = NAMES.explore(self.host, self.port, anywhere)
        else:
            found = NAMES.look_up(self.host, then)
        allowed = [a for a in found.addresses if anywhere or is_loopback(a)]
        if found.addresses and not allowed:
            self.trouble = beyond(self.host, found.addresses[0]).rstrip(".")
        elif found.error:
            self.trouble = found.error
        elif found.accepts:
            self.trouble = SILENT
        if not allowed or (self.endpoint and found.at < self._since):
            return ""
        ends = [endpoint(number, self.port) for number in allowed]
        if self.endpoint in ends and not (found.accepts and allowed[0] == found.addresses[0]):
            return ""
        if ends[0] == self.endpoint:
            return ""
        self.endpoint, self.trouble, self._since = ends[0], found.error, now
        return self.endpoint


def beyond(host: str, number: str = "") -> str:
    """The words for a host on another machine if there are no keys."""
    where = host if number in ("", host) else f"{host} ({number})"
    return f"{where} is beyond this machine, and no keys of the cluster are given: {HOW_TO}."


def check_reach(address: str, keys: ClusterKeys | None, seconds: float = 0.0) -> None:
    """PermissionError for an address (host:port) that is known to be beyond this machine, if there are no keys.

    seconds: how long a name is waited for. A name that is not known then passes: there is nothing to connect to.
    """
    host, _ = split(address, any_port=True)
    if keys is not None:
        return
    found = NAMES.wait(host, time.monotonic() + seconds)
    if found.addresses and not any(map(is_loopback, found.addresses)):
        raise PermissionError(beyond(host, found.addresses[0]))


def own_endpoint(address: str, keys: ClusterKeys | None) -> str:
    """What a server with this address (host:port) listens at, as ZeroMQ takes it.

    PermissionError as check_reach, OSError if the name is not known within some seconds.
    """
    host, port = split(address, any_port=True)
    found = NAMES.wait(host, time.monotonic() + LOOK_UP_SECONDS)
    if not found.addresses:
        raise OSError(EHOSTUNREACH, found.error)
    allowed = [a for a in found.addresses if keys is not None or is_loopback(a)]
    if not allowed:
        raise PermissionError(beyond(host, found.addresses[0]))
    return endpoint(allowed[0], port)

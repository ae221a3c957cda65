"""Routes: the numeric address to which a task's address leads, chosen anew for each try to connect.

The user's token is the secret of one machine. So the numeric address is checked, and not the name, which may mean
another machine a moment later.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from errno import EHOSTUNREACH
from typing import Final

from graphflow._core.common.timeouts import LOOK_UP_SECONDS, NAME_LOOK_SECONDS
from graphflow._core.transport.addresses import endpoint, is_loopback, split, split_bind
from graphflow._core.transport.keys import HOW_TO, ClusterKeys
from graphflow._core.transport.names import NAMES

_log = logging.getLogger(__name__)

_STANDS_WITHIN: Final = 0.5
"""After so many seconds without a connection it is looked why, and whether another address is better."""
SILENT: Final = (
    "something listens there that does not answer as a task of this cluster: it is stopped, overloaded, or another "
    "program"
)
"""The reason to give if something listens at the address, but no connection comes to stand."""

_NO_PORT: Final = "its port is 0, which stands for any free one: give the port that the task has printed"


class Route:
    """The route to an address (host:port). For one thread. Raises ValueError for a text that is no address.

    keys: the keys of the cluster; without them a route leads to this machine alone.
    """

    def __init__(self, address: str, keys: ClusterKeys | None) -> None:
        self.host, self.port = split(address, any_port=True)
        self.address = address
        self._asked_since = time.monotonic()
        """A task whose address is a name is asked for anew by each route, so at each reconnect."""
        self._keys = keys
        self.endpoint = ""
        """The endpoint that was chosen last; "" before that."""
        self.trouble = ""
        """Why there is no connection, as far as that is known."""
        self._since = 0.0

    def choose(self, then: Callable[[], None] | None = None) -> str:
        """The endpoint to connect to from now on; "" if none is known, or none better than the last one. Never waits.

        then: called in any thread when there may be another endpoint to choose.
        """
        now = time.monotonic()
        if not self.port:
            self.trouble = _NO_PORT
            return ""
        if self.endpoint and now - self._since < _STANDS_WITHIN:
            return ""
        if NAMES.follows(self.address) and not self._locate(then):
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

    def _locate(self, then: Callable[[], None] | None) -> bool:
        """Asks where the task is now whose address is a name; whether that is known."""
        found = NAMES.locate(self.address, then, self._asked_since)
        self.trouble = found.error
        if not found.addresses or (found.pending and found.asked < self._asked_since):
            return False
        host, port = split(found.addresses[0])
        if (host, port) != (self.host, self.port):
            self.host, self.port, self.endpoint = host, port, ""
        return True


def beyond(host: str, number: str = "") -> str:
    """The message for a host on another machine if there are no keys."""
    where = host if number in ("", host) else f"{host} ({number})"
    return f"{where} is beyond this machine, and no keys of the cluster are given: {HOW_TO}."


def check_reach(address: str, keys: ClusterKeys | None, seconds: float = 0.0) -> None:
    """Raises PermissionError for an address (host:port) on another machine if there are no keys.

    seconds: how long to wait for the answer to a name. A name without an answer passes: nothing can connect to it.
    """
    host, _ = split(address, any_port=True)
    if keys is not None or NAMES.follows(
        address
    ):  # The route itself sees what place it is that a name leads to.
        return
    found = NAMES.wait(host, time.monotonic() + seconds)
    if found.addresses and not any(map(is_loopback, found.addresses)):
        raise PermissionError(beyond(host, found.addresses[0]))


def own_endpoint(address: str, keys: ClusterKeys | None, bind: str = "", seconds: float = 0.0) -> str:
    """The endpoint at which a server with this address (host:port) listens, as ZeroMQ takes it.

    bind: the host, or host:port, to listen at in place of the address. seconds: for how long a name that is not known
    is looked up again, as that of a container is known to itself only after it was started.
    Raises ValueError for a `bind` that is none, PermissionError as check_reach does, OSError that names the host if it
    has no address until then.
    """
    host, port = split(address, any_port=True)
    if bind:
        host, port = split_bind(bind, port)
    now = time.monotonic()
    deadline = now + seconds
    found = NAMES.wait(host, now + LOOK_UP_SECONDS, now)  # What others were told before may be where it was.
    told = False
    while not found.addresses and time.monotonic() < deadline:
        if not told:
            told = True
            _log.warning("%s. It is looked up again for %g s.", found.error, seconds)
        time.sleep(NAME_LOOK_SECONDS)
        found = NAMES.wait(host, deadline)
    if not found.addresses:
        raise OSError(EHOSTUNREACH, found.error)
    allowed = [a for a in found.addresses if keys is not None or is_loopback(a)]
    if not allowed:
        raise PermissionError(beyond(host, found.addresses[0]))
    return endpoint(allowed[0], port)

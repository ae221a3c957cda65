"""Peer links: the connections that a server opens to the other tasks, each a DEALER.

While a link is not established it may change to another address, if the name gets one or the first does not answer. The
messages that were sent meanwhile then go to the new address. The other side sends nothing over a link, except the
reason if it refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import zmq
from zmq.utils.monitor import recv_monitor_message

from graphflow._core.transport.addresses import is_number
from graphflow._core.transport.congestion import unpace
from graphflow._core.transport.frames.message import VERSION, Kind, Message, peek
from graphflow._core.transport.frames.tensors import BadMessage, Buffer
from graphflow._core.transport.keys import FILE, VARIABLE, Access
from graphflow._core.transport.routes import SILENT, Route, check_reach
from graphflow._core.transport.zeromq import options, receive, send

REFUSED_EVENTS: Final = (
    zmq.EVENT_HANDSHAKE_FAILED_AUTH
    | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
)
_EVENTS: Final = zmq.EVENT_CONNECTED | zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED | REFUSED_EVENTS
_MOST_REFUSALS: Final = 16
_MOST_REFUSAL_BYTES: Final = 16 << 10
_MOST_REASON: Final = 1000


class _Link:
    """One connection. `stands`: whether it is established; until then a copy of each sent message is kept."""

    def __init__(self, address: str, access: Access) -> None:
        self.address = address
        self.route = Route(address, access.keys)
        self.socket: zmq.Socket[bytes] | None = None
        self.monitor: zmq.Socket[bytes] | None = None
        self.unsure: list[Sequence[Buffer]] = []
        """The messages sent before it stood: they may have to be sent again, to another address."""
        self.file = -1
        """The number of its file, as ZeroMQ has told it."""
        self.stands = False
        self.refused = False
        """Whether ZeroMQ has given it up: the other side has other secrets, or speaks another protocol."""


class PeerLinks:
    """The connections of one server, by address (host:port). For the thread of its sockets.

    identity: the name by which the receivers know this server. access: the proof that is shown to them. call: has that
    thread call a function soon. lost: called with the address of a connection that had stood and is gone.
    """

    def __init__(
        self,
        context: zmq.Context[Any],
        identity: bytes,
        access: Access,
        call: Callable[[Callable[[], None]], None],
        lost: Callable[[str], None],
    ) -> None:
        self._context = context
        self._identity = identity
        self._access = access
        self._call = call
        self._lost = lost
        self._links: dict[str, _Link] = {}
        self._refusals: dict[str, str] = {}
        """Why the server at each of these addresses has refused the last connection."""
        self._troubles: dict[str, str] = {}
        """Why the last connection to these addresses never stood."""

    def __contains__(self, address: object) -> bool:
        return address in self._links

    def send(self, address: str, frames: Sequence[Buffer]) -> None:
        """Sends to the server at host:port, as soon as there is a connection.

        Raises PermissionError if the server is on another machine and there are no keys.
        """
        link = self._links.get(address)
        if link is None:
            link = self._open(address)
        if not link.stands:
            self._look_at(link)
            if not link.stands:
                link.unsure.append(frames)
        if link.socket is not None and not link.refused:
            # False where ZeroMQ's own thread has heard of a refusal, which takes the socket its one connection, though
            # the event that says so has not been read: it is lost as with any that ends, or among the unsure ones.
            send(link.socket, frames)

    def trouble(self, address: str) -> str:
        """Why nobody answers at an address, as far as that is known; "" if it is not."""
        link = self._links.get(address)
        route = "" if link is None else SILENT if link.stands else link.route.trouble
        if route not in ("", SILENT):
            return route
        return self._refusals.get(address, "") or route or self._troubles.get(address, "")

    def disconnect(self, address: str, linger_ms: int = 0) -> None:
        """Closes the connection to a peer; what was not sent is dropped, after `linger_ms` in the background."""
        link = self._links.pop(address, None)
        if link is not None:
            self._note_trouble(link)
            _close(link, linger_ms)

    def look(self) -> None:
        """Checks which connections stand, are gone or are refused; those that do not stand may change their address."""
        for link in list(self._links.values()):
            self._look_at(link)
            if self._links.get(link.address) is not link:
                continue
            if link.socket is not None and not link.refused:
                self._hear(link, link.socket)
            if not link.stands:
                self._connect(link)

    def close(self, linger_ms: int) -> None:
        """Closes all links. Those that stand have so many milliseconds to send what is left."""
        for address, link in list(self._links.items()):
            self.disconnect(address, linger_ms if link.stands else 0)

    def _open(self, address: str) -> _Link:
        link = _Link(address, self._access)
        if is_number(link.route.host):
            check_reach(address, self._access.keys)
        self._links[address] = link
        self._connect(link, lambda: self._call(lambda: self._found(link)))
        return link

    def _found(self, link: _Link) -> None:
        """Connects a link whose name has been looked up."""
        if self._links.get(link.address) is link and link.socket is None:
            self._connect(link)

    def _connect(self, link: _Link, then: Callable[[], None] | None = None) -> None:
        """Connects a link, or changes it to another address if its route has a better one."""
        end = link.route.choose(then) or (link.route.endpoint if link.refused else "")
        if not end:
            return
        link.refused = False
        _close(link, 0)
        socket: zmq.Socket[bytes] = self._context.socket(zmq.DEALER)
        options(socket, end)
        # Whatever may listen there: it is not trusted, and has little to say.
        socket.setsockopt(zmq.RCVHWM, _MOST_REFUSALS)
        socket.setsockopt(zmq.MAXMSGSIZE, _MOST_REFUSAL_BYTES)
        self._access.prepare(socket, link.address)
        socket.setsockopt(zmq.ROUTING_ID, self._identity)
        link.monitor = socket.get_monitor_socket(_EVENTS)
        link.socket = socket
        socket.connect(end)
        for frames in link.unsure:
            send(socket, frames)

    def _look_at(self, link: _Link) -> None:
        """Handles the events of a connection. Called only now and then, as each call costs time."""
        while link.monitor is not None and not link.monitor.closed:
            try:
                news = recv_monitor_message(link.monitor, zmq.NOBLOCK)
            except zmq.Again:
                return
            event = int(news["event"])
            if event == zmq.EVENT_CONNECTED:
                link.file = int(news["value"])
            elif event == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                unpace(link.file, link.route.port)
                link.stands = True
                link.unsure.clear()
                self._refusals.pop(link.address, None)
                self._troubles.pop(link.address, None)
            elif event & REFUSED_EVENTS:
                self._refusals[link.address] = self._refused(event)
                link.refused = not event & zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL  # Else ZeroMQ tries again.
            elif link.stands:  # Else it was a try that failed: another follows.
                self._lost(link.address)

    def _refused(self, event: int) -> str:
        if event & zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            return "it ends each connection as that begins: it is no task of this cluster, or has other keys"
        if self._access.keys is not None:
            return f"it has no keys, or others than this task's ({FILE})"
        if event & zmq.EVENT_HANDSHAKE_FAILED_AUTH:
            return f"it {self._access.other_token}"
        return f"it needs the cluster's keys (--keys, or {VARIABLE}), or is no task of a cluster"

    def _hear(self, link: _Link, socket: zmq.Socket[bytes]) -> None:
        """Notes why the other side refuses what was said."""
        while True:
            try:
                first, *rest = receive(socket)
            except zmq.Again:
                return
            head = peek([first])
            if head is not None and head[0] != VERSION:
                self._refusals[link.address] = other_version(head[0])
            try:
                message = None if rest else Message.of([first])
            except BadMessage:
                message = None
            if message is not None and message.kind is Kind.FAILED:
                text = str(message.details.get("message"))[:_MOST_REASON]
                self._refusals[link.address] = "".join(c if c.isprintable() else " " for c in text)

    def _note_trouble(self, link: _Link) -> None:
        if not link.stands and link.route.trouble:
            self._troubles[link.address] = link.route.trouble


def _close(link: _Link, linger_ms: int) -> None:
    socket, monitor = link.socket, link.monitor
    link.socket = link.monitor = None
    if socket is not None:
        socket.disable_monitor()
        if monitor is not None:
            monitor.close()
        socket.close(linger_ms)


def other_version(version: int) -> str:
    """The message about a process that speaks another version of the protocol."""
    return (
        f"it speaks version {version} of the protocol, not {VERSION}: another graphflow is installed there, use the "
        "same one everywhere"
    )

"""Where launchers meet: the sockets of the rendezvous, and those of each launcher that comes to it.

Who may come is who may come to a task of the cluster: on one machine with the user's token, from others with the keys.
A message is one frame of JSON, a report one way and an order the other, with the number of the report.
"""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.cluster.elastic.group_timeouts import (
    NODE_BEAT_SECONDS,
    NODE_GOODBYE_SECONDS,
    NODE_LEASE_SECONDS,
)
from graphflow._core.cluster.elastic.rendezvous import Order, Rendezvous, Report
from graphflow._core.transport.channel import Channel, Gone
from graphflow._core.transport.frames.pieces import Pool
from graphflow._core.transport.frames.tensors import Buffer
from graphflow._core.transport.keys import Access
from graphflow._core.transport.peer_links import REFUSED_EVENTS
from graphflow._core.transport.routes import own_endpoint
from graphflow._core.transport.sockets import Sockets

_LOG: Final = logging.getLogger("graphflow")
_FORMAT: Final = 1
"""The version of the messages."""
_MOST_UNANSWERED: Final = 64


class Meeting:
    """The rendezvous at an address of this machine, in a thread of its own.

    address: host:port, port 0 for any that is free. OSError if it cannot be listened at, PermissionError if others
    reach it and there are no keys.
    """

    def __init__(self, rendezvous: Rendezvous, address: str, access: Access) -> None:
        self._rendezvous = rendezvous
        self._sockets = Sockets(self, secrets.token_bytes(9), "rendezvous", access, local_channels=False)
        try:
            bound = self._sockets.bind(own_endpoint(address, access.keys))
        except BaseException:
            self._sockets.stop()
            raise
        host = address.rpartition(":")[0]
        self.address = f"{host}:{bound.rpartition(':')[2]}"
        self._sockets.start()

    def end(self, status: int, text: str) -> None:
        """Ends the job, in order."""
        self._sockets.call(lambda: self._rendezvous.end(status, text, time.monotonic()))

    def heard_by_all(self, own: str) -> bool:
        """Whether the job has ended, and all nodes have heard it; one's own has."""
        return self._rendezvous.heard_by_all(own, NODE_GOODBYE_SECONDS, time.monotonic())

    def close(self) -> None:
        """Listens no more."""
        self._sockets.stop()

    # ---- what the thread of the sockets calls ---------------------------------------------------------------------

    def knows(self, sender: bytes) -> bool:
        """Nobody may send more than one short frame at a time."""
        return False

    def received(self, sender: bytes, frames: Sequence[Buffer]) -> None:
        """Takes a report, and answers it."""
        try:
            number, found = _read(frames, "report")
            report = Report.of(found)
        except ValueError as error:
            _LOG.warning("The rendezvous has dropped a message: %s", error)
            return
        order = self._rendezvous.heard(report, time.monotonic())
        self._sockets.reply(sender, [_written(number, "order", order.details())])

    def lost(self, peer: str) -> None:
        """It connects to nobody."""

    def left(self, sender: bytes) -> None:
        """It has no local channels."""

    def tick(self) -> None:
        """Some time has passed."""
        self._rendezvous.tick(time.monotonic())


class Attendance:
    """A launcher's connection to the rendezvous at an address, host:port. For one thread; it never waits."""

    def __init__(self, address: str, access: Access) -> None:
        self._address, self._access = address, access
        self._pool = Pool()
        self._channel: Channel | None = None
        self._number = 0
        self._sent: dict[int, float] = {}
        """When each report was sent that is not answered yet."""
        self._said: Report | None = None
        self._since = 0
        """The number from which on reports say what the newest one does."""
        self._due = 0.0
        self.answered = time.monotonic()
        """When the last report was sent that was answered: from then on the lease counts."""
        self.trouble = ""
        """Why there is no connection, as far as that is known."""

    @property
    def lapses(self) -> float:
        """From when on the rendezvous may take this node for lost: its workers must not be there then."""
        return self.answered + NODE_LEASE_SECONDS

    @property
    def lapsed(self) -> bool:
        """Whether that time has come."""
        return time.monotonic() > self.lapses

    def turn(self, report: Report) -> Order | None:
        """Says what this node does, if it is time or new, and hears what it is to do; None if nothing has come."""
        now = time.monotonic()
        try:
            if now >= self._due or (report != self._said and self._said is not None):
                self._say(report, now)
            return self._hear()
        except Gone as error:
            refused = error.event & REFUSED_EVENTS
            self._leave("it refuses the key or token of this node" if refused else "the connection has ended")
        except PermissionError as error:
            self._leave(str(error))
        return None

    def _say(self, report: Report, now: float) -> None:
        if self._channel is None:
            self._channel = Channel(self._address, self._access, self._pool)
        if not self._channel.connect(now):
            self.trouble = self._channel.trouble
            return
        self._number += 1
        self._sent = {n: moment for n, moment in self._sent.items() if n > self._number - _MOST_UNANSWERED}
        self._sent[self._number] = now
        if report != self._said:
            self._since = self._number
        self._said, self._due = report, now + NODE_BEAT_SECONDS
        self._channel.send([_written(self._number, "report", report.details())])

    def _hear(self) -> Order | None:
        """The newest order, if it answers what this node does now: what came for something earlier may be over."""
        newest: Order | None = None
        channel = self._channel
        while channel is not None and (frames := channel.receive(0.0)) is not None:
            try:
                number, found = _read(frames, "order")
                order = Order.of(found)
            except ValueError as error:
                self.trouble = str(error)
                continue
            sent = self._sent.get(number)
            if sent is not None:
                self.answered, self.trouble = max(self.answered, sent), ""
                self._sent = {n: moment for n, moment in self._sent.items() if n > number}
            newest = order if number >= self._since else newest
        if channel is not None and channel.trouble:
            self.trouble = channel.trouble
        return newest

    def _leave(self, why: str) -> None:
        channel, self._channel = self._channel, None
        self._said, self._due = None, time.monotonic() + NODE_BEAT_SECONDS
        if channel is not None:
            channel.close()
        self.trouble = why

    def close(self) -> None:
        """Ends the connection."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _written(number: int, what: str, details: dict[str, Any]) -> bytes:
    return json.dumps({"rendezvous": _FORMAT, "number": number, what: details}).encode()


def _read(frames: Sequence[Buffer], what: str) -> tuple[int, Any]:
    """The number of a message, and the report or order in it; ValueError if it is none."""
    found = json.loads(bytes(frames[0])) if len(frames) == 1 else None
    if not isinstance(found, dict) or found.get("rendezvous") != _FORMAT or what not in found:
        raise ValueError(f"It is no {what} of a rendezvous of this version of graphflow.")
    return int(found["number"]), found[what]

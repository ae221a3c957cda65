"""The local channels that carry what one of a server's sockets would, if both ends are on one machine.

Between servers a local channel goes one way, to a client both. A broken one is a lost connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from functools import partial

from graphflow._core.common.timeouts import LOCAL_CHANNEL_ACCEPT_SECONDS
from graphflow._core.transport.dropped import Dropped
from graphflow._core.transport.files import WRITE, Files
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.frames.tensors import BadMessage, Buffer
from graphflow._core.transport.handler import Handler, guarded
from graphflow._core.transport.local_channels import (
    Listener,
    LocalChannel,
    LocalChannelBroken,
    NoFiles,
    connect,
)


class SocketChannels:
    """The local channels of one server. For the thread of its sockets, which waits for their files.

    wanted: whether it accepts and opens any. peers: the addresses to which there are connections. send: sends to one of
    them. take: called with what comes in, and whose it is. later: has that thread call a function once it has done what
    it is doing. make_room: closes what can be closed, as no file is left.
    """

    def __init__(
        self,
        wanted: bool,
        handler: Handler,
        files: Files,
        dropped: Dropped,
        peers: Container[str],
        send: Callable[[str, Sequence[Buffer]], None],
        take: Callable[[bytes, Sequence[Buffer]], None],
        later: Callable[[Callable[[], None]], None],
        make_room: Callable[[], None],
    ) -> None:
        self._handler = handler
        self._files = files
        self._dropped = dropped
        self._peers = peers
        self._send = send
        self._take = take
        self._later = later
        self._make_room = make_room
        self._listener = Listener(wanted)
        self.incoming: dict[bytes, LocalChannel] = {}
        """Those that others have opened, by their identity. Answers to clients go through them, too."""
        self.outgoing: dict[str, LocalChannel] = {}
        """Those to peers, by their addresses."""
        self.due: dict[bytes, tuple[object, float]] = {}
        """The secrets of those that no file was left for, and until when they wait, by identity."""

    @property
    def name(self) -> str:
        """The name of the listener to which others may open local channels; "" if there is none."""
        return self._listener.name

    def open(self, address: str, listener: object) -> None:
        """Sends to a peer through a local channel from now on, if the listener that it has named is on this machine.

        The connection to the peer has to have begun with a hello.
        """
        if not self._listener.name or address in self.outgoing or address not in self._peers:
            return
        found = connect(listener)
        if found is None:
            return
        end, secret = found
        self._send(address, Message(Kind.LOCAL_CHANNEL, details={"secret": secret}).frames())
        channel = self.outgoing[address] = LocalChannel(end)
        self._files.watch(channel, partial(self._use_outgoing, address, channel))

    def accept(self, identity: bytes, secret: object) -> None:
        """Accepts the local channel with that secret, through which this identity sends and is answered from now on."""
        self._try_to_accept(identity, secret, time.monotonic() + LOCAL_CHANNEL_ACCEPT_SECONDS)

    def accept_due(self) -> None:
        """Tries once more to accept those that no file was left for."""
        due, self.due = self.due, {}
        for identity, (secret, until) in due.items():
            self._try_to_accept(identity, secret, until)

    def _try_to_accept(self, identity: bytes, secret: object, until: float) -> None:
        """Accepts a local channel, or leaves it for later: some strangers, who hold files, are about to be closed.

        What comes through it waits there meanwhile, in its order.
        """
        try:
            channel = self._listener.accept(secret)
        except NoFiles as error:
            if time.monotonic() < until:
                self.due[identity] = secret, until
                self._make_room()
            else:  # Who waits in it has to notice.
                self._dropped.add(str(error))
                self._listener.shut()
            return
        if channel is None:
            self._dropped.add("There is no such local channel.")
            return
        self.close(identity)
        self.incoming[identity] = channel
        self._files.watch(channel, partial(self._use_incoming, identity, channel))

    def close(self, identity: bytes) -> None:
        """Takes nothing more through the local channel of an identity, if it has one."""
        self.due.pop(identity, None)
        channel = self.incoming.pop(identity, None)
        if channel is not None:
            self._close(channel)

    def disconnect(self, address: str) -> None:
        """Closes the local channel to a peer, if there is one."""
        channel = self.outgoing.pop(address, None)
        if channel is not None:
            self._close(channel)

    def end_writing(self, channel: LocalChannel) -> None:
        """Writes nothing more into a local channel of others; what they have said last is taken: maybe a BYE."""
        channel.discard()
        self._files.until_writable(channel, False)

    def broken(self, address: str, channel: LocalChannel) -> None:
        """Notes that nothing can be written into a local channel to a peer: it is lost, unless it was closed before.

        The handler hears of it later, as it may be in the middle of something.
        """
        self._later(lambda: self._lost(address, channel))

    def trim(self) -> None:
        """Closes who has connected and was not accepted for some seconds."""
        self._listener.trim()

    def shut(self) -> None:
        """Closes all and the listener."""
        for address in list(self.outgoing):
            self.disconnect(address)
        for identity in list(self.incoming):
            self.close(identity)
        self._listener.close()

    def _close(self, channel: LocalChannel) -> None:
        self._files.unwatch(channel)
        channel.close()

    def _use_incoming(self, identity: bytes, channel: LocalChannel, events: int) -> None:
        if events & WRITE:
            try:
                self._write(channel)
            except LocalChannelBroken:
                self.end_writing(channel)
        try:
            found = channel.receive()
        except (LocalChannelBroken, BadMessage) as error:
            if isinstance(error, BadMessage):
                self._dropped.add(str(error))
            self.close(identity)
            guarded(self._handler.left, identity)
            return
        for frames in found:
            self._take(identity, frames)
            if self.incoming.get(identity) is not channel:
                return

    def _use_outgoing(self, address: str, channel: LocalChannel, events: int) -> None:
        try:
            if events & WRITE:
                self._write(channel)
            if events & ~WRITE and channel.receive():
                raise LocalChannelBroken("A local channel to a peer brings nothing.")
        except (
            LocalChannelBroken,
            BadMessage,
        ):  # What the peer has sent last is taken first: maybe that it ends.
            self.broken(address, channel)

    def _lost(self, address: str, channel: LocalChannel) -> None:
        if self.outgoing.get(address) is channel:
            self._handler.lost(address)

    def _write(self, channel: LocalChannel) -> None:
        channel.flush()
        if not channel.waits:
            self._files.until_writable(channel, False)

"""The key of a cluster on its way to the tasks on Ray: over a connection that encrypts, and not through Ray.

Ray keeps the arguments that actors are made with, for as long as it may make them anew, and sends them in the clear
unless it is told to use TLS. So the process of the registry makes the key, and hands it out itself. Over Ray go public
keys alone: a task tells the one that it has drawn, hears that of the registry, and both prove that theirs they are
(CURVE, https://rfc.zeromq.org/spec/26). Who listens to Ray, or reads what it has stored, learns nothing.

Who may call actors on that Ray may tell a public key, too. But he may run programs on its nodes.
"""

from __future__ import annotations

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import REGISTRY_ANSWER_SECONDS
from graphflow._core.transport import keys
from graphflow._core.transport.addresses import endpoint

if TYPE_CHECKING:
    import zmq


@dataclass(frozen=True, repr=False)
class Pair:
    """A public key and its secret half."""

    public: bytes
    secret: bytes


def new_pair() -> Pair:
    """A pair that is for one connection."""
    import zmq  # Who asks which task he is needs no ZeroMQ.

    return Pair(*zmq.curve_keypair())


class KeyHandout:
    """Makes the key of a cluster, and gives it to each whose public key was told, once. Thread-safe.

    host: the numeric address of this machine at which the others reach it.
    """

    def __init__(self, host: str) -> None:
        import zmq
        from zmq.auth.thread import ThreadAuthenticator

        self.text = keys.new_text()
        self._own = new_pair()
        self._awaited: set[bytes] = set()
        self._context: zmq.Context[Any] = zmq.Context()
        self._authenticator = ThreadAuthenticator(self._context)
        self._authenticator.start()
        self._authenticator.configure_curve_callback("*", self)
        self._socket: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.IPV6, int(":" in host))
        self._socket.setsockopt(zmq.MAXMSGSIZE, 1024)
        self._socket.curve_server = True
        self._socket.curve_secretkey = self._own.secret
        self._socket.bind(endpoint(host, 0))
        self._endpoint = str(self._socket.getsockopt_string(zmq.LAST_ENDPOINT))
        self._thread = threading.Thread(target=self._serve, name="graphflow key", daemon=True)
        self._thread.start()

    def expect(self, public: bytes) -> tuple[str, bytes]:
        """From now on the key goes to who has this public key; where, and the public key of who hands it out."""
        self._awaited.add(public)
        return self._endpoint, self._own.public

    def callback(self, domain: str, key: bytes) -> bool:
        """Whether a connection may stand that has proved to have this public key; the authenticator asks."""
        return key in self._awaited

    def _serve(self) -> None:
        import zmq

        try:
            while True:
                sender, *_ = self._socket.recv_multipart(copy=False)
                public = str(sender.get("User-Id")).encode()  # What it has proved to have.
                if public in self._awaited:
                    self._awaited.discard(public)
                    self._socket.send_multipart([sender.bytes, self.text.encode()])
        except zmq.ContextTerminated:
            self._socket.close()

    def close(self) -> None:
        """Hands it out no more."""
        self._authenticator.stop()
        self._context.term()
        self._thread.join()


def fetch_key(at: str, server: bytes, own: Pair) -> str:
    """The text of the key that is handed out at an endpoint to who has this pair; ConnectionError if it does not come.

    server: the public key of who hands it out.
    """
    import zmq

    context: zmq.Context[Any] = zmq.Context.instance()
    with closing(context.socket(zmq.DEALER)) as socket:
        socket.setsockopt(zmq.LINGER, 0)
        socket.setsockopt(zmq.IPV6, int("[" in at))
        socket.curve_serverkey = server
        socket.curve_publickey, socket.curve_secretkey = own.public, own.secret
        socket.sndtimeo = socket.rcvtimeo = int(1000 * REGISTRY_ANSWER_SECONDS)
        socket.connect(at)
        try:
            socket.send(b"")  # It waits, too, if the connection was refused before it goes out.
            return str(socket.recv().decode("ascii"))
        except zmq.Again:
            raise ConnectionError(
                f"The key of the cluster did not come from {at} within {REGISTRY_ANSWER_SECONDS:g} s: the nodes of Ray "
                "have to reach the one of the launcher."
            ) from None

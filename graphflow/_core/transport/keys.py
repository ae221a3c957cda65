"""The keys of a cluster: one file that is made once and copied to every machine that takes part.

Whoever has the file may connect, and may have Python functions run, as with the user's token on one machine. So it is
refused if others could read it. It holds two CURVE key pairs: with one a server proves that it is a server, with the
other a client proves that it may connect. The public halves follow from the secret ones. ZeroMQ does the handshake, and
encrypts everything after it (https://rfc.zeromq.org/spec/26).
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.transport import token

FILE: Final = "cluster.key"
VARIABLE: Final = "GRAPHFLOW_KEYS"
HOW_TO: Final = (
    "make a key with `graphflow keygen FOLDER`, copy the folder to every machine, and name it in "
    f"ConfigProto(cluster_keys=FOLDER), by --keys, or in the environment variable {VARIABLE}"
)
_TITLE: Final = (
    "# The key of a graphflow cluster: who can read this file can run programs on all of its machines."
)
_SECRET_LENGTH: Final = 40
PLAIN_USER: Final = b"graphflow"
"""The name that goes with the password if there are no keys."""


@dataclass(frozen=True, repr=False)
class ClusterKeys:
    """The key pairs of a cluster, as ZeroMQ takes them (40 bytes of Z85 each)."""

    server_public: bytes
    server_secret: bytes
    client_public: bytes
    client_secret: bytes


@dataclass(frozen=True, repr=False)
class Access:
    """How the processes of a cluster recognise each other.

    secret: the proof. keys: encrypt connections; None for a cluster on one machine. where: the file of the secret.
    """

    secret: str
    keys: ClusterKeys | None
    where: str = ""

    def shown_at(self, address: str) -> str:
        """The proof for the task at host:port, shown in every hello, and as a password if there are no keys.

        The user's token itself is not sent. A process that listens at another port, and to which clients of the task
        come by mistake, gets nothing that opens the task.
        """
        if self.keys is not None:
            return self.secret
        port = address.rpartition(":")[2]
        return hmac.new(self.secret.encode(), f"graphflow {port}".encode(), hashlib.sha256).hexdigest()

    @property
    def other_token(self) -> str:
        """The message about a process that has another token."""
        return (
            f"refuses the token: its own is not the one in {self.where}, which this process has. Another user has "
            "started it, or in another container, or the file was made anew since"
        )

    def prepare(self, socket: Any, address: str) -> None:
        """Makes a socket prove, when it connects to host:port, that it may; with keys the server proves it, too."""
        if self.keys is None:
            socket.plain_username = PLAIN_USER
            socket.plain_password = self.shown_at(address).encode()
        else:
            socket.curve_serverkey = self.keys.server_public
            socket.curve_publickey = self.keys.client_public
            socket.curve_secretkey = self.keys.client_secret


def make(folder: Path) -> Path:
    """Writes a new key into a folder, which it makes; returns the file. FileExistsError if there is a key already."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return write(folder, new_text())


def new_text() -> str:
    """The text of a file with a new key."""
    import zmq

    pairs = {role: zmq.curve_keypair()[1].decode("ascii") for role in ("server", "client")}
    return f"{_TITLE}\n" + "".join(f"{role} {secret}\n" for role, secret in pairs.items())


def write(folder: Path, text: str) -> Path:
    """Writes the text of a key into a folder, readable for this user alone; FileExistsError if there is a key."""
    path = folder / FILE
    temporary = folder / f"{FILE}.{secrets.token_hex(4)}"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
        os.link(temporary, path)  # Whole or not at all, and never in place of another key.
    finally:
        os.unlink(temporary)
    return path


def read(folder: Path) -> ClusterKeys:
    """The key in a folder. FileNotFoundError, or PermissionError if others could read or have written it.

    What root has mounted read-only, as a container's secret is, may be read by all who see it.
    """
    path = folder / FILE
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise FileNotFoundError(
            f"There is no cluster key at {path}: make one with `graphflow keygen {folder}`, or copy it there."
        ) from None
    with os.fdopen(descriptor, "r", encoding="ascii", errors="replace") as file:
        status = os.fstat(file.fileno())
        mode = stat.S_IMODE(status.st_mode)
        alone = status.st_uid in (os.getuid(), 0) and not mode & 0o077
        if not alone and not _is_handed_out(file.fileno(), status):
            raise PermissionError(
                f"{path} is not yours alone (owner {status.st_uid}, mode {mode:o}): `chmod 600 {path}`, and if others "
                "may have read it, make a new key. Of a secret that is mounted into a container the file must be "
                "root's, and the file system read-only."
            )
        lines = [line for line in file.read(4096).splitlines() if line and not line.startswith("#")]
    found = dict(line.split(" ", 1) for line in lines if " " in line)
    return ClusterKeys(*_pair(path, found, "server"), *_pair(path, found, "client"))


def _is_handed_out(descriptor: int, status: os.stat_result) -> bool:
    """Whether root has put the file where nobody can write: a secret that an orchestrator mounts into a container.

    Kubernetes gives such files mode 644, or 440 with a group of the container's. Only the container sees them.
    """
    read_only = os.fstatvfs(descriptor).f_flag & os.ST_RDONLY
    return status.st_uid == 0 and not status.st_mode & 0o022 and bool(read_only)


def _pair(path: Path, found: dict[str, str], role: str) -> tuple[bytes, bytes]:
    import zmq

    secret = found.get(role, "").strip().encode("ascii", "replace")
    try:
        public = zmq.curve_public(secret) if len(secret) == _SECRET_LENGTH else None
    except (ValueError, zmq.ZMQError):
        public = None
    if public is None:
        raise ValueError(
            f"{path} holds no {role} key: copy it again, or make a new key for the whole cluster."
        )
    return public, secret


def access(folder: str) -> Access:
    """The access that the keys in a folder give, by default those that the environment names, or the user's token."""
    folder = folder or os.environ.get(VARIABLE, "")
    if not folder:
        return Access(token.user_token(), None, str(token.path()))
    found = Path(folder).expanduser()
    keys = read(found)
    digest = hashlib.sha256(b"graphflow hello" + keys.server_secret + keys.client_secret)
    return Access(digest.hexdigest(), keys, str(found / FILE))

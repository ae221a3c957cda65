"""The secret that processes of one user on one machine share: a file that only the user can read.

Who shows the token may have Python functions opened and run, so it never leaves the machine: beyond loopback a cluster
needs keys.
"""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from pathlib import Path
from typing import Final

_BYTES: Final = 32


def folder() -> Path:
    """Where the token is: the user's runtime folder where there is one, otherwise the user's cache folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return Path(runtime) / "graphflow"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphflow"


def user_token() -> str:
    """The user's token, made on first use. PermissionError where others could have read or written the file."""
    path = folder() / "token"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        descriptor = _make(path)
    with os.fdopen(descriptor, "r", encoding="ascii") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise PermissionError(
                f"{path} is not yours alone (owner {status.st_uid}, mode {stat.S_IMODE(status.st_mode):o}): delete it, "
                "and the next program makes a new one."
            )
        text = file.read(4 * _BYTES).strip()
    if len(text) != 2 * _BYTES:
        raise PermissionError(f"{path} holds no token: delete it, and the next program makes a new one.")
    return text


def _make(path: Path) -> int:
    """Writes a new token aside and links it in place, so that of two programs one wins and none reads half of it."""
    temporary = path.with_name(f"token.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(secrets.token_hex(_BYTES))
    try:
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)


def same(mine: str, theirs: object) -> bool:
    """Whether a token is the right one, in a time that does not tell where it differs."""
    return isinstance(theirs, str) and hmac.compare_digest(mine.encode(), theirs.encode("utf-8", "replace"))

"""The secret that processes of one user on one machine share: a file that only the user can read.

Who shows the token may have Python functions opened and run, so it never leaves the machine: beyond loopback a cluster
needs keys.
"""

from __future__ import annotations

import hmac
import os
from pathlib import Path

from graphflow.own_files import own_secret


def folder() -> Path:
    """Where the token is: the user's runtime folder where there is one, otherwise the user's cache folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return Path(runtime) / "graphflow"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "graphflow"


def user_token() -> str:
    """The user's token, made on first use. PermissionError where others could have read or written the file."""
    return own_secret(folder() / "token").decode("ascii", "replace")


def same(mine: str, theirs: object) -> bool:
    """Whether a token is the right one, in a time that does not tell where it differs."""
    return isinstance(theirs, str) and hmac.compare_digest(mine.encode(), theirs.encode("utf-8", "replace"))

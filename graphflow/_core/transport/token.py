"""The secret that processes of one user on one machine share: a file that only the user can read.

A process that shows the token may have Python functions opened and run. So the token never leaves the machine: beyond
loopback a cluster needs keys. All processes of the user have to find the same file, be they of a login, of cron, of a
service or of `docker exec`. Their environments differ, HOME and XDG_RUNTIME_DIR too, so the environment is not asked.
"""

from __future__ import annotations

import hmac
import os
from errno import EACCES, ELOOP, ENOENT, ENOTDIR, EPERM, EROFS
from pathlib import Path
from typing import Final

from graphflow._core.common.files.own_files import own_folder, own_secret

_NAME: Final = "token"
TEMPORARY: Final = Path("/tmp")
_NO_FOLDER: Final = (EACCES, ELOOP, ENOENT, ENOTDIR, EPERM, EROFS)
"""Errors of a folder that every process of the user gets, now and later: then the next folder is tried."""


def folders() -> list[Path]:
    """The folders that may hold the token, best first: in the home that the system knows for the user, or in /tmp."""
    found = [TEMPORARY / f"graphflow-{os.geteuid()}"]
    try:
        import pwd

        home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except KeyError:
        return found
    return [home / ".cache" / "graphflow", *found] if home.is_absolute() else found


def path() -> Path:
    """The file of the user's token, in the first folder that is the user's alone, made if it is missing.

    PermissionError, which names each folder and what is wrong with it, if there is none.
    """
    wrong = []
    for folder in folders():
        try:
            found = own_folder(folder)
            if (found / _NAME).exists() or os.access(
                found, os.W_OK, effective_ids=os.access in os.supports_effective_ids
            ):
                return found / _NAME
            wrong.append(f"{folder} cannot be written")
        except OSError as error:
            if error.errno is not None and error.errno not in _NO_FOLDER:
                raise
            wrong.append(f"{folder}: {error}")
    raise PermissionError(f"There is no place for the user's token: {'; '.join(wrong)}.")


def user_token() -> str:
    """The user's token, made on first use. PermissionError if others could have read or written the file."""
    return own_secret(path()).decode("ascii", "replace")


def same(mine: str, theirs: object) -> bool:
    """Whether a token is the right one, in a time that does not tell where it differs."""
    return isinstance(theirs, str) and hmac.compare_digest(mine.encode(), theirs.encode("utf-8", "replace"))

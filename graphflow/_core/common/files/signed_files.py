"""Files of machine code that are loaded only if the user's own programs made them.

They lie in the user's cache folder, in folders that nobody else may write (own_files.py), and each carries a signature
(HMAC-SHA256) of its name and content, by a secret that is made on first use. Both are looked at before anything of a
file is loaded or unpickled, and what is loaded are the very bytes that were looked at. If there is no such folder,
as without a home, one is made for this process and removed with it.

An entry is named by everything that its content depends on, therefore it is never out of date; it is written to a
temporary file and renamed, therefore readers in other processes see all of it or nothing; a damaged one counts as
missing. Deleting any of it at any time is safe.
"""

from __future__ import annotations

import atexit
import hmac
import logging
import os
import secrets
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

from graphflow._core.common.files.file_timeouts import LEFT_FILE_SECONDS
from graphflow._core.common.files.own_files import cache_folders, own_folder, own_secret, read_own
from graphflow._core.common.records import dataclass

_LOG = logging.getLogger("graphflow")
_MAGIC: Final = b"graphflow-signed-1\n"
_SIGNATURE_BYTES: Final = 32
_MOST_BYTES: Final = 1 << 30


@dataclass(frozen=True, repr=False)
class CacheHome:
    """Where a user's files of machine code lie, and the secret that signs them. `lasting`: beyond this process."""

    folder: Path
    secret: bytes
    lasting: bool


def cache_home() -> CacheHome:
    """The first of the user's cache folders that is safe, or one of this process; why is said in the log once."""
    return cache_home_in(tuple(cache_folders()), os.geteuid())


@cache
def cache_home_in(candidates: tuple[Path, ...], user: int) -> CacheHome:
    """The first of these folders that a user of that number may trust; found once."""
    refused = []
    for candidate in candidates:
        try:
            folder = own_folder(candidate / "graphflow")
            found = CacheHome(folder, own_secret(folder / "signing-key"), True)
        except OSError as error:
            refused.append(str(error))
            continue
        if refused:
            _LOG.warning("Compiled kernels are kept in %s: %s.", folder, "; ".join(refused))
        return found
    folder = _temporary_folder()
    _LOG.warning(
        "Compiled kernels are kept for this process alone, in %s: %s. Name a folder that only you can write in "
        "XDG_CACHE_HOME, and the next start finds them compiled.",
        folder,
        "; ".join(refused) or "the user has no home",
    )
    return CacheHome(folder, secrets.token_bytes(_SIGNATURE_BYTES), False)


def _temporary_folder() -> Path:
    """A new folder that is the user's alone, removed when this process ends; one that cannot be used if need be."""
    for parent in dict.fromkeys((tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm")):
        made = Path()
        with suppress(OSError):
            made = Path(tempfile.mkdtemp(prefix="graphflow-", dir=parent))
            found = own_folder(made)
            atexit.register(_remove, found, os.getpid())
            return found
        if made != Path():
            shutil.rmtree(made, ignore_errors=True)
    return Path(os.devnull) / "none"  # nothing can be kept


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not at the end of a forked child
        shutil.rmtree(folder, ignore_errors=True)


class SignedFolder:
    """Signed files in one folder; every method may be called from any thread and process."""

    def __init__(
        self, directory: Path | None = None, ending: str = "", its_home: CacheHome | None = None
    ) -> None:
        self.home = its_home or cache_home()
        self.directory = (
            self.home.folder if directory is None else Path(os.path.abspath(os.fspath(directory)))
        )
        self._ending = ending

    def path(self, name: str) -> Path:
        """File of the entry `name`, whether or not it is there."""
        return self.directory / name[:2] / f"{name}{self._ending}"

    def load(self, name: str) -> bytes | None:
        """The content of an entry, or None: missing, damaged, or not signed by this user's programs."""
        path = self.path(name)
        try:
            content = read_own(own_folder(path.parent, make=False) / path.name, _MOST_BYTES)
        except (OSError, ValueError):
            return None
        start = len(_MAGIC) + _SIGNATURE_BYTES
        payload = content[start:]
        signed = content[:start] == _MAGIC + content[len(_MAGIC) : start] and hmac.compare_digest(
            content[len(_MAGIC) : start], self._signature(name, payload)
        )
        return payload if signed else None

    def store(self, name: str, payload: bytes) -> bool:
        """Writes an entry whole; False if the folder cannot be written (full, read-only) or is not safe."""
        path, temporary = self.path(name), ""
        try:
            folder = own_folder(path.parent)
            self._sweep(folder)
            handle, temporary = tempfile.mkstemp(dir=folder, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + self._signature(name, payload))
                file.write(payload)
            os.replace(temporary, folder / path.name)
        except OSError:
            if temporary:
                with suppress(OSError):
                    os.unlink(temporary)
            return False
        return True

    def _signature(self, name: str, payload: bytes) -> bytes:
        signer = hmac.new(self.home.secret, _MAGIC + name.encode() + b"\0", "sha256")
        signer.update(payload)
        return signer.digest()

    @staticmethod
    def _sweep(folder: Path) -> None:
        """Removes what processes that ended halfway have left."""
        before = time.time() - LEFT_FILE_SECONDS
        for left in folder.glob("*.tmp"):
            with suppress(OSError):
                if left.lstat().st_mtime < before:
                    left.unlink()

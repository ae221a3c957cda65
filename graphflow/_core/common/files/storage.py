"""Files and folders by their paths: local ones by the operating system, others, such as "s3://bucket/a", by fsspec.

Every function takes a path as `user_path` gives it, and raises an OSError with a number, whichever file system it is.
Nothing that is listed is remembered: another machine may write there at any time.
"""

from __future__ import annotations

import errno
import glob
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, BinaryIO, Final, NamedTuple, cast

from graphflow._core.common.files.paths import not_implemented, scheme_of
from graphflow.errors import OpError

_WHOLE: Final = frozenset(
    ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "wasb", "adl", "oss", "oci", "cos", "obs", "tos")
)
"""Object stores: what is put there appears when all of it is there, and there are no folders to make."""
_NUMBERS: Final = (
    (FileNotFoundError, errno.ENOENT),
    (PermissionError, errno.EACCES),
    (FileExistsError, errno.EEXIST),
    (IsADirectoryError, errno.EISDIR),
    (NotADirectoryError, errno.ENOTDIR),
    (TimeoutError, errno.ETIMEDOUT),
)


_PIECE: Final = 4 << 20
"""Bytes that are copied at once."""


class Status(NamedTuple):
    """A file or folder: bytes, nanoseconds since 1970 of its last change (0 if unknown), whether it is a folder."""

    size: int
    modified: int
    is_folder: bool


def is_remote(path: str) -> bool:
    """Whether a path names another file system than the local one."""
    return bool(scheme_of(path))


# ---- paths ----------------------------------------------------------------------------------------------------------


def folder_of(path: str) -> str:
    """The folder that a file is in; "" of a local name alone."""
    found = os.path.dirname(path)
    return f"{found}//" if is_remote(path) and not is_remote(f"{found}/") else found


def absolute(path: str) -> str:
    """The path from the root on."""
    return path if is_remote(path) else os.path.abspath(path)


def is_absolute(path: str) -> bool:
    """Whether it begins at a root: of the local file system, or of another."""
    return is_remote(path) or os.path.isabs(path)


def relative(path: str, folder: str) -> str:
    """The path of a file from a folder on; the path itself if they are on different file systems."""
    if is_remote(path) or is_remote(folder):
        return path.removeprefix(folder.rstrip("/") + "/")
    return os.path.relpath(path, folder)


def same_folder(path: str, other: str) -> bool:
    """Whether two paths name one folder, links followed."""
    if is_remote(path) or is_remote(other):
        return path.rstrip("/") == other.rstrip("/")
    return os.path.realpath(path) == os.path.realpath(other)


# ---- what is there --------------------------------------------------------------------------------------------------


def status(path: str) -> Status:
    """Size, time and kind of a file or folder."""
    if not is_remote(path):
        found = os.stat(path)
        return Status(found.st_size, found.st_mtime_ns, os.path.isdir(path))
    with _remote(path) as (system, key):
        info = system.info(key)
        return Status(int(info.get("size") or 0), _modified(info), info.get("type") == "directory")


def exists(path: str) -> bool:
    """Whether there is a file or folder; an OSError if that cannot be found out, as far as a path is not local.

    What fsspec answers itself is "no" as well if the other machine does not answer: a training would begin anew.
    """
    if not is_remote(path):
        return os.path.exists(path)
    try:
        status(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def is_file(path: str) -> bool:
    """Whether there is a file."""
    return _kind(path, os.path.isfile, False)


def is_folder(path: str) -> bool:
    """Whether there is a folder; in an object store, whether there is anything in it."""
    return _kind(path, os.path.isdir, True)


def _kind(path: str, local: Callable[[str], bool], folder: bool) -> bool:
    if not is_remote(path):
        return local(path)
    try:
        return status(path).is_folder is folder
    except (FileNotFoundError, NotADirectoryError):
        return False


def entries(folder: str) -> list[tuple[str, Status]]:
    """The names in a folder, in order, with what `status` says of each; what goes away meanwhile is left out."""
    found = []
    if not is_remote(folder):
        for name in sorted(os.listdir(folder)):
            with suppress(OSError):
                found.append((name, status(os.path.join(folder, name))))
        return found
    with _remote(folder) as (system, key):
        for info in system.ls(key, detail=True):
            kept = Status(int(info.get("size") or 0), _modified(info), info.get("type") == "directory")
            name = info["name"].rstrip("/").rpartition("/")[2]
            if info["name"].rstrip("/") != key.rstrip("/"):  # The mark of an empty folder.
                found.append((name, kept))
    return sorted(found)


def names(folder: str) -> list[str]:
    """The names in a folder, in order."""
    if not is_remote(folder):
        return sorted(os.listdir(folder))
    if not is_folder(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    return [name for name, _ in entries(folder)]


def matching(pattern: str, hidden: bool = False) -> list[str]:
    """The paths that match a pattern of *, ? and [abc], in order."""
    if not is_remote(pattern):
        return sorted(glob.glob(pattern, include_hidden=hidden))
    with _remote(pattern) as (system, key):
        begin, there = _roots(pattern, key)
        return sorted(f"{begin}{found.removeprefix(there)}" for found in system.glob(key))


def walk(top: str, topdown: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, folders in it, files in it) of a folder and all below, as os.walk; nothing if there is none."""
    if not is_remote(top):
        yield from os.walk(top, topdown)
        return
    with _remote(top) as (system, key):
        begin, there = _roots(top.rstrip("/"), key)
        found = list(system.walk(key, topdown=topdown))
    for folder, folders, files in found:
        place = f"{begin}{folder.removeprefix(there)}"
        yield place, [name for name in folders if name], [name for name in files if name]


def _roots(path: str, key: str) -> tuple[str, str]:
    """What a path begins with, and what stands for that in names of its file system, such as a bucket.

    Of "abfs://box@account.net/a" those are "abfs://box@account.net/" and "box/".
    """
    machine, _, tail = path.partition("://")[2].partition("/")
    if not machine or glob.has_magic(machine) or not key.endswith(tail):
        return path.removesuffix(key), ""
    if not tail:
        return path.rstrip("/"), key.rstrip("/")
    return path.removesuffix(tail), key.removesuffix(tail)


# ---- changes --------------------------------------------------------------------------------------------------------


def opened(path: str, mode: str = "rb") -> BinaryIO:
    """An open file of bytes; one that is written remotely is there, whole, when it is closed."""
    if not is_remote(path):
        return cast(BinaryIO, open(path, mode))
    if mode.startswith("w") and "+" not in mode:
        return cast(BinaryIO, _Upload(path))
    with _remote(path) as (system, key):
        return cast(BinaryIO, system.open(key, mode))


def read(path: str, most: int = -1) -> bytes:
    """All bytes of a file, or so many."""
    if not is_remote(path):
        with open(path, "rb") as file:
            return file.read(most)
    with _remote(path) as (system, key), system.open(key, "rb") as file:
        return cast(bytes, file.read(most))


def make_folders(path: str) -> None:
    """Makes a folder and those around it, unless they are there; an object store needs none."""
    if not is_remote(path):
        os.makedirs(path or ".", exist_ok=True)
    elif scheme_of(path) not in _WHOLE:
        with _remote(path) as (system, key):
            system.makedirs(key, exist_ok=True)


def remove(path: str) -> None:
    """Removes a file."""
    if not is_remote(path):
        os.unlink(path)
        return
    with _remote(path) as (system, key):
        if system.info(key).get("type") == "directory":  # A store would do nothing, and say nothing.
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        system.rm_file(key)


def remove_tree(path: str) -> None:
    """Removes a folder and all that is in it."""
    if not is_remote(path):
        shutil.rmtree(path)
        return
    with _remote(path) as (system, key):
        system.rm(key, recursive=True)


def rename(old: str, new: str) -> None:
    """Gives a file or folder of one file system another name, in place of a file that has it."""
    if not is_remote(old) and not is_remote(new):
        os.replace(old, new)
        return
    with _remote(old) as (system, key), _remote(new) as (other, target):
        if scheme_of(old) != scheme_of(new) or system != other:  # As of two machines.
            raise OSError(errno.EXDEV, "they are on different file systems: copy, then remove", new)
        system.mv(key, target, recursive=system.isdir(key))


def copy(old: str, new: str) -> None:
    """Copies a file's content, from any file system to any."""
    if not is_remote(old) and not is_remote(new):
        shutil.copyfile(old, new)
        return
    with opened(old) as source, opened(new, "wb") as target:
        shutil.copyfileobj(source, target, _PIECE)


def put(source: str, path: str) -> None:
    """Brings a local file to a remote path, at which there is the former one or the whole new one at any time.

    An object store shows an upload when it is complete. Others are given the file under a name beside it, then renamed.
    """
    with _remote(path) as (system, key):
        if scheme_of(path) in _WHOLE:
            system.put_file(source, key)
            return
        folder, _, name = key.rpartition("/")
        aside = f"{folder}/.{name}~{secrets.token_hex(8)}.tmp"
        try:
            system.put_file(source, aside)
            system.mv(aside, key)
        except BaseException:
            with suppress(Exception):
                system.rm_file(aside)
            raise


class _Upload:
    """A file that is written here first and brought to a remote path, whole, when it is closed."""

    def __init__(self, path: str) -> None:
        self._path = path
        with _remote(path):  # What cannot be reached is told of now.
            self._file: Any = tempfile.NamedTemporaryFile(prefix="graphflow-")  # noqa: SIM115

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Upload:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self._file.close()

    def close(self) -> None:
        """Brings it to its path, the first time."""
        if self._file.closed:
            return
        try:
            self._file.flush()
            put(self._file.name, self._path)
        finally:
            self._file.close()


# ---- a remote file as a local one -----------------------------------------------------------------------------------

_copies: Final[dict[bool, tuple[tuple[str, Any], int]]] = {}
"""The last copies: of a small file (True), such as an index, and of another."""
_copies_lock: Final = threading.Lock()
_SMALL: Final = 4 << 20


def local_copy(path: str) -> int:
    """A descriptor of a local copy of a remote file, without a name, which ends with its last descriptor.

    It is to be mapped or read at positions: where reading goes on is one for all who have it.
    The last one is kept, since a checkpoint is looked through before it is restored, and the last small one, since it
    may have an index; they are taken again as long as the file is the same.
    """
    with _copies_lock, _remote(path) as (system, key):
        if system.isdir(key):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        which = path, system.ukey(key)
        for kept, descriptor in _copies.values():
            if kept == which:
                return os.dup(descriptor)
        small = (system.size(key) or _SMALL) < _SMALL
        if small in _copies:
            os.close(_copies.pop(small)[1])
        with tempfile.TemporaryFile(prefix="graphflow-") as file, system.open(key, "rb") as source:
            shutil.copyfileobj(source, file, _PIECE)
            file.flush()
            descriptor = os.dup(file.fileno())
        _copies[small] = which, descriptor
        return os.dup(descriptor)


# ---- fsspec ---------------------------------------------------------------------------------------------------------


@contextmanager
def _remote(path: str) -> Iterator[tuple[Any, str]]:
    """The file system of a path and its name there; what goes wrong with it is an OSError with a number."""
    try:
        import fsspec

        yield fsspec.core.url_to_fs(path, use_listings_cache=False)
    except OSError as error:
        if error.errno is not None:
            raise
        number = next((number for kind, number in _NUMBERS if isinstance(error, kind)), errno.EIO)
        text = os.strerror(number) if number != errno.EIO else str(error)
        raise OSError(number, text, path) from error
    except (
        ImportError
    ) as error:  # Some packages are asked for when a file system is opened, as pyarrow for hdfs.
        raise not_implemented(path, error) from error
    except (KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError, OpError):
        raise
    except Exception as error:  # Each package has errors of its own: of credentials, names, networks.
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}", path) from error


def _modified(info: Any) -> int:
    for name in ("mtime", "LastModified", "last_modified", "updated", "modified", "created"):
        value = info.get(name)
        if isinstance(value, datetime):
            return int(value.timestamp() * 1e9)
        if isinstance(value, int | float):
            return int(value * 1e9)
        if isinstance(value, str):
            with suppress(ValueError):
                return int(datetime.fromisoformat(value).timestamp() * 1e9)
    return 0

"""Files and folders (tf.gfile), with TensorFlow's names and errors.

A program that catches NotFoundError if a checkpoint may be missing works on. Paths may begin with "file://", and, where
fsspec is installed, with the schemes that it knows, such as "s3://" and "gs://"; without it they are an
UnimplementedError.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import graphflow.errors as errors
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.common.namespaces import missing as _missing

if TYPE_CHECKING:
    from os import PathLike

_MODES = ("r", "w", "a", "r+", "w+", "a+")
_REMOTE_MODES = ("r", "w", "a")
_CODES: dict[int, type[errors.OpError]] = {
    errno.ENOENT: errors.NotFoundError,
    errno.EEXIST: errors.AlreadyExistsError,
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.EROFS: errors.PermissionDeniedError,
    errno.EISDIR: errors.FailedPreconditionError,
    errno.ENOTDIR: errors.FailedPreconditionError,
    errno.ENOTEMPTY: errors.FailedPreconditionError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EMFILE: errors.ResourceExhaustedError,
    errno.EINVAL: errors.InvalidArgumentError,
}


@contextmanager
def _translated(path: object) -> Iterator[None]:
    """Raises an error of the operating system as TensorFlow's."""
    try:
        yield
    except OSError as error:
        kind = _CODES.get(error.errno or 0, errors.UnknownError)
        raise kind(None, None, f"{path}; {error.strerror or error}") from error


class GFile:
    """A file, opened at its first use (tf.gfile.GFile).

    NotFoundError, PermissionDeniedError and the like if it cannot be opened or was opened otherwise. Not to
    be shared between threads.

    Args:
        name: A name for the operation.
        mode: "r", "w", "a", "r+", "w+" or "a+", with "b" for bytes; without, what is read is text in UTF-8.
            Both text and bytes can be written.
    """

    def __init__(self, name: str | bytes | PathLike[str], mode: str = "r") -> None:
        self._file: BinaryIO | None = None
        if mode.replace("b", "") not in _MODES:
            raise errors.InvalidArgumentError(
                None, None, f"mode {mode!r} is none of {', '.join(_MODES)}, with or without a 'b'."
            )
        self._name: Any = name
        self._mode = mode

    @property
    def name(self) -> Any:
        """The path as it was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode as it was given."""
        return self._mode

    def _opened(self, reading: bool | None = None) -> BinaryIO:
        mode = self._mode.replace("b", "")
        if reading is True and mode in ("w", "a"):
            raise errors.PermissionDeniedError(None, None, f"{self._name}: File isn't open for reading")
        if reading is False and mode == "r":
            raise errors.PermissionDeniedError(None, None, f"{self._name}: File isn't open for writing")
        if self._file is None:
            path = user_path(self._name)
            if storage.is_remote(path) and mode not in _REMOTE_MODES:
                raise errors.UnimplementedError(
                    None,
                    None,
                    f"{path}: a file that is not local is opened to 'r', 'w' or 'a', not {mode!r}.",
                )
            with _translated(path):
                self._file = storage.opened(path, f"{mode}b")
        return self._file

    def _value(self, content: bytes) -> Any:
        return content if "b" in self._mode else content.decode()

    def read(self, n: int = -1) -> Any:
        """The next n bytes, by default all that is left, as the mode says: bytes or text.

        Args:
            n: How many; -1 for all.
        """
        file = self._opened(reading=True)
        with _translated(self._name):
            return self._value(file.read(n))

    def readline(self) -> Any:
        """The next line with its end; empty after the last."""
        file = self._opened(reading=True)
        with _translated(self._name):
            return self._value(file.readline())

    def readlines(self) -> list[Any]:
        """All lines that are left."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def write(self, file_content: str | bytes) -> None:
        """Writes text or bytes.

        Args:
            file_content: What to write.
        """
        file = self._opened(reading=False)
        content = file_content.encode() if isinstance(file_content, str) else bytes(file_content)
        with _translated(self._name):
            file.write(content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Goes to a byte, from the start (0), from here (1) or from the end (2); `position` is the old name.

        Args:
            offset: Counted in bytes.
            whence: 0, 1 or 2.
            position: The old name of `offset`.
        """
        if (offset is None) is (position is None):
            raise TypeError("seek() takes either an offset or a position.")
        if whence not in (0, 1, 2):
            raise errors.InvalidArgumentError(
                None, None, f"Invalid whence argument: {whence}. Valid values are 0, 1, or 2."
            )
        file = self._opened()
        with _translated(self._name):
            file.seek(offset if position is None else position, whence)  # type: ignore[arg-type]

    def tell(self) -> int:
        """The byte that comes next."""
        return self._opened().tell()

    def size(self) -> int:
        """The number of bytes, what was written included."""
        if self._file is not None and self._mode.replace("b", "") != "r":
            self.flush()
            if storage.is_remote(user_path(self._name)):
                return self._file.tell()
        return Stat(self._name).length

    def seekable(self) -> bool:
        """True."""
        return True

    def flush(self) -> None:
        """Hands what was written to the operating system."""
        if self._file is not None:
            with _translated(self._name):
                self._file.flush()

    def close(self) -> None:
        """Closes it; one to be written is there from now on, even if empty."""
        if self._file is None and self._mode.replace("b", "") in ("w", "a", "w+", "a+"):
            self._opened()
        if self._file is not None:
            with _translated(self._name):
                self._file.close()
            self._file = None

    def __del__(self) -> None:
        if self._file is not None:
            with _translated(self._name):
                self._file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


FastGFile = Open = GFile


class FileStatistics(NamedTuple):
    """What Stat tells of a file: bytes, nanoseconds since 1970 of the last change, whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def Exists(filename: str | bytes | PathLike[str]) -> bool:
    """Whether there is a file or folder (tf.gfile.Exists).

    Args:
        filename: A path, or that of another file system that is installed.

    Examples:
        >>> gf.gfile.Exists("no/such/file")
        False
    """
    path = user_path(filename)
    with _translated(path):
        return storage.exists(path)


def IsDirectory(dirname: str | bytes | PathLike[str]) -> bool:
    """Whether it is a folder (tf.gfile.IsDirectory).

    Args:
        dirname: A path, or that of another file system that is installed.
    """
    path = user_path(dirname)
    with _translated(path):
        return storage.is_folder(path)


def Stat(filename: str | bytes | PathLike[str]) -> FileStatistics:
    """Size, time and kind of a file or folder (tf.gfile.Stat).

    Args:
        filename: A path, or that of another file system that is installed.

    Raises:
        NotFoundError: If there is none.
    """
    path = user_path(filename)
    with _translated(path):
        return FileStatistics(*storage.status(path))


def ListDirectory(dirname: str | bytes | PathLike[str]) -> list[str]:
    """The names in a folder, in order (tf.gfile.ListDirectory).

    Args:
        dirname: A path, or that of another file system that is installed.

    Raises:
        NotFoundError: If there is none.
    """
    path = user_path(dirname)
    with _translated(path):
        if not storage.is_folder(path):
            raise errors.NotFoundError(None, None, f"Could not find directory {path}")
        return storage.names(path)


def MkDir(dirname: str | bytes | PathLike[str]) -> None:
    """Makes a folder in one that is there (tf.gfile.MkDir); NotFoundError. Does nothing if there is one of that name.

    Args:
        dirname: A path, or that of another file system that is installed.
    """
    path = user_path(dirname)
    with _translated(path):
        if storage.is_remote(path):
            storage.make_folders(path)
        else:
            with suppress(FileExistsError):
                os.mkdir(path)


def MakeDirs(dirname: str | bytes | PathLike[str]) -> None:
    """Makes a folder and those around it, if they are missing (tf.gfile.MakeDirs).

    Args:
        dirname: A path, or that of another file system that is installed.
    """
    path = user_path(dirname)
    with _translated(path):
        storage.make_folders(path)


def Remove(filename: str | bytes | PathLike[str]) -> None:
    """Removes a file (tf.gfile.Remove).

    Args:
        filename: A path, or that of another file system that is installed.

    Raises:
        NotFoundError: If there is none.
    """
    path = user_path(filename)
    with _translated(path):
        storage.remove(path)


def DeleteRecursively(dirname: str | bytes | PathLike[str]) -> None:
    """Removes a folder and all in it (tf.gfile.DeleteRecursively).

    Args:
        dirname: A path, or that of another file system that is installed.

    Raises:
        NotFoundError: If there is none.
    """
    path = user_path(dirname)
    with _translated(path):
        if storage.is_folder(path) and (storage.is_remote(path) or not os.path.islink(path)):
            storage.remove_tree(path)
        else:
            storage.remove(path)


def _free(path: str, overwrite: bool) -> None:
    if not overwrite and storage.exists(path):
        raise errors.AlreadyExistsError(None, None, f"{path}: file already exists; pass overwrite=True.")


def Copy(
    oldpath: str | bytes | PathLike[str], newpath: str | bytes | PathLike[str], overwrite: bool = False
) -> None:
    """Copies a file's content, also from one file system to another (tf.gfile.Copy).

    Args:
        oldpath: The path that it has.
        newpath: The path that it gets.
        overwrite: Whether a file that is there is replaced.

    Raises:
        AlreadyExistsError: If there is one and `overwrite` is not said.
    """
    old, new = user_path(oldpath), user_path(newpath)
    with _translated(old):
        _free(new, overwrite)
        storage.copy(old, new)


def Rename(
    oldname: str | bytes | PathLike[str], newname: str | bytes | PathLike[str], overwrite: bool = False
) -> None:
    """Moves a file or folder (tf.gfile.Rename).

    Args:
        oldname: The path that it has.
        newname: The path that it gets.
        overwrite: Whether a file that is there is replaced.

    Raises:
        AlreadyExistsError: If there is one and `overwrite` is not said.
    """
    old, new = user_path(oldname), user_path(newname)
    with _translated(old):
        _free(new, overwrite)
        storage.rename(old, new)


def Glob(filename: str | bytes | PathLike[str] | Iterable[str | bytes | PathLike[str]]) -> list[str]:
    """The paths that match a pattern of *, ? and [abc], or one of several, in order (tf.gfile.Glob).

    Args:
        filename: A path, or that of another file system that is installed.
    """
    patterns: Iterable[Any] = filename if isinstance(filename, list | tuple) else [filename]
    found: set[str] = set()
    for pattern in patterns:
        path = user_path(pattern)
        with _translated(path):
            found.update(storage.matching(path, hidden=True))
    return sorted(found)


def Walk(
    top: str | bytes | PathLike[str], in_order: bool = True
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, folders in it, files in it) of a folder and all below, outer ones first (tf.gfile.Walk).

    in_order=False: inner ones first. Nothing if there is no such folder.

    Args:
        top: The folder.
        in_order: Whether a folder comes before those in it.

    Returns:
        An iterator of (folder, names of folders, names of files).
    """
    for folder, folders, files in storage.walk(user_path(top), topdown=in_order):
        folders.sort()
        yield folder, list(folders), sorted(files)


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.gfile", globals())

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "FileStatistics",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

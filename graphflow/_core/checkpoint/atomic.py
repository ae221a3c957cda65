"""Files that are written whole or not at all.

The bytes are written to a temporary file in the same folder, which is synced and takes its final name last; then the
folder is synced. So the old file stays as it was if the process is killed at any moment, or if the disk runs full. The
writer holds a lock on its temporary file. A later writer of the same family removes the temporary files without a lock:
a dead process has left them.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress

import graphflow.errors as errors
from graphflow._core.common.files import storage

_SUFFIX = ".tmp"
_LARGE = 64 << 20
_TRIES, _PAUSE = 500, 0.01
"""How often, and every how many seconds, the lock of a folder is asked for, before it is done without."""


def os_error(error: OSError, path: str, doing: str) -> errors.OpError:
    """An error of the operating system as one of gf.errors, which says what was done with which file."""
    number = error.errno
    text = f"{doing} {path}: {error.strerror or error}"
    if number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return errors.ResourceExhaustedError(
            None, None, f"{text}. Free some space, or keep fewer checkpoints (max_to_keep)."
        )
    if number in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
        return errors.NotFoundError(None, None, f"{text}.")
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return errors.PermissionDeniedError(None, None, f"{text}.")
    if number in (errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY):
        return errors.FailedPreconditionError(None, None, f"{text}.")
    return errors.UnknownError(None, None, f"{text}.")


@contextmanager
def atomic_file(path: str) -> Iterator[int]:
    """A new file that takes the name `path` when the block ends without an error.

    If it ends with one nothing is left and `path` stays as it was.

    Args:
        path: The file, which may have a scheme, such as s3://.

    Yields:
        The descriptor of the new file.

    Raises:
        OpError: It cannot be written: an error of gf.errors that names the file, ResourceExhaustedError if there is
            no space.
    """
    with atomic_files([path]) as (descriptor,):
        yield descriptor


@contextmanager
def atomic_files(
    paths: Sequence[str], changing: Callable[[], AbstractContextManager[None]] = nullcontext
) -> Iterator[list[int]]:
    """New files of one folder that take their names, in this order, when the block ends without an error.

    If it ends with one nothing is left and all stay as they were. Several files do not take their names at one moment:
    the last one is that which makes the others count.

    Args:
        paths: The files, which may have a scheme, such as s3://.
        changing: Gives what is entered before the first file takes its name and left when all of them outlast a crash.
            No other process changes names in the folder meanwhile, by this function. Not used for remote paths.

    Yields:
        The descriptors of the new files.

    Raises:
        OpError: As of atomic_file; it names the last file.
    """
    if storage.is_remote(paths[-1]):
        with _brought(paths) as descriptors:
            yield descriptors
        return
    folder, name = os.path.split(os.path.abspath(paths[-1]))
    made: list[tuple[int, str]] = []
    try:
        try:
            _remove_stale(folder, _start(name))
            made += (_temporary(folder, name) for _ in paths)
            yield [descriptor for descriptor, _ in made]
            _sync([descriptor for descriptor, _ in made])
            with _one_at_a_time(folder) if len(paths) > 1 else nullcontext(), changing():
                for (_, temporary), path in zip(made, paths, strict=True):
                    with freed_later(path):
                        os.rename(temporary, path)
                sync_folder(folder)
        except BaseException:
            for _, temporary in made:
                with suppress(OSError):
                    os.unlink(temporary)
            raise
        finally:
            for descriptor, _ in made:
                os.close(descriptor)
    except OSError as error:
        raise os_error(error, paths[-1], "Cannot write") from error


def _sync(descriptors: Sequence[int]) -> None:
    """Makes sure that files outlast a crash of the machine: several at once, of which the disk makes one write."""
    if len(descriptors) == 1:
        os.fsync(descriptors[0])
        return
    with ThreadPoolExecutor(len(descriptors), "graphflow-sync") as pool:
        for _ in pool.map(os.fsync, descriptors):
            pass


@contextmanager
def _one_at_a_time(folder: str) -> Iterator[None]:
    """Keeps others out who change the names of several files in a folder; nothing where there are no locks."""
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # There may be no locks, or somebody may have this one for long.
            for left in reversed(range(_TRIES)):
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if left:
                        time.sleep(_PAUSE)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _brought(paths: Sequence[str]) -> Iterator[list[int]]:
    """The same for paths of another file system: written here, then each is brought there whole."""
    try:
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.NamedTemporaryFile(prefix="graphflow-")) for _ in paths]
            yield [file.fileno() for file in files]
            for file, path in zip(files, paths, strict=True):
                storage.put(file.name, path)
    except OSError as error:
        raise os_error(error, paths[-1], "Cannot write") from error


@contextmanager
def freed_later(path: str) -> Iterator[None]:
    """To be used around the removal of a file: a thread frees the space, since that takes 0.1 s for a GB.

    If the process ends before, the operating system frees it.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:  # Nothing is there, or it may not be read: it is freed at once.
        yield
        return
    try:
        yield
    finally:
        if os.fstat(descriptor).st_size < _LARGE:
            os.close(descriptor)
        else:
            threading.Thread(target=os.close, args=(descriptor,), name="graphflow-free", daemon=True).start()


def write_atomically(path: str, data: bytes) -> None:
    """Replaces a file by one with these bytes.

    Args:
        path: The file.
        data: What it holds from then on.

    Raises:
        OpError: As of atomic_file.
    """
    with atomic_file(path) as descriptor:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]


def link_atomically(earlier: str, path: str) -> None:
    """Replaces a file by another name of the file `earlier`, of the same folder; OSError if it cannot be linked."""
    folder, name = os.path.split(os.path.abspath(path))
    temporary = _temporary_path(folder, name)
    os.link(earlier, temporary, follow_symlinks=False)
    try:
        os.rename(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def sync_folder(folder: str) -> None:
    """Makes sure that names that were added to a folder, or removed, outlast a crash of the machine.

    Args:
        folder: The folder.

    Raises:
        OSError: The machine says that it cannot, other than because its file system knows no such thing.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # File systems that cannot sync a folder say so.
            raise
    finally:
        os.close(descriptor)


def family(name: str) -> str:
    """The common part of the names of one saver's files: the name up to the step, "model" for
    "model-100.safetensors".
    """
    return re.sub(r"(-\d+)?(\.\w+)?$", "", name) or name


def _temporary(folder: str, name: str) -> tuple[int, str]:
    """A new, locked file in the folder: its descriptor and path."""
    while True:
        path = _temporary_path(folder, name)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        if _locked(descriptor) and os.fstat(descriptor).st_nlink:
            return descriptor, path
        os.close(descriptor)  # Another writer took it for stale before it was locked.
        with suppress(FileNotFoundError):
            os.unlink(path)


def _start(name: str) -> str:
    """How the names of the temporary files of a file's family begin."""
    return f".{family(name)}~"


def _temporary_path(folder: str, name: str) -> str:
    return os.path.join(folder, f"{_start(name)}{secrets.token_hex(8)}{_SUFFIX}")


def _locked(descriptor: int) -> bool:
    """Takes the lock of a temporary file; False if somebody else has it. No locks on its file system: True."""
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL):
            raise
    return True


def _remove_stale(folder: str, start: str) -> None:
    """Removes temporary files of this family whose writers are gone."""
    with os.scandir(folder) as entries:
        found = [e.path for e in entries if e.name.startswith(start) and e.name.endswith(_SUFFIX)]
    for path in found:
        _remove_if_stale(path)


def _remove_if_stale(path: str) -> None:
    import fcntl

    with suppress(OSError):  # What cannot be locked or removed stays: it is in nobody's way.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            here, there = os.fstat(descriptor), os.lstat(path)
            if (here.st_dev, here.st_ino) == (there.st_dev, there.st_ino):
                os.unlink(path)
        finally:
            os.close(descriptor)

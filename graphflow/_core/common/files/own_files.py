"""Folders and files that are the user's alone: where a secret may lie, and from where code may be loaded.

Who may write any folder on the way to a file may put another in its place. So a path is walked from its root, part by
part, symbolic links as well: each must belong to the user or to root, and nobody else may write it. A sticky folder
such as /tmp, where nobody can touch what is another's, may lie on the way and not at the end. What was found so far
nobody else can change any more, therefore nothing can change between this look and the use.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

_OTHERS_WRITE: Final = 0o002
_GROUP_WRITES: Final = 0o020
_MOST_LINKS: Final = 40
_SECRET_BYTES: Final = 32


def own_folder(path: Path, make: bool = True, trusted: frozenset[int] = frozenset()) -> Path:
    """A folder that is the user's alone, made if it is missing (with mode 700 whatever the umask is).

    The path without symbolic links. PermissionError, which names the part and what is wrong with it, if somebody
    else could write there; another OSError if it cannot be made, or is missing and `make` is false. trusted: numbers
    of users whose folders are taken as root's are.
    """
    if not path.is_absolute():
        raise PermissionError(f"{path} is not an absolute path")
    owners = {os.geteuid(), 0, unmapped_root(), *trusted}
    found, links = "/", 0  # Texts: this is done for each kernel, and Path takes five times as long.
    status = os.lstat(found)
    _check(found, status, owners)
    rest = [*reversed(path.parts[1:])]
    while rest:
        name = rest.pop()
        if name == "..":
            found = os.path.dirname(found)
            status = os.lstat(found)
            continue
        part = os.path.join(found, name)
        try:
            status = os.lstat(part)
        except FileNotFoundError:
            if not make:
                raise
            _make_folder(part)
            status = os.lstat(part)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise PermissionError(f"{path} has more than {_MOST_LINKS} symbolic links")
            _check_owner(part, status, owners)
            target = Path(os.readlink(part))
            if target.is_absolute():
                found = "/"
            rest.extend(reversed(target.parts[1:] if target.is_absolute() else target.parts))
            status = os.lstat(found)
            continue
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(f"{part} is not a folder")
        _check(part, status, owners)
        found = part
    _check(found, status, owners, last=True)
    return Path(found)


def _make_folder(part: str) -> None:
    """Makes a folder of mode 700; that of another process which was quicker is looked at like any other."""
    try:
        os.mkdir(part, 0o700)
    except FileExistsError:
        return


def _check(part: str, status: os.stat_result, owners: set[int | None], last: bool = False) -> None:
    """PermissionError if somebody else may put something into a folder, or replace what is the user's there."""
    _check_owner(part, status, owners)
    mode = status.st_mode
    if mode & stat.S_ISVTX and not last:
        return
    if mode & _OTHERS_WRITE or mode & _GROUP_WRITES and not _is_alone(part, status.st_gid):
        raise PermissionError(f"{part} may be written by others (mode {stat.S_IMODE(mode):o})")


def _check_owner(part: str, status: os.stat_result, owners: set[int | None]) -> None:
    if status.st_uid not in owners:
        raise PermissionError(f"{part} belongs to another user (owner {status.st_uid})")


@cache
def unmapped_root() -> int | None:
    """Whose root's files seem to be in a user namespace that has no root; None if root is 0."""
    try:
        lines = Path("/proc/self/uid_map").read_text().splitlines()
        if any(int(line.split()[0]) == 0 for line in lines):
            return None
        return int(Path("/proc/sys/fs/overflowuid").read_text())
    except (OSError, ValueError, IndexError):
        return None


def _is_alone(part: str, group: int) -> bool:
    """Whether a group has the user as its only member, as each user's own group has on most systems; no list of more
    rights is at the folder.
    """
    import grp
    import pwd

    try:
        name, entry = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    if entry.gr_name != name or not {name}.issuperset(entry.gr_mem):
        return False
    try:
        return "system.posix_acl_access" not in os.listxattr(part)
    except (AttributeError, OSError):
        return True


def read_own(path: Path, limit: int, private: bool = False) -> bytes:
    """A file of the user's in a folder that own_folder gave; `private`: that nobody else may read.

    PermissionError if it is not the user's alone, FileNotFoundError if there is none, ValueError if it has
    more than `limit` bytes.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"{path} is not a file")
        if status.st_uid != os.geteuid() or mode & (0o077 if private else 0o022):
            raise PermissionError(
                f"{path} is not yours alone (owner {status.st_uid}, mode {mode:o}): delete it, and the next program "
                "makes a new one."
            )
        if status.st_size > limit:
            raise ValueError(f"{path} has {status.st_size} bytes, more than {limit}")
        return file.read(limit)


def own_secret(path: Path) -> bytes:
    """The 32 random bytes (64 hexadecimal digits) of a file that only the user can read, made on first use.

    PermissionError if others could have read or written it, or it holds something else; another OSError if it
    cannot be made.
    """
    path = own_folder(path.parent) / path.name
    try:
        text = read_own(path, 4 * _SECRET_BYTES, private=True)
    except FileNotFoundError:
        _make_secret(path)
        text = read_own(path, 4 * _SECRET_BYTES, private=True)
    except ValueError:
        text = b""
    text = text.strip()
    if len(text) != 2 * _SECRET_BYTES:
        raise PermissionError(f"{path} holds no secret: delete it, and the next program makes a new one.")
    return text


def _make_secret(path: Path) -> None:
    """Writes a new secret aside and links it in place, so that of two programs one wins and none reads half of it."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_SECRET_BYTES))
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        os.unlink(temporary)


def cache_folders() -> list[Path]:
    """Where a user's caches may lie, best first: what XDG_CACHE_HOME names, HOME, and the home that the system knows.

    Only absolute paths, and only in homes that are there: /nonexistent is the home of who must not have one. None if
    the user has no home. Whether they are the user's alone is own_folder's to say.
    """
    found = []
    if named := os.environ.get("XDG_CACHE_HOME"):
        found.append(Path(named))
    homes = [os.environ.get("HOME", "")]
    with suppress(KeyError):
        import pwd

        homes.append(pwd.getpwuid(os.geteuid()).pw_dir)
    found += [Path(home) / ".cache" for home in homes if home and os.path.isdir(home)]
    return list(dict.fromkeys(folder for folder in found if folder.is_absolute()))

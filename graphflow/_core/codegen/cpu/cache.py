"""On-disk store of compiled kernels, so that a program that ran once starts compiled.

An entry is named by everything that its machine code depends on. Whose files are loaded: signed_files.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from graphflow._core.common.files.signed_files import CacheHome, SignedFolder, cache_home
from graphflow._core.common.records import dataclass


@dataclass(frozen=True)
class CompiledObject:
    """A relocatable object file and the name of the kernel's symbol in it."""

    symbol: str
    data: bytes


def default_directory() -> Path:
    """Where compiled kernels are kept unless another folder is given: the user's cache folder if that is safe."""
    return cache_home().folder


@cache
def _environment() -> bytes:
    """Everything but the source that machine code depends on: code of the generator, versions, processor."""
    llvm, metadata = import_module("llvmlite.binding"), import_module("importlib.metadata")
    digest = hashlib.sha256()
    for text in _generator():
        digest.update(text)
    for package in ("numba", "llvmlite", "numpy"):
        digest.update(f"{package}={metadata.version(package)}\n".encode())
    digest.update(f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()}\n".encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    return digest.digest()


_WITHOUT_CODE: Final = re.compile(r"(service|sources)/.*|(cache|compiler|helper|isolated)\.py")
"""The files of this package that machine code does not depend on: they bring what others make, or give the source of a
kernel whole, which is a part of its name."""


def _generator() -> list[bytes]:
    """The texts that machine code depends on: what is generated calls into several of them."""
    return [text for name, text in _texts() if not _WITHOUT_CODE.fullmatch(name)]


def _texts() -> list[tuple[str, bytes]]:
    """The texts of this package by name, also if it lies in an archive."""
    folder = Path(__file__).parent
    if folder.is_dir():
        return [
            (path.relative_to(folder).as_posix(), path.read_bytes()) for path in sorted(folder.rglob("*.py"))
        ]
    return sorted(_in_archive(files(__package__), ""))


def _in_archive(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for part in folder.iterdir():
        path = f"{name}/{part.name}" if name else part.name
        if part.is_dir():
            yield from _in_archive(part, path)
        elif part.name.endswith(".py"):
            yield path, part.read_bytes()


def source_key(source: str) -> str:
    """Name of the entry for a kernel's source on this machine with these versions."""
    return key_in(_environment(), source)


def key_in(environment: bytes, source: str) -> str:
    """Name of the entry for a kernel's source in an environment."""
    return hashlib.sha256(environment + source.encode()).hexdigest()


def environment_name() -> str:
    """What stands for everything but the source that machine code depends on, as a text."""
    return _environment().hex()


def texts_name() -> str:
    """What stands for the files of this package as they are now, which a program may find changed when it is edited."""
    digest = hashlib.sha256()
    for name, text in _texts():
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()


@cache
def first_texts_name() -> str:
    """texts_name() as it was when this process first asked."""
    return texts_name()


@cache
def server_name() -> str:
    """Whom a process may ask for kernels: the compile server of the same files, versions, processor and running kernel.

    Machines may share a home, and several versions of graphflow a user.
    """
    digest = hashlib.sha256(_environment() + first_texts_name().encode())
    with suppress(OSError):
        digest.update(Path("/proc/sys/kernel/random/boot_id").read_bytes())
    return f"compiler-{digest.hexdigest()[:16]}"


class KernelCache:
    """The store in one folder; every method may be called from any thread and process."""

    def __init__(self, directory: Path | None = None, its_home: CacheHome | None = None) -> None:
        self._files = SignedFolder(directory, ".o", its_home)
        self.directory = self._files.directory
        self.home = self._files.home

    def path(self, key: str) -> Path:
        """File of the entry named `key`, whether or not it is there."""
        return self._files.path(key)

    def load(self, key: str) -> CompiledObject | None:
        """The entry, or None when it is missing, unreadable, damaged, or nothing that this user's programs made."""
        payload = self._files.load(key)
        if payload is None:
            return None
        symbol, _, data = payload.partition(b"\0")
        return CompiledObject(symbol.decode(errors="replace"), data)

    def store(self, key: str, compiled: CompiledObject) -> bool:
        """Write the entry whole; False when the folder cannot be written (full, read-only) or is not safe."""
        return self._files.store(key, compiled.symbol.encode() + b"\0" + compiled.data)

"""On-disk store of compiled kernels, so that a program that ran once starts compiled.

An entry is named by everything that its machine code depends on, therefore it is never out of date and never
overwritten with something else; it is written to a temporary file and renamed, therefore readers in other
processes see all of it or nothing; it carries a checksum, therefore a damaged one counts as missing. Deleting
any of it at any time is safe.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

_MAGIC = b"graphflow-kernel-1\n"


@dataclass(frozen=True)
class CompiledObject:
    """A relocatable object file and the name of the kernel's symbol in it."""

    symbol: str
    data: bytes


def default_directory() -> Path:
    """Where compiled kernels are kept unless another folder is given: the user's cache folder (XDG)."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "graphflow"


@cache
def _environment() -> bytes:
    """Everything but the source that machine code depends on: code of the generator, versions, processor."""
    llvm, metadata = import_module("llvmlite.binding"), import_module("importlib.metadata")
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):  # generated text calls into several of them
        digest.update(path.read_bytes())
    for package in ("numba", "llvmlite", "numpy"):
        digest.update(f"{package}={metadata.version(package)}\n".encode())
    digest.update(f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()}\n".encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    return digest.digest()


def source_key(source: str) -> str:
    """Name of the entry for a kernel's source on this machine with these versions."""
    return hashlib.sha256(_environment() + source.encode()).hexdigest()


class KernelCache:
    """The store in one folder; every method may be called from any thread and process."""

    def __init__(self, directory: Path | None = None) -> None:
        self.directory = default_directory() if directory is None else Path(directory)

    def path(self, key: str) -> Path:
        """File of the entry named `key`, whether or not it is there."""
        return self.directory / key[:2] / f"{key}.o"

    def load(self, key: str) -> CompiledObject | None:
        """The entry, or None when it is missing, unreadable, truncated or damaged."""
        try:
            content = self.path(key).read_bytes()
        except OSError:
            return None
        header, checksum, payload = (
            content[: len(_MAGIC)],
            content[len(_MAGIC) :][:32],
            content[len(_MAGIC) + 32 :],
        )
        if header != _MAGIC or hashlib.sha256(payload).digest() != checksum:
            return None
        symbol, _, data = payload.partition(b"\0")
        return CompiledObject(symbol.decode(errors="replace"), data)

    def store(self, key: str, compiled: CompiledObject) -> bool:
        """Write the entry whole; False when the folder cannot be written (full, read-only)."""
        payload = compiled.symbol.encode() + b"\0" + compiled.data
        path, temporary = self.path(key), ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(payload).digest() + payload)
            os.replace(temporary, path)
        except OSError:
            if temporary and os.path.exists(temporary):
                os.unlink(temporary)
            return False
        return True

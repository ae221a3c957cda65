"""The modules of a package by name, for code that imports all of them.

pkgutil.iter_modules finds none if the folder cannot be opened, such as when a process has too many files open, and says
nothing of it. Then a program would run as if the package was empty, so here that is an error.
"""

from __future__ import annotations

import errno
import importlib
import os
import pkgutil
from collections.abc import Iterable, Iterator
from importlib.machinery import all_suffixes
from zipimport import zipimporter


def import_all(package: str, paths: Iterable[str]) -> None:
    """Imports every module of a package, which lies in these folders, and of the packages in it.

    OSError if a folder cannot be read, ImportError if nothing is there.
    """
    found = {name for path in paths for name in _modules(path)} - {"__init__"}
    if not found:
        raise ImportError(f"The package {package} has no modules: it was not installed whole.")
    for name in sorted(found):
        module = importlib.import_module(f"{package}.{name}")
        if hasattr(module, "__path__"):
            import_all(module.__name__, module.__path__)


def _modules(path: str) -> Iterator[str]:
    """The names of the modules in a folder, or in a folder of an archive."""
    if isinstance(pkgutil.get_importer(path), zipimporter):
        yield from (module.name for module in pkgutil.iter_modules([path]))
        return
    with os.scandir(path) as entries:
        for entry in entries:
            suffix = next((s for s in all_suffixes() if entry.name.endswith(s)), "")
            if suffix:
                yield entry.name.removesuffix(suffix)
            elif entry.is_dir() and os.path.exists(os.path.join(entry.path, "__init__.py")):
                yield entry.name


def exhausted(error: BaseException) -> str:
    """Which resource has run out, such as files, and what to do, as an error or its cause says; "" for other errors."""
    seen: BaseException | None = error
    while seen is not None:
        code = getattr(seen, "errno", None)
        text = str(seen)
        if code == errno.EMFILE or "Too many open files" in text and code != errno.ENFILE:
            return f"this process may not open more files than it has open (ulimit -n{_limit()}): raise that limit"
        if code == errno.ENFILE:
            return "this machine has too many files open (sysctl fs.file-max)"
        if code == errno.ENOSPC:
            return "a disk, or /dev/shm, is full"
        if code == errno.ENOMEM or isinstance(seen, MemoryError):
            return "there is not enough memory"
        if isinstance(seen, RuntimeError) and "can't start new thread" in text:
            return "this user or container may have no more threads (ulimit -u)"
        seen = seen.__cause__ or seen.__context__
    return ""


def _limit() -> str:
    try:
        import resource

        return f", now {resource.getrlimit(resource.RLIMIT_NOFILE)[0]}"
    except (ImportError, OSError):
        return ""

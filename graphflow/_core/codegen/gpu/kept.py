"""Numba's compiled kernels on disk, signed. Numba's own cache would load pickles, whoever had written them.

Numba asks its cache for a kernel by the types of its arguments before it compiles, and hands it what it has compiled.
This one keeps each in a signed file (signed_files.py), whose bytes are looked at before they are unpickled.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from graphflow._core.common.files.signed_files import SignedFolder, cache_home


@cache
def _files(folder: Path) -> SignedFolder:
    return SignedFolder(folder, ".kernel")


class KeptKernels:
    """What a kernel of numba.cuda takes for its cache. name: of everything that its machine code depends on, beside the
    types of its arguments, the chip, and the versions of Python and Numba.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._files = _files(cache_home().folder / "cuda")

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(self._files.directory)

    def _entry(self, signature: Any, codegen: Any) -> str:
        version = import_module("importlib.metadata").version
        parts = (self._name, signature, codegen.magic_tuple(), platform.python_version())
        text = repr((*parts, version("numba"), version("numba-cuda"), version("llvmlite")))
        return hashlib.sha256(text.encode()).hexdigest()

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The kernel for some types of arguments, None if there is none that this user's programs have made."""
        target_context.refresh()
        content = self._files.load(self._entry(signature, target_context.codegen()))
        if content is None:
            return None
        return import_module("numba.cuda.dispatcher")._Kernel._rebuild(**pickle.loads(content))

    def save_overload(self, signature: Any, kernel: Any) -> None:
        """Keeps a kernel, but one that depends on how it is launched, which its types do not say."""
        if getattr(kernel, "launch_config_sensitive", False):
            return
        content = import_module("numba.cuda.serialize").dumps(kernel._reduce_states())
        self._files.store(self._entry(signature, kernel.codegen), content)

    def enable(self) -> None:
        """Nothing is to be done: it is always used."""

    def disable(self) -> None:
        """Is never asked for."""

    def flush(self) -> None:
        """Nothing waits to be written."""

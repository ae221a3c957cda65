"""Kernels that read and write files."""

from __future__ import annotations

import glob
import os
from typing import Any

import numpy as np

from graphflow._core.checkpoint.atomic import os_error, write_atomically
from graphflow._core.common.files import storage
from graphflow._core.common.files.paths import user_path
from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel
from graphflow._core.resources.compressed import read_whole
from graphflow.errors import NotFoundError


def _path(filename: Any) -> str:
    names = np.asarray(filename, object)
    if names.size != 1:
        raise invalid(f"Input filename tensor must be scalar but had shape: {list(names.shape)}")
    return user_path(names.item())


@kernel("ReadFile", stateful=True)
def _read_file(node: Node) -> Kernel:
    def read(run: Any, filename: Any) -> Any:
        path = _path(filename)
        try:
            with storage.opened(path) as file:
                return np.array(read_whole(file, path), object)
        except OSError as error:
            raise os_error(error, path, "Cannot read") from error
        except ValueError as error:  # a zero byte in the name
            raise invalid(f"Cannot read {path!r}: {error}") from error

    return read


@kernel("WriteFile", stateful=True)
def _write_file(node: Node) -> Kernel:
    def write(run: Any, filename: Any, contents: Any) -> None:
        path = _path(filename)
        try:
            storage.make_folders(storage.folder_of(path))
            write_atomically(path, np.asarray(contents, object).item())
        except OSError as error:
            raise os_error(error, path, "Cannot write") from error
        except ValueError as error:
            raise invalid(f"Cannot write {path!r}: {error}") from error

    return write


@kernel("MatchingFiles", stateful=True)
def _matching_files(node: Node) -> Kernel:
    def match(run: Any, pattern: Any) -> Any:
        found: set[str] = set()
        for item in np.asarray(pattern, object).reshape(-1):
            text = user_path(item)
            folder = storage.folder_of(text)
            if folder and not glob.has_magic(folder) and not storage.is_folder(folder):
                raise NotFoundError(None, None, f"{folder}; No such file or directory")
            found.update(storage.matching(text))
        names = np.empty(len(found), object)
        names[:] = sorted(map(os.fsencode, found))
        return names

    return match

"""Files that lie beside a program's modules (tf.resource_loader)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.graph.elements import user_line


def get_data_files_path() -> str:
    """The folder of the file that calls this."""
    return os.path.dirname(os.path.abspath(user_line()[0]))


def get_path_to_datafile(path: str) -> str:
    """A path relative to the folder of the file that calls this.

    Args:
        path: Relative to the caller's file.
    """
    return os.path.join(get_data_files_path(), path)


def load_resource(path: str) -> bytes:
    """The content of a file, its path relative to the folder of the file that calls this.

    Args:
        path: Relative to the program's folder.
    """
    with open(get_path_to_datafile(path), "rb") as file:
        return file.read()


if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.resource_loader", globals())

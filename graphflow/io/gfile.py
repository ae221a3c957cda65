"""Files and folders under the names of Python's os (tf.io.gfile); what they do is said in gf.gfile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import graphflow.errors as errors
from graphflow._core.common.namespaces import missing as _missing
from graphflow.gfile import Copy as copy
from graphflow.gfile import DeleteRecursively as rmtree
from graphflow.gfile import Exists as exists
from graphflow.gfile import GFile as GFile
from graphflow.gfile import Glob as glob
from graphflow.gfile import IsDirectory as isdir
from graphflow.gfile import ListDirectory as listdir
from graphflow.gfile import MakeDirs as makedirs
from graphflow.gfile import MkDir as mkdir
from graphflow.gfile import Remove as remove
from graphflow.gfile import Rename as rename
from graphflow.gfile import Stat as stat
from graphflow.gfile import Walk

if TYPE_CHECKING:
    from os import PathLike


def walk(
    top: str | bytes | PathLike[str],
    topdown: bool = True,
    onerror: Callable[[errors.OpError], Any] | None = None,
) -> Iterator[tuple[str, list[str], list[str]]]:
    """(folder, folders in it, files in it) of a folder and all below (tf.io.gfile.walk).

    Args:
        top: The folder.
        topdown: Outer ones first.
        onerror: Gets a NotFoundError if there is no such folder.

    Returns:
        An iterator of (folder, names of folders, names of files).
    """
    if not isdir(top):
        if onerror is not None:
            onerror(errors.NotFoundError(None, None, f"Could not find directory {top!s}"))
        return
    yield from Walk(top, in_order=topdown)


__all__ = [
    "GFile", "copy", "exists", "glob", "isdir", "listdir", "makedirs", "mkdir", "remove", "rename", "rmtree", "stat",
    "walk",
]  # fmt: skip
if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.io.gfile", globals())

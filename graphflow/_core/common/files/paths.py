"""Paths as users give them: of the local file system, with "file://" before them or without."""

from __future__ import annotations

import os
import re
from os import PathLike
from typing import Final

import graphflow.errors as errors

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")


def local_path(path: str | bytes | PathLike[str] | PathLike[bytes]) -> str:
    """The path itself, without "file://"; UnimplementedError if it has another scheme, such as "s3://".

    Whatever takes a path of the user asks here: "s3://bucket" is also the name of a folder "s3:", into which a
    checkpoint would go without a word.
    """
    text = os.fsdecode(path)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return text
    if scheme[1].lower() == "file":
        return text[scheme.end() :]
    raise errors.UnimplementedError(
        None,
        None,
        f"File system scheme '{scheme[1]}' not implemented (file: '{text}'): only local files are. "
        "Use a folder of a file system that is mounted, or copy the files.",
    )

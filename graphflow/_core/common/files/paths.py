"""Paths as users give them: of the local file system, with "file://" before them or without, or of another one."""

from __future__ import annotations

import os
import re
from functools import cache
from importlib.util import find_spec
from os import PathLike
from typing import Final

import graphflow.errors as errors
from graphflow._core.common.distribution import to_install

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://")


def user_path(path: str | bytes | PathLike[str] | PathLike[bytes]) -> str:
    """The path itself, without "file://"; one with another scheme, such as "s3://", is for `storage`.

    Whatever takes a path of the user asks here: "s3://bucket" is also the name of a folder "s3:", into which a
    checkpoint would go without a word.

    Args:
        path: The path, as the user gave it.

    Returns:
        The path as a text.

    Raises:
        UnimplementedError: It has another scheme, and fsspec, through which such files are reached, or the package that
            fsspec has for it, is not installed.
    """
    text = os.fsdecode(path)
    scheme = scheme_of(text)
    if scheme == "file":
        return text[len("file://") :]
    if scheme:
        _check(scheme, text)
    return scheme + text[len(scheme) :]  # fsspec knows small letters only.


def _check(scheme: str, text: str) -> None:
    if find_spec("fsspec") is None:
        raise errors.UnimplementedError(
            None,
            None,
            f"File system scheme '{scheme}' not implemented (file: '{text}'): without fsspec only local files are. "
            f"{to_install('remote')}, and the package that fsspec has for '{scheme}' (s3fs, gcsfs, pyarrow, ...); "
            "or use a folder of a file system that is mounted.",
        )
    try:
        _known(scheme)
    except (ImportError, ValueError) as error:
        raise not_implemented(text, error) from error


def not_implemented(path: str, error: Exception) -> errors.UnimplementedError:
    """The error for a path whose scheme fsspec does not know, or has no package for; it says which is missing."""
    text = f"File system scheme '{scheme_of(path)}' not implemented (file: '{path}'): {error}."
    return errors.UnimplementedError(None, None, text)


@cache
def _known(scheme: str) -> None:
    """ImportError if a package is missing, ValueError if fsspec knows no such scheme."""
    import fsspec

    fsspec.get_filesystem_class(scheme)


def scheme_of(path: str) -> str:
    """The scheme of a path in small letters, "s3" of "s3://bucket/a"; "" of a path without."""
    found = _SCHEME.match(path)
    return "" if found is None else found[1].lower()

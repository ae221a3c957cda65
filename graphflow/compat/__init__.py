"""Text and bytes, and the functions of TensorFlow's two versions, as tf.compat.

graphflow has TensorFlow 1's interface, so `compat.v1` is graphflow itself: a program that imports
tensorflow.compat.v1 needs only another name. Of version 2 there are the functions that version 1 has under other names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

import graphflow as v1
from graphflow._core.common.namespaces import missing as _missing
from graphflow.compat import v2

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.compat", globals())


integral_types = (int, np.integer)
real_types = (int, float, np.integer, np.floating)
complex_types = (int, float, complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: str | bytes | bytearray, encoding: str = "utf-8") -> bytes:
    """Text encoded, bytes as they are (tf.compat.as_bytes).

    Args:
        bytes_or_text: Bytes or text.
        encoding: The encoding.

    Returns:
        Bytes.

    Raises:
        TypeError: For anything else.
    """
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Bytes decoded, text as it is (tf.compat.as_text).

    Args:
        bytes_or_text: Bytes or text.
        encoding: The encoding.

    Returns:
        Text.

    Raises:
        TypeError: For anything else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: object) -> str:
    """Bytes decoded, anything else as str() writes it (tf.compat.as_str_any).

    Args:
        value: Anything.

    Returns:
        Text.
    """
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: object) -> Any:
    """A path object as text, anything else as it is (tf.compat.path_to_str).

    Args:
        path: A path in any form.

    Returns:
        Text, or what it is.
    """
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "integral_types",
    "path_to_str",
    "real_types",
    "v1",
    "v2",
]

"""How many bytes one file may make of itself: what a few of its bytes ask for is bounded before it is allocated.

A picture says its size in its head, a compressed record can be a thousand times as long as its file. So nothing that is
decoded takes more than `most_bytes` by default, whatever the file says.
"""

from __future__ import annotations

import os
from typing import Final

import graphflow.errors as errors

VARIABLE: Final = "GRAPHFLOW_MOST_BYTES"
_DEFAULT: Final = 1 << 30


def most_bytes() -> int:
    """The bytes that one picture, record, line or repeated constant may take: 1 GiB, or what the environment says.

    InvalidArgumentError if GRAPHFLOW_MOST_BYTES is no number.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return _DEFAULT
    if not text.isdecimal() or not text.isascii():
        raise errors.InvalidArgumentError(None, None, f"{VARIABLE} must be a number of bytes, not {text!r}.")
    return int(text)


def too_large(what: str, size: int | str) -> str:
    """The sentence for what would take more bytes than are allowed; it says how to allow more."""
    return (
        f"{what} takes {size} bytes, more than the {most_bytes()} that are allowed. If that is meant, set the "
        f"environment variable {VARIABLE} to as many bytes."
    )


def check_size(what: str, size: int) -> None:
    """InvalidArgumentError if something would take more bytes than are allowed."""
    if size > most_bytes():
        raise errors.InvalidArgumentError(None, None, too_large(what, size))

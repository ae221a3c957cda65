"""Functions of the bits of integers, as tf.bitwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.ops.math.numeric import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    right_shift,
)

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.bitwise", globals())

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]

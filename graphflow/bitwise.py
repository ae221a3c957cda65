"""Functions of the bits of integers, as tf.bitwise."""

from __future__ import annotations

from graphflow._core.common.namespaces import missing
from graphflow._core.ops.math.numeric import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    invert,
    left_shift,
    right_shift,
)

__getattr__ = missing("gf.bitwise", globals())

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]

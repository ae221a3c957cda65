"""Protects make_tensor_proto and make_ndarray: what one writes the other reads, with TensorFlow's dtypes and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.mark.parametrize(
    ("values", "arguments", "dtype", "expected"),
    [
        (1, {}, "int32", 1),
        (1.5, {}, "float32", 1.5),
        ("a", {}, "object", b"a"),
        (["a", b"b"], {}, "object", [b"a", b"b"]),
        ([[1, 2], [3, 4]], {"dtype": gf.float32}, "float32", [[1.0, 2.0], [3.0, 4.0]]),
        ([1, 2], {"shape": [3]}, "int32", [1, 2, 2]),
        (5, {"dtype": "int64", "shape": [2, 2]}, "int64", [[5, 5], [5, 5]]),
        ([], {}, "float32", []),
        ([True, False], {}, "bool", [True, False]),
        ([1 + 2j], {}, "complex128", [1 + 2j]),
        (np.float64(2.0), {}, "float64", 2.0),
        (np.arange(3, dtype=np.uint8), {}, "uint8", [0, 1, 2]),
        (np.zeros([2, 0], np.float16), {}, "float16", [[], []]),
    ],
)
def test_what_is_written_is_read(values: Any, arguments: Any, dtype: str, expected: Any) -> None:
    proto = gf.make_tensor_proto(values, **arguments)
    copy = gf.protos.tensor_pb2.TensorProto.FromString(proto.SerializeToString())
    found = gf.make_ndarray(copy)
    assert found.dtype == dtype and found.tolist() == expected


@pytest.mark.parametrize(
    ("values", "arguments", "error", "said"),
    [
        (None, {}, ValueError, "None values not supported"),
        ([1, 2, 3], {"shape": [2]}, ValueError, "Too many elements"),
        (2.5, {"dtype": gf.int32}, TypeError, "Expected int32"),
        ([1, 2], {"shape": [4], "verify_shape": True}, TypeError, "Expected Tensor's shape"),
        ([[1], [2, 3]], {}, ValueError, "different lengths"),
    ],
)
def test_what_cannot_be_written_is_said(values: Any, arguments: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        gf.make_tensor_proto(values, **arguments)


def test_a_message_that_does_not_hold_together_is_refused() -> None:
    proto = gf.make_tensor_proto([1, 2, 3])
    proto.tensor_shape.dim[0].size = 4
    with pytest.raises(ValueError, match="takes 16 bytes, but has 12"):
        gf.make_ndarray(proto)
    assert gf.contrib.util.make_ndarray is gf.make_ndarray

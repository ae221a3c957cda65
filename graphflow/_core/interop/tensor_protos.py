"""Arrays as TensorProto messages and back, as programs make them that ask a server for a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow import protos
from graphflow._core.graph.attributes import tensor_from_proto, tensor_to_proto
from graphflow._core.graph.types import DTypeLike, ShapeLike, TensorLike
from graphflow._core.ops.core import constant_array


def make_tensor_proto(
    values: TensorLike,
    dtype: DTypeLike | None = None,
    shape: ShapeLike = None,
    verify_shape: bool = False,
    allow_broadcast: bool = False,
) -> Any:
    """Values as a TensorProto (tf.make_tensor_proto).

    Args:
        values: A number, text, truth value, NumPy array, or nested lists of these.
        dtype: The type of the elements; as for `gf.constant` if it is not given.
        shape: The shape; the last value fills what is missing. By default that of the values.
        verify_shape: Whether the values must have `shape` already.
        allow_broadcast: Taken for TensorFlow's sake, which fills a shape in any case.

    Returns:
        A message gf.protos.tensor_pb2.TensorProto.

    Raises:
        ValueError: The values are None, there are more than `shape` has room for, or nested lists are
            uneven.
        TypeError: A value is a tensor, or not of the dtype; with verify_shape, the shapes differ.
        ModuleNotFoundError: The messages are not installed; says which package has them.
    """
    if values is None:
        raise ValueError("None values not supported.")
    proto = protos.tensor_pb2.TensorProto()
    tensor_to_proto(constant_array(values, dtype, shape, verify_shape), proto)
    return proto


def make_ndarray(tensor: Any) -> np.ndarray[Any, Any]:
    """The array in a TensorProto, strings as objects of bytes (tf.make_ndarray).

    Args:
        tensor: A TensorProto.

    Returns:
        An array.

    Raises:
        ValueError: The message does not hold together, or its dtype is none that an array may have.
    """
    array: np.ndarray[Any, Any] = tensor_from_proto(tensor)
    return array

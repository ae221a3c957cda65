"""Small functions of tensorflow.python that programs build graphs with: of framework.ops, cells and metrics."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.joining import concat
from graphflow._core.ops.array.shaping import expand_dims, reshape
from graphflow._core.ops.core import constant, constant_value, convert_to_tensor
from graphflow._core.ops.math.math import cast
from graphflow._core.ops.math.sorting import confusion_matrix
from graphflow._core.ops.state.state import assign_add
from graphflow.as_tensorflow.age import ArgSpec
from graphflow.metrics.averages import metric_variable

_NUMBERS: Final = itertools.count(1)


def uid() -> int:
    """A number that no other call in this process gave (framework.ops.uid)."""
    return next(_NUMBERS)


def convert_to_tensor_v2(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """A tensor of a value (framework.ops.convert_to_tensor_v2).

    Args:
        value: A tensor, or what a constant is made of.
        dtype: What it must be.
        dtype_hint: What it is to be, if it can be that.
        name: A name for a constant.
    """
    return convert_to_tensor(value, dtype=dtype, name=name, preferred_dtype=dtype_hint)


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """The length of an axis after a window has gone over it (tensorflow.python.layers.utils.conv_output_length).

    Args:
        input_length: Its length before; None if that is not known.
        filter_size: The size of the window.
        padding: "valid", "same" or "full".
        stride: The steps from one window to the next.
        dilation: The distance of a window's elements.
    """
    if input_length is None:
        return None
    reach = filter_size + (filter_size - 1) * (dilation - 1)
    length = {"same": input_length, "valid": input_length - reach + 1, "full": input_length + reach - 1}[
        padding
    ]
    return (length + stride - 1) // stride


def concatenated_shape(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """One shape behind another (rnn_cell_impl._concat).

    Args:
        prefix: A size, a shape, or a tensor of these.
        suffix: Another.
        static: Whether a list of what is known is wanted, and not a tensor.

    Returns:
        A tensor of int32; a list, or None if nothing is known, if static.

    Raises:
        ValueError: A tensor of more than one axis, or a shape that is not known where a tensor is wanted.
    """
    if static:
        parts = [TensorShape(_known(part, where)) for part, where in ((prefix, "prefix"), (suffix, "suffix"))]
        shape = parts[0].concatenate(parts[1])
        return None if shape.ndims is None else shape.as_list()
    return concat([_vector(prefix, "prefix"), _vector(suffix, "suffix")], 0)


def _known(part: Any, where: str) -> Any:
    if not isinstance(part, Tensor):
        return part if isinstance(part, list | tuple | TensorShape) else [part]
    value = constant_value(_vector(part, where))
    return None if value is None else value.tolist()


def _vector(part: Any, where: str) -> Tensor:
    if isinstance(part, Tensor):
        if part.shape.ndims == 0:
            return expand_dims(part, 0)
        if part.shape.ndims != 1:
            raise ValueError(f"{where} tensor must be either a scalar or vector, but saw tensor: {part}")
        return part
    shape = TensorShape(part if isinstance(part, list | tuple | TensorShape) else [part])
    if not shape.is_fully_defined():
        raise ValueError(
            f"Provided a {where} of None: it must be known where a tensor is wanted, got {shape}."
        )
    return constant(shape.as_list(), dtypes.int32)


def streaming_confusion_matrix(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> tuple[Any, Any]:
    """How often each class was taken for each (metrics_impl._streaming_confusion_matrix).

    Args:
        labels: The true classes.
        predictions: The classes that were found, of the labels' shape.
        num_classes: How many there are.
        weights: How much each counts.

    Returns:
        The variable of the sums, float64, and the operation that adds a batch to it.
    """
    total = metric_variable([num_classes, num_classes], dtypes.float64, "total_confusion_matrix")
    matrix = confusion_matrix(
        reshape(cast(labels, dtypes.int64), [-1]),
        reshape(cast(predictions, dtypes.int64), [-1]),
        num_classes,
        dtype=dtypes.float64,
        weights=None if weights is None else reshape(cast(weights, dtypes.float64), [-1]),
    )
    return total, assign_add(total, matrix)


def getargspec(obj: Callable[..., Any]) -> ArgSpec:
    """The names and defaults of a function's arguments but for keyword-only ones (tf_inspect.getargspec).

    Args:
        obj: The function.
    """
    found = inspect.getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


_REGISTERED: Final[dict[str, tuple[Any, Callable[..., Any] | None, Callable[..., Any] | None]]] = {}


def register_proto_function(
    collection_name: str,
    proto_type: Any = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Says how what is in a collection becomes a message (framework.ops.register_proto_function).

    Args:
        collection_name: The collection.
        proto_type: The message's class.
        to_proto: What makes a message of an object.
        from_proto: What makes an object of a message.

    Raises:
        TypeError: A function is none.
    """
    for function, which in ((to_proto, "to_proto"), (from_proto, "from_proto")):
        if function is not None and not callable(function):
            raise TypeError(f"{which} must be callable.")
    _REGISTERED[collection_name] = (proto_type, to_proto, from_proto)

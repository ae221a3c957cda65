"""What the operations of datasets take beside datasets: sizes, seeds and shapes to pad to, as tensors."""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import get_seed
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.core import constant, constant_value, convert_to_tensor
from graphflow._core.ops.math.comparison import equal, logical_and

MAX_INT32: Final = 2**31 - 1


def as_int64(value: Any, name: str) -> Tensor:
    """A number as a tensor of int64."""
    return convert_to_tensor(value, dtype=dtypes.int64, name=name)


def as_bool(value: Any, name: str) -> Tensor:
    """A truth value as a tensor."""
    return convert_to_tensor(value, dtype=dtypes.bool_, name=name)


def known_size(size: Tensor, drop: Tensor) -> int | None:
    """The size of every batch, if that is known."""
    known = constant_value(size)
    return int(known) if known is not None and constant_value(drop) else None


def seeds_of(seed: Any) -> tuple[Tensor, Tensor]:
    """The two seeds of a shuffle, as TensorFlow builds them."""
    first, second = get_seed(seed)
    graph = get_default_graph()
    if first is None or second is None:
        return constant(0, dtypes.int64, name="seed"), constant(0, dtypes.int64, name="seed2")
    one = as_int64(first, "seed")
    with graph.name_scope("seed2") as scope:
        two = constant(second, dtypes.int64)
        none = logical_and(
            equal(one, constant(0, dtypes.int64, name="Equal/y")),
            equal(two, constant(0, dtypes.int64, name="Equal_1/y")),
        )
        return one, where(none, constant(MAX_INT32, dtypes.int64), two, name=scope)


def padded_shape(shape: Any, known: TensorShape) -> Tensor:
    """The shape to pad to as a tensor, in which -1 stands for the largest of the batch; known: of the component."""
    if isinstance(shape, Tensor):
        return _padded_tensor(shape, known)
    if isinstance(shape, list | tuple):
        if any(isinstance(size, list | tuple) for size in shape):
            return _padded_tensor(convert_to_tensor(shape, dtype=dtypes.int64, name="padded_shapes"), known)
        shape = [None if isinstance(size, int) and size < 0 else size for size in shape]
    dims = shapes.as_dims(shape)
    if dims is None:
        raise ValueError("padded_shapes must have a known rank for each component.")
    _check_padded(dims, known)
    return constant(
        [-1 if size is None else size for size in dims], dtypes.int64, shape=[len(dims)], name="padded_shapes"
    )


def _padded_tensor(shape: Tensor, known: TensorShape) -> Tensor:
    what = f"Padded shape {shape} must be a 1-D tensor of tf.int64 values, but its"
    if shape.dims is not None and len(shape.dims) != 1:
        raise ValueError(f"{what} shape was {shape.shape}.")
    if shape.dtype is not dtypes.int64:
        raise TypeError(f"{what} element type was {shape.dtype.name}.")
    _check_padded(known_shape(shape).raw, known)
    return shape


def _check_padded(dims: shapes.Dims, known: TensorShape) -> None:
    """ValueError if a component of a shape cannot be padded to one."""
    if dims is None or known.raw is None:
        return
    too_small = (
        size is not None and padded is not None and padded < size
        for size, padded in zip(known.raw, dims, strict=False)
    )
    if len(known.raw) != len(dims) or any(too_small):
        raise ValueError(
            f"The padded shape {shapes.text(dims)} is not compatible with the corresponding input component shape "
            f"{known}."
        )


def known_shape(shape: Tensor) -> TensorShape:
    """What is known of a shape that a tensor says."""
    known = constant_value(shape)
    if known is not None:
        return TensorShape([None if n < 0 else int(n) for n in known])
    (rank,) = shape.dims or (None,)
    return TensorShape(None if rank is None else [None] * rank)


def padding_value(value: Any, dtype: dtypes.DType) -> Tensor:
    """What is padded with, by default 0, False or ""."""
    if value is None:
        value = "" if dtype is dtypes.string else False if dtype.is_bool else 0
    tensor = convert_to_tensor(value, dtype=dtype, name="padding_value")
    if tensor.dims not in ((), None):
        raise ValueError(f"A padding value must be a scalar, got the shape {tensor.shape}.")
    return tensor

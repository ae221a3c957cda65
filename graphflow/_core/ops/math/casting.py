"""Conversion to another dtype."""

from __future__ import annotations

from typing import Any, Protocol, overload

import graphflow._core.ops.core as core
from graphflow._core.common.shown.docstrings import document
from graphflow._core.graph import dtypes
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import Signature, op_def
from graphflow._core.graph.slices import IndexedSlices, SparseTensor
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.core import (
    apply,
    convert_to_tensor,
    dtype_of_tensors,
    op_scope,
    register_tensor_conversion_function,
)
from graphflow.errors import UnimplementedError


def _cast_infer(op: Operation) -> Signature:
    source, target = op.inputs[0].dtype, op.attrs["DstT"]
    op.attrs.setdefault("SrcT", source)
    for dtype in (source, target):
        if not dtype.is_numpy_compatible or dtype is dtypes.string:
            raise UnimplementedError(
                None,
                op,
                f"{op.describe()}: Cast {source.name} to {target.name} is not supported. "
                f"Built at {op.line[0]}:{op.line[1]}.",
            )
    return [(target, op.inputs[0].dims)]


def _cast_gradient(op: Operation, g: Tensor) -> tuple[Tensor | None]:
    source = op.inputs[0].dtype
    continuous = source.is_floating or source.is_complex
    return (cast(g, source) if continuous and (g.dtype.is_floating or g.dtype.is_complex) else None,)


CAST = op_def(
    "Cast",
    ("x: any",),
    infer=_cast_infer,
    gradient=_cast_gradient,
    scalar="cast({x}, {@DstT})",
    partial_value=lambda op: core.partial_value(op.inputs[0]) if op.attrs["DstT"].is_integer else None,
)


@overload
def cast(x: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor: ...
# IndexedSlices can become a tensor too, but here remain what they are.
@overload
def cast(x: IndexedSlices, dtype: DTypeLike, name: str | None = None) -> IndexedSlices: ...  # type: ignore[overload-overlap]
@overload
def cast(x: SparseTensor, dtype: DTypeLike, name: str | None = None) -> SparseTensor: ...
@overload
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor: ...
def cast(
    x: TensorLike | SparseTensor, dtype: DTypeLike, name: str | None = None
) -> Tensor | SparseTensor | IndexedSlices:
    """The values as another dtype (tf.cast).

    Args:
        x: A tensor, SparseTensor or IndexedSlices of numbers or truth values.
        dtype: The dtype wanted. Floats are truncated towards zero to integers, integers wrap, anything but 0 is
            True, and True is 1.
        name: A name for the operation.

    Returns:
        What was given, of that dtype; itself if it has the dtype already.

    Raises:
        TypeError: There is no such dtype.
        UnimplementedError: `x` is text.

    Examples:
        >>> gf.Session().run(gf.cast([1.7, -1.7], gf.int32))
        array([ 1, -1], dtype=int32)
    """
    target = as_dtype(dtype)
    if isinstance(x, Tensor) and x.dtype is target:
        return x
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, cast(x.values, target, name), x.dense_shape)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(cast(x.values, target, name), x.indices, x.dense_shape)
    with op_scope(name, "Cast", (x,)) as scope:
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype is target:
            return tensor
        return apply(CAST, (tensor,), {"DstT": target, "Truncate": False}, scope).outputs[0]


def _cast_inside(value: Any, dtype: DType) -> Any:
    if isinstance(value, list | tuple):
        return [_cast_inside(item, dtype) for item in value]
    return cast(value, dtype) if dtype_of_tensors(value) is not None else value


def _list_of_another_dtype(value: Any, dtype: DType | None, name: str | None, as_ref: bool) -> Any:
    """A list with tensors of another dtype than the one wanted: they are cast, as TensorFlow does."""
    found = None if dtype is None else dtype_of_tensors(value)
    if dtype is None or found is None or found is dtype:
        return NotImplemented
    return convert_to_tensor(_cast_inside(value, dtype), dtype, name)


register_tensor_conversion_function((list, tuple), _list_of_another_dtype)


class _Conversion(Protocol):
    """gf.cast to one dtype."""

    @overload
    def __call__(self, x: TensorLike, name: str | None = ...) -> Tensor: ...
    @overload
    def __call__(self, x: SparseTensor, name: str | None = ...) -> SparseTensor: ...


def _converter(dtype: DType, default_name: str, example: tuple[str, str] | None = None) -> _Conversion:
    def convert(x: TensorLike | SparseTensor, name: str | None = default_name) -> Any:
        return cast(x, dtype, name)

    convert.__name__ = (
        f"to_{'double' if dtype is dtypes.float64 else 'float' if dtype is dtypes.float32 else dtype.name}"
    )
    convert.__doc__ = document(
        f"gf.cast to {dtype.name} (tf.{convert.__name__}, deprecated there).",
        ("x", "name"),
        {"x": "A tensor or SparseTensor of numbers.", "name": "A name for the operation."},
        f"A tensor, or SparseTensor, of {dtype.name}.",
        example,
    )
    return convert


to_float: _Conversion = _converter(
    dtypes.float32,
    "ToFloat",
    ("gf.Session().run(gf.to_float([1, 2]))", "array([1., 2.], dtype=float32)"),
)


to_bfloat16: _Conversion = _converter(dtypes.bfloat16, "ToBFloat16")


to_double: _Conversion = _converter(dtypes.float64, "ToDouble")


to_int32: _Conversion = _converter(dtypes.int32, "ToInt32")


to_int64: _Conversion = _converter(dtypes.int64, "ToInt64")


to_complex64: _Conversion = _converter(dtypes.complex64, "ToComplex64")


to_complex128: _Conversion = _converter(dtypes.complex128, "ToComplex128")

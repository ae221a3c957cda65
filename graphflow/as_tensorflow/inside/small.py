"""Small functions of tensorflow.python that programs import, and that have no public name."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from os import PathLike
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import Dimension, TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.array.extents import SIZE, rank, size
from graphflow._core.ops.array.indexing import gather_nd
from graphflow._core.ops.array.shaping import RANK, SHAPE, shape
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope, partial_shape
from graphflow._core.ops.state.state import assign_add
from graphflow.gfile import GFile
from graphflow.train.saving.saveables import SaveableObject, SaveSpec, VariableSaveable
from graphflow.train.steps import get_global_step


class BaseSaverBuilder:
    """Holds what a program derives its own kinds of things to save from (tensorflow.python.training.saver)."""

    SaveableObject = SaveableObject
    SaveSpec = SaveSpec
    VariableSaveable = VariableSaveable
    ResourceVariableSaveable = VariableSaveable


def scalar() -> TensorShape:
    """The shape of no axes (tensorflow.python.framework.tensor_shape.scalar)."""
    return TensorShape([])


def vector(length: int | None) -> TensorShape:
    """The shape of one axis of this size, None if it is not known (tensor_shape.vector)."""
    return TensorShape([length])


def matrix(rows: int | None, cols: int | None) -> TensorShape:
    """The shape of two axes (tensor_shape.matrix)."""
    return TensorShape([rows, cols])


def unknown_shape(rank: int | None = None, **old: int | None) -> TensorShape:
    """A shape of unknown extents (tensor_shape.unknown_shape).

    Args:
        rank: The number of axes, None if it is unknown.
        old: `ndims`, the old name of `rank`.
    """
    rank = old.pop("ndims", rank)
    if old:
        raise TypeError(f"unknown_shape() got an unexpected keyword argument {next(iter(old))!r}")
    return TensorShape(None if rank is None else [None] * rank)


def as_dimension(value: Any) -> Dimension:
    """A Dimension of what is one, an int or None (tensor_shape.as_dimension)."""
    return value if isinstance(value, Dimension) else Dimension(value)


def dimension_value(dimension: Any) -> Any:
    """The int of a Dimension, or None if it is unknown; whatever else is given (tensor_shape.dimension_value)."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: TensorShape, index: int) -> Dimension:
    """The extent along an axis, unknown if the rank is (tensor_shape.dimension_at_index)."""
    return Dimension(None) if shape.ndims is None else shape[index]


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """The shape that a vector of integers holds, as far as it is known (tensor_util.constant_value_as_shape).

    Raises:
        ValueError: The tensor is no vector.
    """
    if tensor.dims is not None and len(tensor.dims) != 1:
        raise ValueError(f"Shape must be rank 1 for a tensor that holds a shape, but is {tensor.shape}.")
    return TensorShape(partial_shape(tensor))


def shape_tensor(shape: Any) -> Tensor:
    """A shape as a vector of integers (tensor_util.shape_tensor)."""
    extents = shape.as_list() if isinstance(shape, TensorShape) else shape
    empty = isinstance(extents, list | tuple) and not extents
    return convert_to_tensor(extents, dtype=dtypes.int32 if empty else None, name="shape")


def batch_gather_nd(
    params: TensorLike, indices: IntTensorLike, batch_dims: Any, name: str | None = None
) -> Tensor:
    """gf.gather_nd with axes that both have in common (array_ops.batch_gather_nd)."""
    return gather_nd(params, indices, name, batch_dims)


def read_file_to_string(filename: str | bytes | PathLike[str], binary_mode: bool = False) -> Any:
    """A file's whole content, text unless binary_mode (tensorflow.python.lib.io.file_io.read_file_to_string)."""
    with GFile(filename, "rb" if binary_mode else "r") as file:
        return file.read()


def write_string_to_file(filename: str | bytes | PathLike[str], file_content: str | bytes) -> None:
    """Writes a file with this content, over what it had (file_io.write_string_to_file)."""
    with GFile(filename, "w") as file:
        file.write(file_content)


def is_sparse(tensor: object) -> bool:
    """Whether something is a SparseTensor, or the value of one (sparse_tensor.is_sparse)."""
    return isinstance(tensor, SparseTensor | SparseTensorValue)


def increment_global_step(increment: Any, graph: Graph | None = None) -> Tensor | Operation:
    """An operation that adds to the global step (training_util._increment_global_step).

    Args:
        increment: How much.
        graph: Whose step; by default the default graph's.

    Returns:
        What assign_add gives.

    Raises:
        ValueError: There is no global step.
    """
    step = get_global_step(graph)
    if step is None:
        raise ValueError("There is no global step: call gf.train.create_global_step() first.")
    with (graph or get_default_graph()).as_default():
        return assign_add(step, increment)


def shape_internal(
    input: TensorLike | SparseTensor,
    name: str | None = None,
    optimize: bool = True,
    out_type: DTypeLike = dtypes.int32,
) -> Tensor:
    """The shape of a tensor (array_ops.shape_internal).

    Args:
        input: A tensor.
        name: A name for the operation.
        optimize: Whether a shape that is known is a constant.
        out_type: int32 or int64.

    Returns:
        A vector.
    """
    if optimize or isinstance(input, SparseTensor):
        return shape(input, name, out_type)
    return _computed(SHAPE, input, name, {"out_type": as_dtype(out_type)})


def size_internal(
    input: TensorLike | SparseTensor,
    name: str | None = None,
    optimize: bool = True,
    out_type: DTypeLike = dtypes.int32,
) -> Tensor:
    """The number of elements, a scalar; its arguments are those of shape_internal (array_ops.size_internal)."""
    if optimize or isinstance(input, SparseTensor):
        return size(input, name, out_type)
    return _computed(SIZE, input, name, {"out_type": as_dtype(out_type)})


def rank_internal(input: TensorLike | SparseTensor, name: str | None = None, optimize: bool = True) -> Tensor:
    """The number of axes, a scalar; its arguments are those of shape_internal (array_ops.rank_internal)."""
    if optimize or isinstance(input, SparseTensor):
        return rank(input, name)
    return _computed(RANK, input, name, {})


def _computed(definition: OpDef, input: TensorLike, name: str | None, attrs: dict[str, Any]) -> Tensor:
    """What an operation on a tensor's shape gives, even if it is known while the graph is built."""
    with op_scope(name, definition.name, [input]) as scope:
        return apply(definition, (convert_to_tensor(input, name="input"),), attrs, scope).outputs[0]


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """The names of what a function, or an object that is called, takes by position (function_utils.fn_args).

    Args:
        fn: The function; of a method of an object without self, of a partial one without what it has.
    """
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one.name for one in signature(fn).parameters.values() if one.kind in positional)


def is_ragged(value: Any) -> bool:
    """Whether a value has rows of different lengths (ragged_tensor.is_ragged): none has."""
    return False

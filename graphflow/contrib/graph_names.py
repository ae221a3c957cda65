"""Names and placeholders of graphs, and small checks (tf.contrib.framework)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue
from graphflow._core.graph.types import DTypeLike, SparseTensorLike, TensorLike
from graphflow._core.ops.array.creation import zeros_like
from graphflow._core.ops.array.shaping import PLACEHOLDER
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math.numeric import add_n
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.state import assign
from graphflow.train.steps import assert_global_step, get_global_step

_SCOPED: Final = r"([\^]|loc:@|^)"
"""What a scope stands behind."""


def get_name_scope() -> str:
    """The name scope that is open, such as "a/b"; "" outside of all (tf.contrib.framework.get_name_scope)."""
    return get_default_graph().get_name_scope()


def get_placeholders(graph: Graph) -> list[Tensor]:
    """The placeholders of a graph (tf.contrib.framework.get_placeholders).

    Args:
        graph: The graph.

    Returns:
        Their tensors, in the order of building.
    """
    return [op.outputs[0] for op in graph.get_operations() if op.op_def is PLACEHOLDER]


def strip_name_scope(name: str, export_scope: str | None) -> str:
    """A name without a scope that it begins with (tf.contrib.framework.strip_name_scope).

    Args:
        name: The name of an operation; "^" and "loc:@" may stand before it.
        export_scope: The scope, or None.

    Returns:
        The name inside of it.
    """
    if not export_scope:
        return name
    scope = re.escape(export_scope.rstrip("/"))
    return re.sub(rf"{_SCOPED}{scope}[/]+(.*)", r"\1\2", name, count=1)


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """A name inside of a scope (tf.contrib.framework.prepend_name_scope).

    Args:
        name: The name of an operation; "^" and "loc:@" may stand before it.
        import_scope: The scope, or None.

    Returns:
        The full name.
    """
    if not import_scope:
        return name
    return re.sub(rf"{_SCOPED}(.*)", rf"\1{import_scope.rstrip('/')}/\2", name, count=1)


def reduce_sum_n(tensors: Sequence[TensorLike], name: str | None = None) -> Tensor:
    """The sum of all elements of all tensors (tf.contrib.framework.reduce_sum_n).

    Args:
        tensors: Numbers of one dtype.
        name: A name for the operations.

    Returns:
        A scalar tensor.

    Raises:
        ValueError: If there is none.
    """
    if not tensors:
        raise ValueError("No tensors provided.")
    with op_scope(name, "reduce_sum_n", list(tensors)) as scope:
        sums = [reduce_sum(tensor) for tensor in tensors]
        return sums[0] if len(sums) == 1 else add_n(sums, name=scope)


def assert_scalar_int(tensor: TensorLike, name: str | None = None) -> Tensor:
    """The tensor, which has to be a scalar of int32 or int64 (tf.contrib.framework.assert_scalar_int).

    Args:
        tensor: The tensor.
        name: A name for the operation, if it is made a tensor.

    Returns:
        The tensor.

    Raises:
        ValueError: If it is not.
    """
    found = convert_to_tensor(tensor, name=name)
    if not found.dtype.is_integer:
        raise ValueError(f"Expected integer type for {found.name}, received type: {found.dtype}.")
    if found.dims not in (None, ()):
        raise ValueError(f"Expected scalar shape for {found.name}, saw shape: {found.shape}.")
    return found


def assert_or_get_global_step(graph: Graph | None = None, global_step_tensor: Any = None) -> Any:
    """A global step that is given, after a check, or that of the graph (tf.contrib.framework).

    Args:
        graph: The graph; by default the default graph.
        global_step_tensor: The global step, or None.

    Returns:
        The global step; None if there is none.

    Raises:
        TypeError: It is no scalar integer.
    """
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike | SparseTensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Tensor | SparseTensor:
    """A SparseTensor of a sparse value, a tensor of others (tf.contrib.framework.convert_to_tensor_or_sparse_tensor).

    Args:
        value: A SparseTensor, its value, or what can be made a tensor.
        dtype: The dtype wanted; None for the value's own.
        name: A name for the operation.

    Returns:
        A tensor or SparseTensor.

    Raises:
        RuntimeError: A SparseTensor has another dtype than asked for.
    """
    if isinstance(value, SparseTensor | SparseTensorValue):
        found = SparseTensor.from_value(value)
        if dtype is not None and found.dtype != dtype:
            raise RuntimeError(f"Sparse dtype: requested = {dtype}, actual = {found.dtype}")
        return found
    return convert_to_tensor(value, dtype=dtype, name=name)


def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Tensor:
    """Sets a variable to zeros, whether it has a value or not (tf.contrib.framework.zero_initializer).

    Args:
        ref: The variable.
        use_locking: Changes nothing.
        name: A name for the operation.

    Returns:
        The variable's new value.
    """
    return assign(ref, zeros_like(ref.initial_value), use_locking=use_locking, name=name)

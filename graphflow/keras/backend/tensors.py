"""Placeholders and constants, what is known of a tensor, updates of variables and gradients (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from graphflow._core.autodiff.gradients import gradients as gradients_of
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike, ShapeLike, TensorLike
from graphflow._core.ops.state.variable import Variable
from graphflow.keras import ops
from graphflow.keras.backend.settings import floatx
from graphflow.keras.typing import Tensors

_FED = frozenset({"Placeholder"})


def placeholder(
    shape: ShapeLike = None, ndim: int | None = None, dtype: DTypeLike | None = None, sparse: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
    """A placeholder of a shape, or of a number of axes (tf.keras.backend.placeholder).

    Args:
        shape: Its shape, None for sizes that are not known.
        ndim: The number of axes, if no shape is given.
        dtype: The dtype; by default that of K.floatx().
        sparse: Whether it is one of a SparseTensor.
        name: The name; by default one is made.

    Returns:
        A tensor that has to be fed, or a SparseTensor.
    """
    sizes: Any = [None] * ndim if shape is None and ndim is not None else shape
    make = ops.sparse_placeholder if sparse else ops.placeholder
    return make(dtype or floatx(), sizes, name=name)


def is_placeholder(x: TensorLike) -> bool:
    """Whether a tensor is a placeholder (tf.keras.backend.is_placeholder).

    Args:
        x: A tensor, or anything.

    Returns:
        True if it is.
    """
    return getattr(getattr(x, "op", None), "type", None) in _FED


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """A constant (tf.keras.backend.constant).

    Args:
        value: Numbers, an array or a list.
        dtype: The dtype; by default that of K.floatx().
        shape: The shape, which a single number fills; by default the value's.
        name: The name; by default one is made.

    Returns:
        A tensor.
    """
    return ops.constant(value, dtype or floatx(), shape, name or "Const")


def dtype(x: Any) -> str:
    """The name of a tensor's dtype (tf.keras.backend.dtype).

    Args:
        x: A tensor, variable or array.

    Returns:
        The name, such as "float32".
    """
    return str(x.dtype.name)


def int_shape(x: Any) -> Any:
    """The static shape as a tuple, None if it is not known (tf.keras.backend.int_shape).

    Args:
        x: A tensor or variable.

    Returns:
        A tuple with None for sizes that are not known, or None.
    """
    return None if x.shape.dims is None else tuple(x.shape.as_list())


def ndim(x: Any) -> int | None:
    """The number of axes (tf.keras.backend.ndim).

    Args:
        x: A tensor or variable.

    Returns:
        The number; None if it is not known.
    """
    return None if x.shape.dims is None else len(x.shape.dims)


def shape(x: TensorLike) -> Any:
    """The shape as a tensor (tf.keras.backend.shape).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A vector of ints.
    """
    return ops.shape(x)


def is_sparse(tensor: Any) -> bool:
    """Whether it is a SparseTensor (tf.keras.backend.is_sparse).

    Args:
        tensor: Anything.

    Returns:
        True if it is.
    """
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """A SparseTensor as a tensor (tf.keras.backend.to_dense).

    Args:
        tensor: A SparseTensor, or a tensor.

    Returns:
        A tensor of the same shape; one that is dense comes back as it is.
    """
    return ops.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def name_scope(name: str) -> AbstractContextManager[str]:
    """A name scope (tf.keras.backend.name_scope).

    Args:
        name: The scope's name, which the names of operations inside begin with.

    Returns:
        A context manager for `with`, which gives the full name.
    """
    scope: AbstractContextManager[str] = ops.name_scope(name)
    return scope


def cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Another dtype (tf.keras.backend.cast).

    Args:
        x: A tensor, or what becomes one, of any shape.
        dtype: The dtype, or its name.

    Returns:
        A tensor of the shape of `x`.
    """
    return ops.cast(x, dtype)


def update(x: Variable, new_x: TensorLike) -> Any:
    """Sets a variable (tf.keras.backend.update).

    Args:
        x: The variable.
        new_x: The new value, of the variable's shape.

    Returns:
        The new value, a tensor whose computation sets it.
    """
    return ops.assign(x, new_x)


def update_add(x: Variable, increment: TensorLike) -> Any:
    """Adds to a variable (tf.keras.backend.update_add).

    Args:
        x: The variable.
        increment: What is added, of the variable's shape.

    Returns:
        The new value, a tensor whose computation sets it.
    """
    return ops.assign_add(x, increment)


def update_sub(x: Variable, decrement: TensorLike) -> Any:
    """Subtracts from a variable (tf.keras.backend.update_sub).

    Args:
        x: The variable.
        decrement: What is subtracted, of the variable's shape.

    Returns:
        The new value, a tensor whose computation sets it.
    """
    return ops.assign_sub(x, decrement)


def moving_average_update(x: Variable, value: TensorLike, momentum: float) -> Any:
    """Moves a variable towards a value by 1 - momentum (tf.keras.backend.moving_average_update).

    Args:
        x: The variable.
        value: What it moves towards, of the variable's shape.
        momentum: How much of the old value stays, from 0 to 1.

    Returns:
        The new value, a tensor whose computation sets it.
    """
    return ops.assign_sub(x, (x - value) * (1.0 - momentum))


def gradients(loss: TensorLike, variables: Tensors) -> Any:
    """The gradients of a loss (tf.keras.backend.gradients).

    Args:
        loss: A tensor, usually a scalar.
        variables: Variables or tensors that it depends on.

    Returns:
        A list with the gradient by each; None for one that the loss does not depend on.
    """
    return gradients_of(loss, variables)


def stop_gradient(variables: Tensors) -> Any:
    """Tensors without gradient (tf.keras.backend.stop_gradient).

    Args:
        variables: A tensor, or a list of them.

    Returns:
        The same values, one or a list.
    """
    return (
        [ops.stop_gradient(v) for v in variables]
        if isinstance(variables, list | tuple)
        else ops.stop_gradient(variables)
    )


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Zeros of a tensor's shape (tf.keras.backend.zeros_like).

    Args:
        x: A tensor, or what becomes one, of any shape.
        dtype: The dtype; by default that of `x`.
        name: The name; by default one is made.

    Returns:
        A tensor of the shape of `x`.
    """
    return ops.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Ones of a tensor's shape (tf.keras.backend.ones_like).

    Args:
        x: A tensor, or what becomes one, of any shape.
        dtype: The dtype; by default that of `x`.
        name: The name; by default one is made.

    Returns:
        A tensor of the shape of `x`.
    """
    return ops.ones_like(x, dtype=dtype, name=name)


def print_tensor(x: TensorLike, message: str = "") -> Any:
    """The tensor, printed when it is computed (tf.keras.backend.print_tensor).

    Args:
        x: A tensor, or what becomes one, of any shape.
        message: What is printed before the values.

    Returns:
        A tensor of the value of `x`.
    """
    return ops.Print(ops.convert_to_tensor(x), [x], message)

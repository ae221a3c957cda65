"""Functions of tensors under Keras's names (tf.keras.backend)."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from graphflow._core.autodiff.gradients import gradients as gradients_of
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import DTypeLike, IntsLike, IntTensorLike, ShapeLike, TensorLike
from graphflow._core.ops.state.variable import Variable
from graphflow.keras import ops
from graphflow.keras.backend.settings import floatx
from graphflow.keras.typing import Tensors

_FED = frozenset({"Placeholder"})
Axis = int | Sequence[int] | None


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


# ---- element by element ---------------------------------------------------------------------------------------------


def abs(x: TensorLike) -> Any:
    """|x| (tf.keras.backend.abs).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.abs(x)


def square(x: TensorLike) -> Any:
    """x ** 2 (tf.keras.backend.square).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.square(x)


def sqrt(x: TensorLike) -> Any:
    """The root of x, of 0 where it is negative (tf.keras.backend.sqrt).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sqrt(ops.clip_by_value(x, 0.0, float("inf")))


def exp(x: TensorLike) -> Any:
    """The exponential (tf.keras.backend.exp).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.exp(x)


def log(x: TensorLike) -> Any:
    """The natural logarithm (tf.keras.backend.log).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.log(x)


def pow(x: TensorLike, a: TensorLike) -> Any:
    """x ** a (tf.keras.backend.pow).

    Args:
        x: A tensor, or what becomes one, of any shape.
        a: The exponent, a number or a tensor that broadcasts with `x`.

    Returns:
        A tensor of the dtype of `x`.
    """
    return ops.pow(x, a)


def round(x: TensorLike) -> Any:
    """The nearest whole numbers (tf.keras.backend.round).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.round(x)


def sign(x: TensorLike) -> Any:
    """-1, 0 or 1 (tf.keras.backend.sign).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sign(x)


def sin(x: TensorLike) -> Any:
    """The sine (tf.keras.backend.sin).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sin(x)


def cos(x: TensorLike) -> Any:
    """The cosine (tf.keras.backend.cos).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.cos(x)


def clip(x: TensorLike, min_value: float | None, max_value: float | None) -> Any:
    """x between two values (tf.keras.backend.clip).

    Args:
        x: A tensor, or what becomes one, of any shape.
        min_value: The smallest value; None for no limit.
        max_value: The largest value; None for no limit.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    low = float("-inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    return ops.clip_by_value(x, low, builtins.max(low, high))


def equal(x: TensorLike, y: TensorLike) -> Any:
    """x == y (tf.keras.backend.equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """x != y (tf.keras.backend.not_equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Any:
    """x > y (tf.keras.backend.greater).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """x >= y (tf.keras.backend.greater_equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Any:
    """x < y (tf.keras.backend.less).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """x <= y (tf.keras.backend.less_equal).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A bool tensor of the shape that the two broadcast to.
    """
    return ops.less_equal(x, y)


def maximum(x: TensorLike, y: TensorLike) -> Any:
    """The larger (tf.keras.backend.maximum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A tensor of the shape that the two broadcast to.
    """
    return ops.maximum(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Any:
    """The smaller (tf.keras.backend.minimum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        y: A tensor, or what becomes one, of the shape of `x` or one that broadcasts with it.

    Returns:
        A tensor of the shape that the two broadcast to.
    """
    return ops.minimum(x, y)


# ---- over axes ------------------------------------------------------------------------------------------------------


def _floats(x: Any) -> Any:
    tensor = ops.convert_to_tensor(x)
    return ops.cast(tensor, floatx()) if tensor.dtype.name == "bool" else tensor


def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum over axes (tf.keras.backend.sum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_sum(x, axis, keepdims)


def prod(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The product over axes (tf.keras.backend.prod).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_prod(x, axis, keepdims)


def mean(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The mean over axes (tf.keras.backend.mean).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_mean(_floats(x), axis, keepdims)


def var(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The variance over axes (tf.keras.backend.var).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    tensor = _floats(x)
    return ops.reduce_mean(ops.square(tensor - ops.reduce_mean(tensor, axis, True)), axis, keepdims)


def std(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The standard deviation over axes (tf.keras.backend.std).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.sqrt(var(x, axis, keepdims))


def max(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The largest over axes (tf.keras.backend.max).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_max(x, axis, keepdims)


def min(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest over axes (tf.keras.backend.min).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_min(x, axis, keepdims)


def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes (tf.keras.backend.logsumexp).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A tensor without those axes.
    """
    return ops.reduce_logsumexp(x, axis, keepdims)


def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether any is true (tf.keras.backend.any).

    Args:
        x: A tensor; what is not 0 is true.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A bool tensor without those axes.
    """
    return ops.reduce_any(ops.cast(x, "bool"), axis, keepdims)


def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether all are true (tf.keras.backend.all).

    Args:
        x: A tensor; what is not 0 is true.
        axis: The axis, or a list of axes; counted from the end if negative. All axes if None.
        keepdims: Whether the axes stay, with the size 1.

    Returns:
        A bool tensor without those axes.
    """
    return ops.reduce_all(ops.cast(x, "bool"), axis, keepdims)


def argmax(x: TensorLike, axis: int = -1) -> Any:
    """Where the largest is (tf.keras.backend.argmax).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        An int64 tensor of the shape of `x` without that axis.
    """
    return ops.argmax(x, axis)


def argmin(x: TensorLike, axis: int = -1) -> Any:
    """Where the smallest is (tf.keras.backend.argmin).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        An int64 tensor of the shape of `x` without that axis.
    """
    return ops.argmin(x, axis)


def cumsum(x: TensorLike, axis: int = 0) -> Any:
    """The sums so far (tf.keras.backend.cumsum).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.cumsum(x, axis)


def cumprod(x: TensorLike, axis: int = 0) -> Any:
    """The products so far (tf.keras.backend.cumprod).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis, counted from the end if negative.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.cumprod(x, axis)


# ---- shapes ---------------------------------------------------------------------------------------------------------


def reshape(x: TensorLike, shape: IntTensorLike) -> Any:
    """Another shape (tf.keras.backend.reshape).

    Args:
        x: A tensor, or what becomes one, of any shape.
        shape: The sizes, one of which may be -1 for what is left.

    Returns:
        A tensor of that shape with the elements of `x`.
    """
    return ops.reshape(x, shape)


def flatten(x: TensorLike) -> Any:
    """One axis (tf.keras.backend.flatten).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A vector of the elements of `x`.
    """
    return ops.reshape(x, [-1])


def batch_flatten(x: TensorLike) -> Any:
    """All axes but the first joined to one (tf.keras.backend.batch_flatten).

    Args:
        x: A tensor [batch, ...].

    Returns:
        A tensor [batch, size].
    """
    tensor = ops.convert_to_tensor(x)
    sizes = tensor.shape.as_list()[1:]
    if None in sizes:
        return ops.reshape(tensor, ops.stack([-1, ops.reduce_prod(ops.shape(tensor)[1:])]))
    size = 1
    for n in sizes:
        size *= n
    return ops.reshape(tensor, [-1, size])


def transpose(x: TensorLike) -> Any:
    """The axes turned round (tf.keras.backend.transpose).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the axes of `x` in the opposite order.
    """
    return ops.transpose(x)


def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Any:
    """The axes in another order (tf.keras.backend.permute_dimensions).

    Args:
        x: A tensor, or what becomes one, of any shape.
        pattern: The numbers of the axes in their new order.

    Returns:
        A tensor of those axes.
    """
    return ops.transpose(x, list(pattern))


def concatenate(tensors: Sequence[TensorLike], axis: int = -1) -> Any:
    """Tensors behind one another (tf.keras.backend.concatenate).

    Args:
        tensors: Tensors whose sizes are the same on all other axes.
        axis: The axis, counted from the end if negative.

    Returns:
        A tensor.
    """
    return ops.concat(list(tensors), axis)


def stack(x: Sequence[TensorLike], axis: int = 0) -> Any:
    """Tensors along a new axis (tf.keras.backend.stack).

    Args:
        x: Tensors of one shape.
        axis: Where the new axis is.

    Returns:
        A tensor of an axis more.
    """
    return ops.stack(list(x), axis)


def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """An axis of 1 (tf.keras.backend.expand_dims).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: Where the new axis is.

    Returns:
        A tensor of an axis more.
    """
    return ops.expand_dims(x, axis)


def squeeze(x: TensorLike, axis: int) -> Any:
    """Without an axis of 1 (tf.keras.backend.squeeze).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis that goes, of size 1.

    Returns:
        A tensor of an axis less.
    """
    return ops.squeeze(x, [axis])


def repeat(x: TensorLike, n: int) -> Any:
    """[batch, size] as [batch, n, size] (tf.keras.backend.repeat).

    Args:
        x: A tensor [batch, size].
        n: How many times.

    Returns:
        A tensor [batch, n, size].
    """
    return ops.tile(ops.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Any:
    """Each element along an axis several times (tf.keras.backend.repeat_elements).

    Args:
        x: A tensor, or what becomes one, of any shape.
        rep: How many times.
        axis: The axis.

    Returns:
        A tensor whose axis is `rep` times as large.
    """
    return ops.repeat(x, rep, axis)


def tile(x: TensorLike, n: IntsLike) -> Any:
    """The whole several times along each axis (tf.keras.backend.tile).

    Args:
        x: A tensor, or what becomes one, of any shape.
        n: How many times along each axis; an int for a vector.

    Returns:
        A tensor of the dtype of `x`.
    """
    return ops.tile(x, [n] if isinstance(n, int) else list(n))


def reverse(x: TensorLike, axes: IntsLike) -> Any:
    """Axes turned round (tf.keras.backend.reverse).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axes: The axis, or axes.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.reverse(x, [axes] if isinstance(axes, int) else list(axes))


def gather(reference: TensorLike, indices: IntTensorLike) -> Any:
    """Rows by their numbers (tf.keras.backend.gather).

    Args:
        reference: A tensor of an axis or more.
        indices: The numbers of the rows, ints of any shape.

    Returns:
        A tensor of the shape of the indices, then that of a row.
    """
    return ops.gather(reference, indices)


def one_hot(indices: TensorLike, num_classes: int) -> Any:
    """1 at the index, else 0 (tf.keras.backend.one_hot).

    Args:
        indices: Ints of any shape.
        num_classes: The size of the new, last axis.

    Returns:
        A float32 tensor [..., num_classes].
    """
    return ops.one_hot(indices, num_classes)


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike = "int32"
) -> Any:
    """Numbers from start to stop (tf.keras.backend.arange).

    Args:
        start: The first number; or the end, if `stop` is not given: then it begins with 0.
        stop: The end, which is not among them.
        step: The distance of one number to the next.
        dtype: The dtype.

    Returns:
        A vector.
    """
    found = ops.range(start, delta=step) if stop is None else ops.range(start, stop, step)
    return ops.cast(found, dtype)


# ---- draws ----------------------------------------------------------------------------------------------------------


def random_normal(
    shape: IntTensorLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:
    """Normal draws (tf.keras.backend.random_normal).

    Args:
        shape: The shape, ints.
        mean: The mean.
        stddev: The standard deviation.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    return ops.random_normal(shape, mean, stddev, dtype or floatx(), seed)


def random_uniform(
    shape: IntTensorLike, minval: float = 0.0, maxval: float = 1.0, dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:  # fmt: skip
    """Uniform draws (tf.keras.backend.random_uniform).

    Args:
        shape: The shape, ints.
        minval: The smallest value.
        maxval: The end of the range, which is not in it.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    return ops.random_uniform(shape, minval, maxval, dtype or floatx(), seed)


def random_binomial(
    shape: IntTensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Any:
    """1 with a probability, else 0 (tf.keras.backend.random_binomial).

    Args:
        shape: The shape, ints.
        p: The probability of a 1.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    kind = dtype or floatx()
    drawn = ops.random_uniform(shape, dtype=kind, seed=seed) <= p
    return ops.cast(drawn, kind)


def truncated_normal(
    shape: IntTensorLike,
    mean: float = 0.0,
    stddev: float = 1.0,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:
    """Normal draws within two deviations (tf.keras.backend.truncated_normal).

    Args:
        shape: The shape, ints.
        mean: The mean.
        stddev: The standard deviation; what is further than two of them is drawn again.
        dtype: The dtype; by default that of K.floatx().
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of new draws each time it is computed.
    """
    return ops.truncated_normal(shape, mean, stddev, dtype or floatx(), seed)


# ---- functions ------------------------------------------------------------------------------------------------------


def map_fn(
    fn: Callable[..., Any], elems: Tensors, name: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """A function of each element (tf.keras.backend.map_fn).

    Args:
        fn: A function of a tensor, or of a structure of them like `elems`.
        elems: A tensor, or a structure of them; the function is given their parts along the first axis.
        name: The name; by default one is made.
        dtype: The dtype of the results; by default that of `elems`.

    Returns:
        The results, put together along the first axis.
    """
    return ops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(
    fn: Callable[..., Any], elems: Tensors, initializer: Tensors = None, name: str | None = None
) -> Any:
    """Elements put together from the first on (tf.keras.backend.foldl).

    Args:
        fn: A function of what came of the elements so far and the next one.
        elems: A tensor whose first axis is gone along.
        initializer: What it begins with; by default an element.
        name: The name; by default one is made.

    Returns:
        The last result of the function.
    """
    return ops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[..., Any], elems: Tensors, initializer: Tensors = None, name: str | None = None
) -> Any:
    """Elements put together from the last on (tf.keras.backend.foldr).

    Args:
        fn: A function of what came of the elements so far and the next one.
        elems: A tensor whose first axis is gone along.
        initializer: What it begins with; by default an element.
        name: The name; by default one is made.

    Returns:
        The last result of the function.
    """
    return ops.foldr(fn, elems, initializer=initializer, name=name)


def print_tensor(x: TensorLike, message: str = "") -> Any:
    """The tensor, printed when it is computed (tf.keras.backend.print_tensor).

    Args:
        x: A tensor, or what becomes one, of any shape.
        message: What is printed before the values.

    Returns:
        A tensor of the value of `x`.
    """
    return ops.Print(ops.convert_to_tensor(x), [x], message)

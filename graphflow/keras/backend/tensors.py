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
    """A placeholder of a shape, or of a number of axes (tf.keras.backend.placeholder)."""
    sizes: Any = [None] * ndim if shape is None and ndim is not None else shape
    make = ops.sparse_placeholder if sparse else ops.placeholder
    return make(dtype or floatx(), sizes, name=name)


def is_placeholder(x: TensorLike) -> bool:
    """Whether a tensor is a placeholder (tf.keras.backend.is_placeholder)."""
    return getattr(getattr(x, "op", None), "type", None) in _FED


def constant(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Any:
    """A constant (tf.keras.backend.constant)."""
    return ops.constant(value, dtype or floatx(), shape, name or "Const")


def dtype(x: Any) -> str:
    """The name of a tensor's dtype (tf.keras.backend.dtype)."""
    return str(x.dtype.name)


def int_shape(x: Any) -> Any:
    """The static shape as a tuple, None if it is not known (tf.keras.backend.int_shape)."""
    return None if x.shape.dims is None else tuple(x.shape.as_list())


def ndim(x: Any) -> int | None:
    """The number of axes (tf.keras.backend.ndim)."""
    return None if x.shape.dims is None else len(x.shape.dims)


def shape(x: TensorLike) -> Any:
    """The shape as a tensor (tf.keras.backend.shape)."""
    return ops.shape(x)


def is_sparse(tensor: Any) -> bool:
    """Whether it is a SparseTensor (tf.keras.backend.is_sparse)."""
    return isinstance(tensor, SparseTensor)


def to_dense(tensor: Any) -> Any:
    """A SparseTensor as a tensor (tf.keras.backend.to_dense)."""
    return ops.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


def name_scope(name: str) -> AbstractContextManager[str]:
    """A name scope (tf.keras.backend.name_scope)."""
    scope: AbstractContextManager[str] = ops.name_scope(name)
    return scope


def cast(x: TensorLike, dtype: DTypeLike) -> Any:
    """Another dtype (tf.keras.backend.cast)."""
    return ops.cast(x, dtype)


def update(x: Variable, new_x: TensorLike) -> Any:
    """Sets a variable (tf.keras.backend.update)."""
    return ops.assign(x, new_x)


def update_add(x: Variable, increment: TensorLike) -> Any:
    """Adds to a variable (tf.keras.backend.update_add)."""
    return ops.assign_add(x, increment)


def update_sub(x: Variable, decrement: TensorLike) -> Any:
    """Subtracts from a variable (tf.keras.backend.update_sub)."""
    return ops.assign_sub(x, decrement)


def moving_average_update(x: Variable, value: TensorLike, momentum: float) -> Any:
    """Moves a variable towards a value by 1 - momentum (tf.keras.backend.moving_average_update)."""
    return ops.assign_sub(x, (x - value) * (1.0 - momentum))


def gradients(loss: TensorLike, variables: Tensors) -> Any:
    """The gradients of a loss (tf.keras.backend.gradients)."""
    return gradients_of(loss, variables)


def stop_gradient(variables: Tensors) -> Any:
    """Tensors without gradient (tf.keras.backend.stop_gradient)."""
    return (
        [ops.stop_gradient(v) for v in variables]
        if isinstance(variables, list | tuple)
        else ops.stop_gradient(variables)
    )


def zeros_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Zeros of a tensor's shape (tf.keras.backend.zeros_like)."""
    return ops.zeros_like(x, dtype=dtype, name=name)


def ones_like(x: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Ones of a tensor's shape (tf.keras.backend.ones_like)."""
    return ops.ones_like(x, dtype=dtype, name=name)


# ---- element by element ---------------------------------------------------------------------------------------------


def abs(x: TensorLike) -> Any:
    """|x| (tf.keras.backend.abs)."""
    return ops.abs(x)


def square(x: TensorLike) -> Any:
    """x ** 2 (tf.keras.backend.square)."""
    return ops.square(x)


def sqrt(x: TensorLike) -> Any:
    """The root of x, of 0 where it is negative (tf.keras.backend.sqrt)."""
    return ops.sqrt(ops.clip_by_value(x, 0.0, float("inf")))


def exp(x: TensorLike) -> Any:
    """exp(x) (tf.keras.backend.exp)."""
    return ops.exp(x)


def log(x: TensorLike) -> Any:
    """log(x) (tf.keras.backend.log)."""
    return ops.log(x)


def pow(x: TensorLike, a: TensorLike) -> Any:
    """x ** a (tf.keras.backend.pow)."""
    return ops.pow(x, a)


def round(x: TensorLike) -> Any:
    """The nearest whole numbers (tf.keras.backend.round)."""
    return ops.round(x)


def sign(x: TensorLike) -> Any:
    """-1, 0 or 1 (tf.keras.backend.sign)."""
    return ops.sign(x)


def sin(x: TensorLike) -> Any:
    """The sine (tf.keras.backend.sin)."""
    return ops.sin(x)


def cos(x: TensorLike) -> Any:
    """The cosine (tf.keras.backend.cos)."""
    return ops.cos(x)


def clip(x: TensorLike, min_value: float | None, max_value: float | None) -> Any:
    """x between two values (tf.keras.backend.clip)."""
    low = float("-inf") if min_value is None else min_value
    high = float("inf") if max_value is None else max_value
    return ops.clip_by_value(x, low, builtins.max(low, high))


def equal(x: TensorLike, y: TensorLike) -> Any:
    """x == y (tf.keras.backend.equal)."""
    return ops.equal(x, y)


def not_equal(x: TensorLike, y: TensorLike) -> Any:
    """x != y (tf.keras.backend.not_equal)."""
    return ops.not_equal(x, y)


def greater(x: TensorLike, y: TensorLike) -> Any:
    """x > y (tf.keras.backend.greater)."""
    return ops.greater(x, y)


def greater_equal(x: TensorLike, y: TensorLike) -> Any:
    """x >= y (tf.keras.backend.greater_equal)."""
    return ops.greater_equal(x, y)


def less(x: TensorLike, y: TensorLike) -> Any:
    """x < y (tf.keras.backend.less)."""
    return ops.less(x, y)


def less_equal(x: TensorLike, y: TensorLike) -> Any:
    """x <= y (tf.keras.backend.less_equal)."""
    return ops.less_equal(x, y)


def maximum(x: TensorLike, y: TensorLike) -> Any:
    """The larger (tf.keras.backend.maximum)."""
    return ops.maximum(x, y)


def minimum(x: TensorLike, y: TensorLike) -> Any:
    """The smaller (tf.keras.backend.minimum)."""
    return ops.minimum(x, y)


# ---- over axes ------------------------------------------------------------------------------------------------------


def _floats(x: Any) -> Any:
    tensor = ops.convert_to_tensor(x)
    return ops.cast(tensor, floatx()) if tensor.dtype.name == "bool" else tensor


def sum(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The sum over axes (tf.keras.backend.sum)."""
    return ops.reduce_sum(x, axis, keepdims)


def prod(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The product over axes (tf.keras.backend.prod)."""
    return ops.reduce_prod(x, axis, keepdims)


def mean(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The mean over axes (tf.keras.backend.mean)."""
    return ops.reduce_mean(_floats(x), axis, keepdims)


def var(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The variance over axes (tf.keras.backend.var)."""
    tensor = _floats(x)
    return ops.reduce_mean(ops.square(tensor - ops.reduce_mean(tensor, axis, True)), axis, keepdims)


def std(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The standard deviation over axes (tf.keras.backend.std)."""
    return ops.sqrt(var(x, axis, keepdims))


def max(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The largest over axes (tf.keras.backend.max)."""
    return ops.reduce_max(x, axis, keepdims)


def min(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """The smallest over axes (tf.keras.backend.min)."""
    return ops.reduce_min(x, axis, keepdims)


def logsumexp(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes (tf.keras.backend.logsumexp)."""
    return ops.reduce_logsumexp(x, axis, keepdims)


def any(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether any is true (tf.keras.backend.any)."""
    return ops.reduce_any(ops.cast(x, "bool"), axis, keepdims)


def all(x: TensorLike, axis: Axis = None, keepdims: bool = False) -> Any:
    """Whether all are true (tf.keras.backend.all)."""
    return ops.reduce_all(ops.cast(x, "bool"), axis, keepdims)


def argmax(x: TensorLike, axis: int = -1) -> Any:
    """Where the largest is (tf.keras.backend.argmax)."""
    return ops.argmax(x, axis)


def argmin(x: TensorLike, axis: int = -1) -> Any:
    """Where the smallest is (tf.keras.backend.argmin)."""
    return ops.argmin(x, axis)


def cumsum(x: TensorLike, axis: int = 0) -> Any:
    """The sums so far (tf.keras.backend.cumsum)."""
    return ops.cumsum(x, axis)


def cumprod(x: TensorLike, axis: int = 0) -> Any:
    """The products so far (tf.keras.backend.cumprod)."""
    return ops.cumprod(x, axis)


# ---- shapes ---------------------------------------------------------------------------------------------------------


def reshape(x: TensorLike, shape: IntTensorLike) -> Any:
    """Another shape (tf.keras.backend.reshape)."""
    return ops.reshape(x, shape)


def flatten(x: TensorLike) -> Any:
    """One axis (tf.keras.backend.flatten)."""
    return ops.reshape(x, [-1])


def batch_flatten(x: TensorLike) -> Any:
    """All axes but the first joined to one (tf.keras.backend.batch_flatten)."""
    tensor = ops.convert_to_tensor(x)
    sizes = tensor.shape.as_list()[1:]
    if None in sizes:
        return ops.reshape(tensor, ops.stack([-1, ops.reduce_prod(ops.shape(tensor)[1:])]))
    size = 1
    for n in sizes:
        size *= n
    return ops.reshape(tensor, [-1, size])


def transpose(x: TensorLike) -> Any:
    """The axes turned round (tf.keras.backend.transpose)."""
    return ops.transpose(x)


def permute_dimensions(x: TensorLike, pattern: Sequence[int]) -> Any:
    """The axes in another order (tf.keras.backend.permute_dimensions)."""
    return ops.transpose(x, list(pattern))


def concatenate(tensors: Sequence[TensorLike], axis: int = -1) -> Any:
    """Tensors behind one another (tf.keras.backend.concatenate)."""
    return ops.concat(list(tensors), axis)


def stack(x: Sequence[TensorLike], axis: int = 0) -> Any:
    """Tensors along a new axis (tf.keras.backend.stack)."""
    return ops.stack(list(x), axis)


def expand_dims(x: TensorLike, axis: int = -1) -> Any:
    """An axis of 1 (tf.keras.backend.expand_dims)."""
    return ops.expand_dims(x, axis)


def squeeze(x: TensorLike, axis: int) -> Any:
    """Without an axis of 1 (tf.keras.backend.squeeze)."""
    return ops.squeeze(x, [axis])


def repeat(x: TensorLike, n: int) -> Any:
    """[batch, size] as [batch, n, size] (tf.keras.backend.repeat)."""
    return ops.tile(ops.expand_dims(x, 1), [1, n, 1])


def repeat_elements(x: TensorLike, rep: int, axis: int) -> Any:
    """Each element along an axis several times (tf.keras.backend.repeat_elements)."""
    return ops.repeat(x, rep, axis)


def tile(x: TensorLike, n: IntsLike) -> Any:
    """The whole several times along each axis (tf.keras.backend.tile)."""
    return ops.tile(x, [n] if isinstance(n, int) else list(n))


def reverse(x: TensorLike, axes: IntsLike) -> Any:
    """Axes turned round (tf.keras.backend.reverse)."""
    return ops.reverse(x, [axes] if isinstance(axes, int) else list(axes))


def gather(reference: TensorLike, indices: IntTensorLike) -> Any:
    """Rows by their numbers (tf.keras.backend.gather)."""
    return ops.gather(reference, indices)


def one_hot(indices: TensorLike, num_classes: int) -> Any:
    """1 at the index, else 0 (tf.keras.backend.one_hot)."""
    return ops.one_hot(indices, num_classes)


def arange(
    start: TensorLike, stop: TensorLike | None = None, step: TensorLike = 1, dtype: DTypeLike = "int32"
) -> Any:
    """Numbers from start to stop (tf.keras.backend.arange)."""
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
    """Normal draws (tf.keras.backend.random_normal)."""
    return ops.random_normal(shape, mean, stddev, dtype or floatx(), seed)


def random_uniform(
    shape: IntTensorLike, minval: float = 0.0, maxval: float = 1.0, dtype: DTypeLike | None = None,
    seed: int | None = None,
) -> Any:  # fmt: skip
    """Uniform draws (tf.keras.backend.random_uniform)."""
    return ops.random_uniform(shape, minval, maxval, dtype or floatx(), seed)


def random_binomial(
    shape: IntTensorLike, p: float = 0.0, dtype: DTypeLike | None = None, seed: int | None = None
) -> Any:
    """1 with a probability, else 0 (tf.keras.backend.random_binomial)."""
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
    """Normal draws within two deviations (tf.keras.backend.truncated_normal)."""
    return ops.truncated_normal(shape, mean, stddev, dtype or floatx(), seed)


# ---- functions ------------------------------------------------------------------------------------------------------


def map_fn(
    fn: Callable[..., Any], elems: Tensors, name: str | None = None, dtype: DTypeLike | None = None
) -> Any:
    """A function of each element (tf.keras.backend.map_fn)."""
    return ops.map_fn(fn, elems, name=name, dtype=dtype)


def foldl(
    fn: Callable[..., Any], elems: Tensors, initializer: Tensors = None, name: str | None = None
) -> Any:
    """Elements put together from the first on (tf.keras.backend.foldl)."""
    return ops.foldl(fn, elems, initializer=initializer, name=name)


def foldr(
    fn: Callable[..., Any], elems: Tensors, initializer: Tensors = None, name: str | None = None
) -> Any:
    """Elements put together from the last on (tf.keras.backend.foldr)."""
    return ops.foldr(fn, elems, initializer=initializer, name=name)


def print_tensor(x: TensorLike, message: str = "") -> Any:
    """The tensor, printed when it is computed (tf.keras.backend.print_tensor)."""
    return ops.Print(ops.convert_to_tensor(x), [x], message)

"""Whether a gradient is right: gf.gradients against central differences, element by element (tf.test.compute_gradient).

Both ways give the whole Jacobian, so that a wrong entry cannot hide in a sum. A complex number counts as two real
ones, its real and its imaginary part: the gradient of a real value with regard to z is then d/dRe(z) + i d/dIm(z), the
convention of TensorFlow's gradients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph.defaults import get_default_session
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlicesValue
from graphflow._core.ops.array.array import zeros_like
from graphflow._core.ops.array.shaping import placeholder

Array = Any
Jacobians = tuple[Array, Array]


def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> Any:
    """The Jacobian of `y` with regard to `x`, by gf.gradients and by differences: (theoretical, numeric).

    TensorFlow: tf.test.compute_gradient. Rows stand for the elements of x, columns for those of y; a complex element
    takes two, for its real and its imaginary part. If `x` is a list, so are `x_shape`, `x_init_value` and what is
    returned.

    Runs in the default session.

    What y does not depend on has zeros.

    Args:
        x: Tensors to vary, of float32, float64, complex64 or complex128.
        x_shape: Its shape.
        y: A tensor.
        y_shape: Its shape.
        x_init_value: Where to differentiate; drawn from [0, 1) by NumPy's random_sample, as in TensorFlow, if None.
        delta: The step of the differences, which err by about delta ** 2 and rounding / delta: 1e-5 suits
            float64.
        init_targets: Operations to run first.
        extra_feed_dict: Values of other tensors.

    Raises:
        ValueError: If there is none, or if shapes and values do not fit together.
        TypeError: For other dtypes.
        LookupError: If the gradient of an operation on the way is not defined.
    """
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it inside `with gf.Session():`.")
    several = isinstance(x, list | tuple)
    tensors = list(x) if several else [x]
    dims = [_dims(s) for s in (x_shape if several else [x_shape])]
    given = (
        [None] * len(tensors) if x_init_value is None else list(x_init_value) if several else [x_init_value]
    )
    if not len(tensors) == len(dims) == len(given):
        raise ValueError(
            f"{len(tensors)} tensors need as many shapes and values: got {len(dims)} and {len(given)}."
        )
    values = [_initial(t, s, v) for t, s, v in zip(tensors, dims, given, strict=True)]
    _real_parts(y)
    if init_targets is not None:
        for target in init_targets if isinstance(init_targets, list | tuple) else [init_targets]:
            if isinstance(target, Operation):
                target.run(session=session)
            else:
                session.run(target)
    feeds = {**dict(extra_feed_dict or {}), **dict(zip(tensors, values, strict=True))}
    y_dims = _result_dims(y, y_shape)
    theoretical = _by_gradients(session, tensors, y, y_dims, feeds)
    numeric = [_by_differences(session, t, y, y_dims, feeds, delta) for t in tensors]
    pairs: list[Jacobians] = list(zip(theoretical, numeric, strict=True))
    return pairs if several else pairs[0]


def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Tensor,
    y_shape: Sequence[int],
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Mapping[Any, Any] | None = None,
) -> float:
    """The largest difference between the Jacobian by gf.gradients and by differences, over all of `x`; 0 if empty.

    TensorFlow: tf.test.compute_gradient_error. For the arguments see compute_gradient.

    Args:
        x: A tensor, or a list of them.
        x_shape: Its shape.
        y: A tensor.
        y_shape: Its shape.
        x_init_value: The array at which it is looked at.
        delta: The step of the difference.
        init_targets: Operations to run before.
        extra_feed_dict: Feeds of other tensors.

    Returns:
        A float.
    """
    found = compute_gradient(x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict)
    pairs: list[Jacobians] = found if isinstance(found, list) else [found]
    return max((float(np.max(np.abs(t - n), initial=0.0)) for t, n in pairs), default=0.0)


def _dims(shape: Any) -> tuple[int, ...]:
    return tuple(int(size) for size in shape)


def _result_dims(y: Tensor, shape: Any) -> tuple[int, ...]:
    """What the shape is said to be; its own if it is known and has as many elements: a loss may be said to be [1]."""
    said, own = _dims(shape), y.shape
    if own.is_fully_defined() and int(np.prod(said)) == own.num_elements():
        return _dims(own.as_list())
    return said


def _real_parts(tensor: Tensor) -> int:
    """1 for a real tensor, 2 for a complex one."""
    if tensor.dtype.is_complex:
        return 2
    if not tensor.dtype.is_floating:
        raise TypeError(
            f"{tensor.name!r} is {tensor.dtype.name}: only floats and complex numbers have gradients."
        )
    return 1


def _initial(tensor: Tensor, dims: tuple[int, ...], value: Any) -> Array:
    dtype = tensor.dtype.as_numpy_dtype
    if value is None:
        parts = [np.random.random_sample(dims) for _ in range(_real_parts(tensor))]
        array = parts[0] + 1j * parts[1] if tensor.dtype.is_complex else parts[0]
    else:
        _real_parts(tensor)
        array = np.asarray(value)
    if array.shape != dims:
        raise ValueError(
            f"{tensor.name!r} was said to have the shape {dims}, but its value has {array.shape}."
        )
    return np.array(array, dtype, order="C")


def _as_reals(value: Any) -> Array:
    """A flat float64 array; of a complex number its real and its imaginary part."""
    flat = np.ravel(value)
    if flat.dtype.kind == "c":
        return flat.astype(np.complex128).view(np.float64)
    return flat.astype(np.float64)


def _dense(gradient: Any, dims: tuple[int, ...]) -> Array:
    if not isinstance(gradient, IndexedSlicesValue):
        return gradient
    whole = np.zeros(dims, np.asarray(gradient.values).dtype)
    np.add.at(whole, gradient.indices, gradient.values)
    return whole


def _by_gradients(
    session: Any, xs: list[Tensor], y: Tensor, y_dims: tuple[int, ...], feeds: dict[Any, Any]
) -> list[Array]:
    """A Jacobian for each x: one run for each element of y, to which alone a gradient of one is given."""
    with y.graph.as_default():
        seed = placeholder(y.dtype, y_dims)
        found = gradients(y, xs, grad_ys=seed)
        found = [zeros_like(x) if g is None else g for x, g in zip(xs, found, strict=True)]
    columns = int(np.prod(y_dims)) * _real_parts(y)
    jacobians = [np.zeros((_as_reals(feeds[x]).size, columns)) for x in xs]
    if not columns:  # One run, for the shapes alone.
        for x, empty in zip(xs, session.run(found, {**feeds, seed: np.zeros(y_dims)}), strict=True):
            if np.shape(_dense(empty, feeds[x].shape)) != feeds[x].shape:
                raise ValueError(
                    f"Empty gradient has wrong shape: expected {feeds[x].shape}, got {np.shape(empty)}, for {x.name!r}."
                )
    for column in range(columns):
        parts = np.zeros(columns)
        parts[column] = 1
        one = parts.view(np.complex128) if y.dtype.is_complex else parts
        arrays = session.run(found, {**feeds, seed: one.reshape(y_dims).astype(y.dtype.as_numpy_dtype)})
        for x, jacobian, array in zip(xs, jacobians, arrays, strict=True):
            row = _as_reals(_dense(array, feeds[x].shape))
            if row.size != len(jacobian):
                raise ValueError(
                    f"The gradient to {x.name!r} has the shape {np.shape(array)}, but the tensor {feeds[x].shape}."
                )
            jacobian[:, column] = row
    return jacobians


def _by_differences(
    session: Any, x: Tensor, y: Tensor, y_dims: tuple[int, ...], feeds: dict[Any, Any], delta: float
) -> Array:
    """The Jacobian by central differences: two runs for each element of x."""
    parts = _as_reals(feeds[x])
    jacobian = np.zeros((parts.size, int(np.prod(y_dims)) * _real_parts(y)))

    def at(row: int, step: float) -> Array:
        moved = parts.copy()
        moved[row] += step
        whole = moved.view(np.complex128) if x.dtype.is_complex else moved
        value = session.run(y, {**feeds, x: whole.reshape(feeds[x].shape).astype(x.dtype.as_numpy_dtype)})
        if np.shape(value) != y_dims:
            raise ValueError(f"{y.name!r} was said to have the shape {y_dims}, but it has {np.shape(value)}.")
        return _as_reals(value)

    for row in range(parts.size):
        above, below = at(row, delta), at(row, -delta)
        # If both are the same infinity, nothing changed.
        changed = above != below
        jacobian[row, changed] = (above[changed] - below[changed]) / (2 * delta)
    return jacobian

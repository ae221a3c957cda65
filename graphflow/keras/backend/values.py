"""Values of variables in the session of keras: read, set and counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, TensorLike
from graphflow._core.ops.state.variable import Variable
from graphflow.keras import ops
from graphflow.keras.backend.settings import floatx
from graphflow.keras.backend.state import get_session, run, track_variable
from graphflow.keras.typing import Elements


def get_value(x: Elements) -> Any:
    """The value of a variable (tf.keras.backend.get_value).

    Args:
        x: A variable or tensor.

    Returns:
        An array.
    """
    return run(x) if isinstance(x, Tensor | Variable) else x


def batch_get_value(tensors: Sequence[Elements]) -> list[Any]:
    """The values of variables, by one run (tf.keras.backend.batch_get_value).

    Args:
        tensors: Variables or tensors.

    Returns:
        A list of arrays.
    """
    values: list[Any] = run(list(tensors)) if tensors else []
    return values


def set_value(x: Variable, value: TensorLike) -> None:
    """Sets a variable (tf.keras.backend.set_value).

    Args:
        x: The variable.
        value: An array of its shape.

    Raises:
        ValueError: The value has not the variable's shape.
    """
    batch_set_value([(x, value)])


def batch_set_value(tuples: Iterable[tuple[Variable, TensorLike]]) -> None:
    """Sets variables to values by one run (tf.keras.backend.batch_set_value).

    Args:
        tuples: Pairs (variable, array).

    Raises:
        ValueError: A value has not its variable's shape.
    """
    pairs = list(tuples)
    session = get_session([variable for variable, _ in pairs])
    setters: list[Any] = []
    feeds: dict[Any, Any] = {}
    for variable, value in pairs:
        array = np.asarray(value, dtype=variable.dtype.as_numpy_dtype)
        if not variable.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"The variable {variable.name!r} has shape {variable.shape}, but the value has shape {array.shape}."
            )
        setter = variable.initializer
        if len(setter.inputs) == 2 and setter.inputs[1] not in feeds:
            setters.append(setter)
            feeds[setter.inputs[1]] = array
        else:  # Its initial value is also another's.
            variable.load(array, session)
    if setters:
        session.run(setters, feeds)


def variable(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, constraint: Any = None
) -> Variable:
    """A variable that keras gives its initial value (tf.keras.backend.variable).

    Args:
        value: The initial value: an array, a list or a tensor.
        dtype: The dtype; by default that of a tensor, else that of K.floatx().
        name: The name; by default one is made.
        constraint: A function that gives it its value after each step of training.

    Returns:
        The variable.
    """
    kind = dtype or getattr(value, "dtype", None) or floatx()
    if not isinstance(value, Tensor):
        value = np.asarray(value)
        kind = dtype or floatx()
    made = Variable(value, dtype=kind, name=name, constraint=constraint, use_resource=True)
    track_variable(made)
    return made


def random_uniform_variable(
    shape: IntTensorLike, low: float, high: float, dtype: DTypeLike | None = None, name: str | None = None,
    seed: int | None = None,
) -> Variable:  # fmt: skip
    """A variable of uniform draws (tf.keras.backend.random_uniform_variable).

    Args:
        shape: The shape, ints.
        low: The smallest value.
        high: The end of the range, which is not in it.
        dtype: The dtype; by default that of K.floatx().
        name: The name; by default one is made.
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        The variable.
    """
    return variable(ops.random_uniform(shape, low, high, dtype or floatx(), seed=seed), dtype, name)


def random_normal_variable(
    shape: IntTensorLike, mean: float, scale: float, dtype: DTypeLike | None = None, name: str | None = None,
    seed: int | None = None,
) -> Variable:  # fmt: skip
    """A variable of normal draws (tf.keras.backend.random_normal_variable).

    Args:
        shape: The shape, ints.
        mean: The mean.
        scale: The standard deviation.
        dtype: The dtype; by default that of K.floatx().
        name: The name; by default one is made.
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        The variable.
    """
    return variable(ops.random_normal(shape, mean, scale, dtype or floatx(), seed=seed), dtype, name)


def zeros(shape: IntTensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """A variable of zeros; a tensor if the shape is not known (tf.keras.backend.zeros).

    Args:
        shape: The shape, ints.
        dtype: The dtype; by default that of K.floatx().
        name: The name; by default one is made.

    Returns:
        The variable, or the tensor.
    """
    filled = ops.zeros(shape, dtype or floatx())
    return variable(filled, dtype, name) if filled.shape.is_fully_defined() else filled


def ones(shape: IntTensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """A variable of ones; a tensor if the shape is not known (tf.keras.backend.ones).

    Args:
        shape: The shape, ints.
        dtype: The dtype; by default that of K.floatx().
        name: The name; by default one is made.

    Returns:
        The variable, or the tensor.
    """
    filled = ops.ones(shape, dtype or floatx())
    return variable(filled, dtype, name) if filled.shape.is_fully_defined() else filled


def eye(size: int, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """A variable of the identity matrix (tf.keras.backend.eye).

    Args:
        size: The number of rows and of columns.
        dtype: The dtype; by default that of K.floatx().
        name: The name; by default one is made.

    Returns:
        The variable [size, size].
    """
    return variable(ops.eye(size, dtype=dtype or floatx()), dtype, name)


def count_params(x: Variable | Tensor) -> int:
    """The number of elements of a variable (tf.keras.backend.count_params).

    Args:
        x: A variable, or a tensor of a known shape.

    Returns:
        The number.
    """
    return int(np.prod(x.shape.as_list()))


def eval(x: Variable | Tensor) -> Any:
    """The value of a variable or tensor (tf.keras.backend.eval).

    Args:
        x: A variable or tensor.

    Returns:
        An array.
    """
    return run(x)


class Function:
    """Values of outputs for values of inputs, by one run; made by tf.keras.backend.function."""

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Any,
        updates: Sequence[Any] = (),
        name: str | None = None,
        feeds: Mapping[Any, Any] | None = None,
    ) -> None:
        self.inputs: list[Any] = list(inputs)
        self.outputs = outputs
        self.name = name
        self._feeds = dict(feeds or {})
        self._updates = (
            [ops.group(*[ops.assign(*u) if isinstance(u, tuple) else u for u in updates])] if updates else []
        )

    def __call__(self, inputs: Any) -> Any:
        """The values of the outputs; the inputs in their order, None for those that need no feed."""
        inputs = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
        feeds = {tensor: v for tensor, v in zip(self.inputs, inputs, strict=False) if v is not None}
        return get_session(self.outputs).run([self.outputs, *self._updates], {**self._feeds, **feeds})[0]


def function(
    inputs: Sequence[Elements], outputs: Elements, updates: Sequence[Elements] | None = None,
    name: str | None = None, **kwargs: Any,
) -> Function:  # fmt: skip
    """A function of arrays that runs a part of the graph (tf.keras.backend.function).

    Args:
        inputs: A list of placeholders, and K.learning_phase() if it is to be said.
        outputs: A tensor, or a list of them.
        updates: Operations to run besides.
        name: The name; by default one is made.
        **kwargs: `feed_dict`: values that are the same at each call, by placeholder.

    Returns:
        An object that is called with a list of arrays, one for each input.

    Raises:
        ValueError: The inputs are not a list.
    """
    if not isinstance(inputs, list | tuple):
        raise ValueError("K.function() takes a list or tuple of inputs.")
    feeds = kwargs.pop("feed_dict", None)
    fixed = [t for t in inputs if isinstance(t, Tensor)]
    if len(fixed) < len(inputs):  # A learning phase that was set is a number, and needs no feed.
        inputs = [t if isinstance(t, Tensor) else ops.placeholder_with_default(t, ()) for t in inputs]
    return Function(inputs, outputs, updates or (), name, feeds)

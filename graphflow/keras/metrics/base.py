"""Metric, and those that sum or average what they are given (tf.keras.metrics)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.types import DTypeLike, InitializerLike, ShapeLike, TensorLike
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow.keras import ops
from graphflow.keras.backend import settings
from graphflow.keras.backend.values import batch_set_value, get_value
from graphflow.keras.engine.base_layer import Layer
from graphflow.keras.typing import Config
from graphflow.keras.weighting import fit_weights, rank_of


def _noted(update_state: Callable[..., Any]) -> Callable[..., Operation]:
    """A class's update_state that gives one operation for all that it writes, and notes it as an update."""

    @wraps(update_state)
    def update(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._is_updating:  # By that of a derived class, which notes it.
            return update_state(self, *args, **kwargs)
        graph = get_default_graph()
        before = graph.version
        self._is_updating = True
        try:
            given = update_state(self, *args, **kwargs)
        finally:
            self._is_updating = False
        written = [op for op in graph.get_operations()[before:] if op.type.startswith(("Assign", "Scatter"))]
        found = [given] if given is not None else []
        made: Operation = ops.group(*found, *written)
        self.add_update(made)
        return made

    return update


class Metric(Layer):
    """What metrics are derived from: update_state changes variables, `result` is computed from them.

    Called, it updates its state and gives the result. TensorFlow: tf.keras.metrics.Metric.

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
        **kwargs: The arguments of every layer.
    """

    _is_metric = True
    stateful = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "update_state" in vars(cls):
            cls.update_state = _noted(cls.update_state)  # type: ignore[method-assign]

    def __init__(self, name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any) -> None:
        self._is_updating = False
        super().__init__(name=name, dtype=dtype or settings.floatx(), **kwargs)
        self.built = True
        self._result: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Updates the state, and gives the result after that.

        Args:
            *args: What update_state takes.
            **kwargs: What update_state takes by name.

        Returns:
            A tensor.
        """
        graph = get_default_graph()
        with graph.name_scope(self.name):
            update = self.update_state(*args, **kwargs)
            with graph.control_dependencies([update]):
                self._result = ops.identity(self.result())
        return self._result

    def update_state(self, *args: Any, **kwargs: Any) -> Any:
        """Changes the variables by what it is given; what a subclass defines.

        Args:
            *args: What a subclass takes, such as values or targets and predictions, and weights.
            **kwargs: The same by name.

        Returns:
            The operation of all that is written, which is one of `updates`, too. A subclass may give anything.

        Raises:
            NotImplementedError: The class does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define update_state.")

    def result(self) -> Any:
        """The metric's value, of its variables; what a subclass defines."""
        raise NotImplementedError(f"{type(self).__name__} does not define result.")

    def reset_states(self) -> None:
        """Sets all variables to zero."""
        batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.weights])

    def add_weight(  # type: ignore[override]
        self,
        name: str | None = None,
        shape: ShapeLike = (),
        aggregation: int = VariableAggregation.SUM,
        synchronization: int = VariableSynchronization.ON_READ,
        initializer: InitializerLike | str | None = None,
        dtype: DTypeLike | None = None,
    ) -> Variable:
        """A variable of the metric, in no collection.

        Args:
            name: The name in logs, and of the name scope.
            shape: The shape.
            aggregation: How a strategy of gf.distribute puts its copies together.
            synchronization: When a strategy of gf.distribute makes its copies the same.
            initializer: What makes the initial value: an initializer or its name; by default zeros.
            dtype: The dtype of its variables; by default that of K.floatx().

        Returns:
            The variable.
        """
        return super().add_weight(
            name, shape, dtype, initializer or "zeros", trainable=False, collections=[],
            aggregation=aggregation, synchronization=synchronization,
        )  # fmt: skip

    def _numbers(self, *given: TensorLike) -> list[Any]:
        """Tensors of the metric's dtype: of integers a mean would be none."""
        return [ops.cast(each, self._dtype or settings.floatx()) for each in given]

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        return {"name": self.name, "dtype": self._dtype.name if self._dtype else None}


def _at_weights_rank(values: Any, weights: Any, means: bool) -> Any:
    """The means, or sums, of values over the axes that weights do not have."""
    rank, own = rank_of(values), rank_of(weights)
    if rank is None or not own or own >= rank:
        return values
    return (ops.reduce_mean if means else ops.reduce_sum)(values, axis=list(range(own, rank)))


class Reduce(Metric):
    """A sum of values, or their mean; `weighted` counts weights."""

    def __init__(self, means: bool, name: str | None = None, dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self._means = means
        with ops.name_scope(self.name):
            self.total: Variable = self.add_weight("total", initializer="zeros")
            if means:
                self.count: Variable = self.add_weight("count", initializer="zeros")

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Adds values, times weights."""
        values = ops.cast(values, self.total.dtype)
        number: Any = ops.cast(ops.size(values), self.total.dtype)
        if sample_weight is not None:
            weights = fit_weights(values, ops.cast(sample_weight, values.dtype))
            if (rank_of(weights) or 0) < (rank_of(values) or 0) and rank_of(weights):
                values = _at_weights_rank(values, weights, self._means)
            values = values * weights
            number = ops.reduce_sum(weights * ops.ones_like(values))
        added = self.total.assign_add(ops.reduce_sum(values))
        return ops.group(added, self.count.assign_add(number)) if self._means else added.op

    def result(self) -> Any:
        """The sum or mean."""
        return ops.div_no_nan(self.total, self.count) if self._means else ops.identity(self.total)


class Sum(Reduce):
    """The sum of values (tf.keras.metrics.Sum).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(self, name: str | None = "sum", dtype: DTypeLike | None = None) -> None:
        super().__init__(False, name, dtype)


class Mean(Reduce):
    """The mean of values (tf.keras.metrics.Mean).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(self, name: str | None = "mean", dtype: DTypeLike | None = None) -> None:
        super().__init__(True, name, dtype)


class MeanMetricWrapper(Mean):
    """The mean of a function of targets and predictions."""

    def __init__(
        self, fn: Callable[..., Any], name: str | None = None, dtype: DTypeLike | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn = fn
        self._fn_kwargs = kwargs

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds the function's results, times weights."""
        target, predictions = matched(*self._numbers(y_true, y_pred))
        return super().update_state(self._fn(target, predictions, **self._fn_kwargs), sample_weight)

    def get_config(self) -> Config:
        """The arguments that make a metric like it."""
        plain = {k: v for k, v in self._fn_kwargs.items() if isinstance(v, bool | int | float | str | None)}
        return {**super().get_config(), **plain}


def matched(target: Any, predictions: Any) -> tuple[Any, Any]:
    """Targets and predictions of one rank, where one has an axis of 1 more at its end."""
    rank, own = rank_of(predictions), rank_of(target)
    if rank is None or own is None:
        return target, predictions
    if rank - own == 1 and predictions.shape.as_list()[-1] == 1:
        return target, ops.squeeze(predictions, [-1])
    if own - rank == 1 and target.shape.as_list()[-1] == 1:
        return ops.squeeze(target, [-1]), predictions
    return target, predictions


class MeanTensor(Metric):
    """The mean of tensors of one shape, element by element (tf.keras.metrics.MeanTensor).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(self, name: str | None = "mean_tensor", dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.total: Any = None
        self.count: Any = None

    def update_state(self, values: TensorLike, sample_weight: TensorLike | None = None) -> Any:
        """Adds a tensor, times weights.

        Args:
            values: A tensor, of the same shape each time.
            sample_weight: A weight for each example or element, of a shape that broadcasts to theirs; 1 by default.

        Returns:
            The operation that adds it.
        """
        tensor = ops.cast(values, self._dtype or "float32")
        if self.total is None:
            self.total = self.add_weight("total", tensor.shape)
            self.count = self.add_weight("count", tensor.shape)
        number: Any = ops.ones_like(tensor)
        if sample_weight is not None:
            weights = fit_weights(tensor, ops.cast(sample_weight, tensor.dtype))
            number, tensor = number * weights, tensor * weights
        return ops.group(self.total.assign_add(tensor), self.count.assign_add(number))

    def result(self) -> Any:
        """The means; ValueError before the first update."""
        if self.total is None:
            raise ValueError(f"The metric {self.name!r} has no result before update_state was called.")
        return ops.div_no_nan(self.total, self.count)


class MeanRelativeError(Mean):
    """The mean of |prediction - target| / normalizer (tf.keras.metrics.MeanRelativeError).

    Args:
        normalizer: What errors are divided by, of a shape that broadcasts to theirs; where it is 0 the quotient is 0.
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(
        self, normalizer: TensorLike, name: str | None = None, dtype: DTypeLike | None = None
    ) -> None:
        super().__init__(name=name or "mean_relative_error", dtype=dtype)
        self.normalizer = ops.cast(normalizer, self._dtype or "float32")

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds the relative errors, times weights.

        Args:
            y_true: The targets, of the shape of the predictions.
            y_pred: The predictions, of any shape.
            sample_weight: A weight for each example or element, of a shape that broadcasts to theirs; 1 by default.

        Returns:
            The operation that adds them.
        """
        error = ops.abs(ops.cast(y_true, self.normalizer.dtype) - ops.cast(y_pred, self.normalizer.dtype))
        return super().update_state(ops.div_no_nan(error, self.normalizer), sample_weight)

    def get_config(self) -> Config:
        """The arguments that make a metric like it; the normalizer's values are computed."""
        return {**super().get_config(), "normalizer": get_value(self.normalizer)}


class RootMeanSquaredError(Mean):
    """The root of the mean squared error (tf.keras.metrics.RootMeanSquaredError).

    Args:
        name: The name in logs, and of the name scope.
        dtype: The dtype of its variables; by default that of K.floatx().
    """

    def __init__(self, name: str | None = "root_mean_squared_error", dtype: DTypeLike | None = None) -> None:
        super().__init__(name=name, dtype=dtype)

    def update_state(  # type: ignore[override]
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> Any:
        """Adds the squared errors, times weights.

        Args:
            y_true: The targets, of the shape of the predictions.
            y_pred: The predictions, of any shape.
            sample_weight: A weight for each example or element, of a shape that broadcasts to theirs; 1 by default.

        Returns:
            The operation that adds them.
        """
        target, predictions = matched(*self._numbers(y_true, y_pred))
        error = ops.squared_difference(predictions, target)
        return super().update_state(error, sample_weight)

    def result(self) -> Any:
        """The root of the mean."""
        return ops.sqrt(ops.div_no_nan(self.total, self.count))

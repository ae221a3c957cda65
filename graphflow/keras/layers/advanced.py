"""Activations that have arguments or weights (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.types import IntsLike
from graphflow.keras import activations, ops
from graphflow.keras.layers.base import ElementwiseLayer
from graphflow.keras.typing import Named, Shapes, Tensors


class LeakyReLU(ElementwiseLayer):
    """x, or alpha * x below 0 (tf.keras.layers.LeakyReLU).

    Args:
        alpha: The slope below 0.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, alpha: float = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha: float = float(alpha)
        self._keep(alpha=self.alpha)

    def call(self, inputs: Tensors) -> Any:
        """The activation.

        Args:
            inputs: A tensor of floats, of any shape.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return ops.leaky_relu(inputs, alpha=self.alpha)


class PReLU(ElementwiseLayer):
    """x, or alpha * x below 0, where alpha is trained (tf.keras.layers.PReLU).

    Args:
        alpha_initializer: What makes alpha's initial value: an initializer, its name or configuration.
        alpha_regularizer: A function of alpha whose result is added to the loss, or its name.
        alpha_constraint: A function that gives alpha its value after each step of training, or its name.
        shared_axes: The axes along which alpha is the same, counted from 1.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(
        self,
        alpha_initializer: Named = "zeros",
        alpha_regularizer: Named = None,
        alpha_constraint: Named = None,
        shared_axes: IntsLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        axes = (
            None
            if shared_axes is None
            else [shared_axes]
            if isinstance(shared_axes, int)
            else list(shared_axes)
        )
        self._keep(
            alpha_initializer=alpha_initializer, alpha_regularizer=alpha_regularizer, alpha_constraint=alpha_constraint,
            shared_axes=axes,
        )  # fmt: skip

    def build(self, input_shape: Shapes) -> None:
        """Makes alpha.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.
        """
        own: Any = self
        shape = shapes.as_shape(input_shape).as_list()[1:]
        for axis in own.shared_axes or ():
            shape[axis - 1] = 1
        self.alpha = self.add_weight(
            "alpha", shape, initializer=own.alpha_initializer, regularizer=own.alpha_regularizer,
            constraint=own.alpha_constraint,
        )  # fmt: skip
        self.built = True

    def call(self, inputs: Tensors) -> Any:
        """The activation.

        Args:
            inputs: A tensor of floats, of any shape.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return ops.relu(inputs) - self.alpha * ops.relu(-inputs)


class ELU(ElementwiseLayer):
    """x, or alpha * (exp(x) - 1) below 0 (tf.keras.layers.ELU).

    Args:
        alpha: What values below 0 tend to, with its sign turned.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha: float = float(alpha)
        self._keep(alpha=self.alpha)

    def call(self, inputs: Tensors) -> Any:
        """The activation.

        Args:
            inputs: A tensor of floats, of any shape.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return activations.elu(inputs, self.alpha)


class ThresholdedReLU(ElementwiseLayer):
    """x above theta, else 0 (tf.keras.layers.ThresholdedReLU).

    Args:
        theta: Up to where values become 0.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, theta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.theta: float = float(theta)
        self._keep(theta=self.theta)

    def call(self, inputs: Tensors) -> Any:
        """The activation.

        Args:
            inputs: A tensor of floats, of any shape.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return inputs * ops.cast(ops.greater(inputs, self.theta), inputs.dtype)


class Softmax(ElementwiseLayer):
    """exp(x) / sum(exp(x)) along an axis (tf.keras.layers.Softmax).

    Args:
        axis: The axis whose elements add up to 1.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis
        self._keep(axis=axis)

    def call(self, inputs: Tensors) -> Any:
        """The activation.

        Args:
            inputs: A tensor of floats, of any shape.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return activations.softmax(inputs, axis=self.axis)


class ReLU(ElementwiseLayer):
    """x above 0 (tf.keras.layers.ReLU).

    Args:
        max_value: The largest value of the result; None for no limit.
        negative_slope: The slope below the threshold.
        threshold: The value up to which an input counts as small.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.

    Raises:
        ValueError: `max_value` or `negative_slope` is negative.
    """

    def __init__(
        self, max_value: float | None = None, negative_slope: float = 0, threshold: float = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for argument, value in (("max_value", max_value), ("negative_slope", negative_slope)):
            if value is not None and value < 0:
                raise ValueError(f"{argument} of Relu layer cannot be negative value: {value}")
        self.max_value: float | None = None if max_value is None else float(max_value)
        self.negative_slope: float = float(negative_slope)
        self.threshold: float = float(threshold)
        self._keep(max_value=self.max_value, negative_slope=self.negative_slope, threshold=self.threshold)

    def call(self, inputs: Tensors) -> Any:
        """The activation.

        Args:
            inputs: A tensor of floats, of any shape.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return activations.relu(inputs, self.negative_slope, self.max_value, self.threshold)

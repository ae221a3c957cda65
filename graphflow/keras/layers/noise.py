"""Layers that draw: they drop or disturb elements in training (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow._core.graph.types import ShapeLike
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow.keras import ops
from graphflow.keras.layers.base import ConfiguredLayer, ElementwiseLayer, layout_of, phase_of
from graphflow.keras.typing import Phase, Shapes, Tensors
from graphflow.layers.input_spec import InputSpec


class Dropout(ConfiguredLayer):
    """Zeros for a share of the inputs, in training (tf.keras.layers.Dropout).

    Args:
        rate: The share, from 0 to 1; the others are divided by 1 - rate.
        noise_shape: The shape of the draws, which are broadcast to that of the inputs; by default that of the inputs.
        seed: An int from which the draws follow; by default the graph's seed.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    supports_masking = True

    def __init__(
        self, rate: float, noise_shape: ShapeLike = None, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self._keep(rate=rate, noise_shape=noise_shape, seed=seed)
        self.rate: Any = rate

    def _noise(self, inputs: Any) -> Any:
        given: Any = self.__dict__["noise_shape"]
        if not isinstance(given, list | tuple):
            return given
        sizes = ops.shape(inputs)
        return ops.stack([sizes[i] if n is None else n for i, n in enumerate(given)])

    def call(self, inputs: Tensors, training: Phase = None) -> Any:
        """The inputs, with zeros in training.

        Args:
            inputs: A tensor of any shape.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return smart_cond(
            phase_of(training),
            lambda: ops.dropout(
                inputs, noise_shape=self._noise(inputs), seed=self.__dict__["seed"], rate=self.rate
            ),
            lambda: ops.identity(inputs),
        )

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The same shape.
        """
        return shapes.as_shape(input_shape)


class SpatialDropout1D(Dropout):
    """Dropout of whole channels of sequences (tf.keras.layers.SpatialDropout1D).

    Args:
        rate: The share of the channels, from 0 to 1.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.input_spec: InputSpec = InputSpec(ndim=3)

    def _noise(self, inputs: Any) -> Any:
        sizes = ops.shape(inputs)
        return ops.stack([sizes[0], 1, sizes[2]])


class _SpatialDropout(Dropout):
    axes = 2

    def __init__(self, rate: float, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self._keep(data_format=layout_of(data_format))
        self.input_spec: InputSpec = InputSpec(ndim=self.axes + 2)

    def _noise(self, inputs: Any) -> Any:
        sizes = ops.shape(inputs)
        ones = [1] * self.axes
        if self.__dict__["data_format"] == "channels_first":
            return ops.stack([sizes[0], sizes[1], *ones])
        return ops.stack([sizes[0], *ones, sizes[self.axes + 1]])


class SpatialDropout2D(_SpatialDropout):
    """Dropout of whole channels of images (tf.keras.layers.SpatialDropout2D)."""


class SpatialDropout3D(_SpatialDropout):
    """Dropout of whole channels of volumes (tf.keras.layers.SpatialDropout3D)."""

    axes = 3


class GaussianNoise(ElementwiseLayer):
    """Normal noise added in training (tf.keras.layers.GaussianNoise).

    Args:
        stddev: The standard deviation of the noise.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev
        self._keep(stddev=stddev)

    def call(self, inputs: Tensors, training: Phase = None) -> Any:
        """The inputs, with noise in training.

        Args:
            inputs: A tensor of floats, of any shape.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return smart_cond(
            phase_of(training),
            lambda: inputs + ops.random_normal(ops.shape(inputs), 0.0, self.stddev, inputs.dtype),
            lambda: ops.identity(inputs),
        )


class GaussianDropout(ElementwiseLayer):
    """Normal noise around 1 multiplied in training (tf.keras.layers.GaussianDropout).

    Args:
        rate: The noise has the deviation sqrt(rate / (1 - rate)); from 0 to 1.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self._keep(rate=rate)

    def call(self, inputs: Tensors, training: Phase = None) -> Any:
        """The inputs, times noise in training.

        Args:
            inputs: A tensor of floats, of any shape.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        if not 0 < self.rate < 1:
            return inputs
        deviation = (self.rate / (1.0 - self.rate)) ** 0.5
        return smart_cond(
            phase_of(training),
            lambda: inputs * ops.random_normal(ops.shape(inputs), 1.0, deviation, inputs.dtype),
            lambda: ops.identity(inputs),
        )


class AlphaDropout(ElementwiseLayer):
    """Dropout that keeps mean and variance of selu's outputs (tf.keras.layers.AlphaDropout; Klambauer et al. 2017).

    Args:
        rate: The share of the inputs that is dropped, from 0 to 1.
        noise_shape: The shape of the draws, which are broadcast to that of the inputs; by default that of the inputs.
        seed: An int from which the draws follow; by default the graph's seed.
        **kwargs: The arguments of every layer, such as `name`, `dtype`, `trainable` and `input_shape`.
    """

    def __init__(self, rate: float, noise_shape: Any = None, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate
        self._keep(rate=rate, noise_shape=noise_shape, seed=seed)

    def call(self, inputs: Tensors, training: Phase = None) -> Any:
        """The inputs, with dropout in training.

        Args:
            inputs: A tensor of floats, of any shape.
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        rate = self.rate
        if not 0.0 < rate < 1.0:
            return inputs
        own: Any = self
        lowest = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946

        def dropped() -> Any:
            shape = ops.shape(inputs) if own.noise_shape is None else own.noise_shape
            kept = ops.cast(ops.random_uniform(shape, seed=own.seed) >= rate, inputs.dtype)
            scale = ((1 - rate) * (1 + rate * lowest**2)) ** -0.5
            return scale * (inputs * kept + lowest * (1 - kept)) - scale * lowest * rate

        return smart_cond(phase_of(training), dropped, lambda: ops.identity(inputs))

"""Normalisation by batch and by example (tf.keras.layers)."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import shapes
from graphflow.keras import ops
from graphflow.keras.layers.base import ConfiguredLayer, phase_of
from graphflow.keras.typing import Config, Named, Phase, Shapes, Tensors
from graphflow.layers import normalization


class BatchNormalization(normalization.BatchNormalization, ConfiguredLayer):
    """gamma * (inputs - mean) / sqrt(variance + epsilon) + beta (tf.keras.layers.BatchNormalization).

    In training mean and variance are the batch's, which `fit` moves the averages towards; otherwise they are these.

    Args:
        axis: The axis, or axes, of the features.
        momentum: How much of the averages stays at each step.
        epsilon: What is added to the variance.
        center: Whether beta is added.
        scale: Whether it is multiplied by gamma.
        beta_initializer: What makes beta's initial value: an initializer, its name or configuration.
        gamma_initializer: What makes gamma's initial value.
        moving_mean_initializer: What makes the initial value of the average of means.
        moving_variance_initializer: What makes the initial value of the average of variances.
        beta_regularizer: A function of beta whose result is added to the loss, or its name.
        gamma_regularizer: The same of gamma.
        beta_constraint: A function that gives beta its value after each step of training, or its name.
        gamma_constraint: The same of gamma.
        renorm: Whether training, too, normalises by averages, to which gradients are blind (Ioffe, 2017).
        renorm_clipping: How far the batch may be from them: scalars rmin, rmax and dmax; by default any.
        renorm_momentum: Of these averages.
        fused: Whether one operation does it where it can; True by default.
        trainable: Whether beta and gamma are trained.
        virtual_batch_size: How many examples are normalised together; by default all.
        adjustment: From the inputs' shape to factors and summands for what is normalised in training; no
            configuration has it.
        name: The name; by default one is made.
        **kwargs: The arguments of every layer, such as `dtype` and `input_shape`.

    Raises:
        ValueError: For other keys of renorm_clipping, and when it is built for a virtual_batch_size that cannot be.
        TypeError: The axis is neither an int nor a list.
    """

    def __init__(
        self,
        axis: int | list[int] = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Named = "zeros",
        gamma_initializer: Named = "ones",
        moving_mean_initializer: Named = "zeros",
        moving_variance_initializer: Named = "ones",
        beta_regularizer: Named = None,
        gamma_regularizer: Named = None,
        beta_constraint: Named = None,
        gamma_constraint: Named = None,
        renorm: bool = False,
        renorm_clipping: Any = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        ConfiguredLayer.__init__(self, trainable=trainable, name=name, **kwargs)
        self._set_corrections(renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment)
        if not isinstance(axis, int | list | tuple):
            raise TypeError(f"axis must be int or list, type given: {type(axis).__name__}")
        self._keep(
            axis=axis if isinstance(axis, int) else list(axis), momentum=momentum, epsilon=epsilon, center=center,
            scale=scale, beta_initializer=beta_initializer, gamma_initializer=gamma_initializer,
            moving_mean_initializer=moving_mean_initializer,
            moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint,
        )  # fmt: skip
        self.fused: bool = True if fused is None else bool(fused)
        self.supports_masking = True

    def _weight(self, name: str, shape: list[int], **arguments: Any) -> Any:
        kind = "float32" if self.dtype in ("float16", "bfloat16") else self.dtype
        return self.add_weight(name, shape, dtype=kind, **arguments)

    def _build_averages(self, shape: list[int]) -> None:
        self._make_averages(shape)  # No partitioner cuts the variables of Keras.

    def call(self, inputs: Tensors, training: Phase = None) -> Any:
        """The inputs normalised.

        Args:
            inputs: The layer's input, a tensor [batch, ...].
            training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        return super().call(inputs, phase_of(training))

    def get_config(self) -> Config:
        """The arguments that make a layer like it."""
        config = {**super().get_config()}
        axis = config["axis"]
        config["axis"] = axis[0] if isinstance(axis, list) and len(axis) == 1 else axis
        # Files for layers without these have no word of them.
        if self.renorm:
            config |= {"renorm": True, "renorm_clipping": self.renorm_clipping}
            config["renorm_momentum"] = self.renorm_momentum
        if self.virtual_batch_size is not None:
            config["virtual_batch_size"] = self.virtual_batch_size
        return config


class LayerNormalization(ConfiguredLayer):
    """Each example normalised by its own mean and variance over `axis` (tf.keras.layers.LayerNormalization).

    Args:
        axis: The axis, or axes, over which mean and variance are taken.
        epsilon: What is added to the variance.
        center: Whether beta is added.
        scale: Whether it is multiplied by gamma.
        beta_initializer: What makes beta's initial value: an initializer, its name or configuration.
        gamma_initializer: What makes gamma's initial value.
        beta_regularizer: A function of beta whose result is added to the loss, or its name.
        gamma_regularizer: The same of gamma.
        beta_constraint: A function that gives beta its value after each step of training, or its name.
        gamma_constraint: The same of gamma.
        trainable: Whether beta and gamma are trained.
        name: The name; by default one is made.
        **kwargs: The arguments of every layer, such as `dtype` and `input_shape`.
    """

    def __init__(
        self,
        axis: int | list[int] = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Named = "zeros",
        gamma_initializer: Named = "ones",
        beta_regularizer: Named = None,
        gamma_regularizer: Named = None,
        beta_constraint: Named = None,
        gamma_constraint: Named = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        if not isinstance(axis, int | list | tuple):
            raise ValueError(
                f"LayerNormalization: Expected an int or a list/tuple of ints for the argument 'axis', got {axis!r}."
            )
        self._keep(
            axis=axis, epsilon=epsilon, center=center, scale=scale, beta_initializer=beta_initializer,
            gamma_initializer=gamma_initializer, beta_regularizer=beta_regularizer,
            gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint,
        )  # fmt: skip
        self.supports_masking = True

    def build(self, input_shape: Shapes) -> None:
        """Makes gamma and beta.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Raises:
            ValueError: For an axis that the inputs do not have, or one that is named twice.
        """
        own: Any = self
        sizes = shapes.as_shape(input_shape).as_list()
        given = [own.axis] if isinstance(own.axis, int) else own.axis
        for axis in given:
            if not -len(sizes) <= axis < len(sizes):
                raise ValueError(
                    f"Invalid axis: {axis} of the layer {self.name!r}, whose inputs have {len(sizes)} axes."
                )
        if len({axis % len(sizes) for axis in given}) < len(given):
            raise ValueError(f"Duplicate axis: {list(given)} of the layer {self.name!r}.")
        self._over = [axis % len(sizes) for axis in given]
        shape = [sizes[axis] for axis in self._over]
        self._spread = [n if i in self._over else 1 for i, n in enumerate(sizes)]
        self.gamma = None if not own.scale else self.add_weight(
            "gamma", shape, initializer=own.gamma_initializer, regularizer=own.gamma_regularizer,
            constraint=own.gamma_constraint,
        )  # fmt: skip
        self.beta = None if not own.center else self.add_weight(
            "beta", shape, initializer=own.beta_initializer, regularizer=own.beta_regularizer,
            constraint=own.beta_constraint,
        )  # fmt: skip
        self.built = True

    def call(self, inputs: Tensors) -> Any:
        """The inputs normalised.

        Args:
            inputs: The layer's input, a tensor [batch, ...].

        Returns:
            A tensor of the shape and dtype of the inputs.
        """
        mean, variance = ops.moments(inputs, self._over, keepdims=True)
        gamma = None if self.gamma is None else ops.reshape(self.gamma, self._spread)
        beta = None if self.beta is None else ops.reshape(self.beta, self._spread)
        found = ops.batch_normalization(inputs, mean, variance, beta, gamma, self.__dict__["epsilon"])
        found.set_shape(inputs.shape)
        return found

    def compute_output_shape(self, input_shape: Shapes) -> Any:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs, the batch's size among it.

        Returns:
            The same shape.
        """
        return shapes.as_shape(input_shape)

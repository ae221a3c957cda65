"""Batch normalisation with moving averages of what it normalises by (tf.layers).

Images go through one fused op, whose variance for the moving average has n - 1 in its denominator; everything else
through the moments, with n. Both as in TensorFlow, so that checkpoints of one are right in the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import (
    Constraint,
    DTypeLike,
    Initializer,
    Regularizer,
    ShapeLike,
    TensorLike,
    VariableLike,
)
from graphflow._core.ops.array import array
from graphflow._core.ops.control_flow.smart_cond import smart_cond, smart_constant_value
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math import math
from graphflow._core.ops.state.initializers import Ones, Zeros
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow.layers.arguments import initializer_of
from graphflow.layers.base import Layer
from graphflow.layers.input_spec import InputSpec
from graphflow.nn import batch_normalization as normalize
from graphflow.nn import fused_batch_norm, moments
from graphflow.train.moving_averages import assign_moving_average

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable_scope import ReuseMode, VariableScope


class BatchNormalization(Layer):
    """gamma * (inputs - mean) / sqrt(variance + epsilon) + beta (tf.layers.BatchNormalization; Ioffe, Szegedy 2015).

    In training mean and variance are the batch's, over all axes but `axis`, and each step must run the operations in
    the collection UPDATE_OPS, which move moving_mean and moving_variance towards them by 1 - momentum:

        with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
            train_op = optimizer.minimize(loss)

    Otherwise they are these two variables.

    For initializers, regularizers and constraints see Dense, for the rest Layer. Parameters of float16 inputs
    are float32.

    Args:
        axis: Of the channels, or a list of axes.
        momentum: Of the moving averages, near 1.
        epsilon: Added to the variance.
        center: With `scale`: whether there are beta and gamma.
        scale: See `center`.
        beta_initializer: What the variable begins with: an initializer, its class or its name; None for the
            variable scope's.
        gamma_initializer: What the variable begins with: an initializer, its class or its name; None for the
            variable scope's.
        moving_mean_initializer: What the variable begins with: an initializer, its class or its name; None
            for the variable scope's.
        moving_variance_initializer: What the variable begins with: an initializer, its class or its name;
            None for the variable scope's.
        beta_regularizer: From the variable to a scalar that is added to the losses, or None.
        gamma_regularizer: From the variable to a scalar that is added to the losses, or None.
        beta_constraint: From the variable's updated value to the one that it gets, or None.
        gamma_constraint: From the variable's updated value to the one that it gets, or None.
        renorm: Not available.
        renorm_clipping: Not available.
        renorm_momentum: Not available.
        fused: None and True take one op for images with channels in axis 1 or 3, False never does.
        trainable: Whether its variables are among those that optimizers train.
        virtual_batch_size: Not available.
        adjustment: Not available.
        name: A name for the operation.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: Whether the variables of that scope are taken again, for the functions of gf.layers.

    Raises:
        ValueError: If the rank or the number of channels is not known, and for renorm, virtual_batch_size and
            adjustment, which graphflow does not have.
    """

    def __init__(
        self,
        axis: int | list[int] = -1,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Initializer | str = Zeros(),
        gamma_initializer: Initializer | str = Ones(),
        moving_mean_initializer: Initializer | str = Zeros(),
        moving_variance_initializer: Initializer | str = Ones(),
        beta_regularizer: Regularizer | None = None,
        gamma_regularizer: Regularizer | None = None,
        beta_constraint: Constraint | None = None,
        gamma_constraint: Constraint | None = None,
        renorm: bool = False,
        renorm_clipping: Mapping[str, TensorLike] | None = None,
        renorm_momentum: float = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Callable[..., Any] | None = None,
        name: str | None = None,
        dtype: DTypeLike | None = None,
        _scope: str | VariableScope | None = None,
        _reuse: bool | ReuseMode | None = None,
    ) -> None:
        super().__init__(trainable, name, dtype, None, _scope, _reuse)
        if not isinstance(axis, int | list | tuple):
            raise TypeError(f"axis must be int or list, type given: {type(axis).__name__}")
        for argument, value in (
            ("renorm", renorm), ("virtual_batch_size", virtual_batch_size), ("adjustment", adjustment),
        ):  # fmt: skip
            if value:
                raise ValueError(
                    f"batch_normalization: {argument} is not available; leave it out, or build it of gf.nn.moments "
                    "and gf.nn.batch_normalization."
                )
        self.axis: Any = axis if isinstance(axis, int) else list(axis)
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.beta_initializer: Initializer | None = initializer_of(beta_initializer)
        self.gamma_initializer: Initializer | None = initializer_of(gamma_initializer)
        self.moving_mean_initializer: Initializer | None = initializer_of(moving_mean_initializer)
        self.moving_variance_initializer: Initializer | None = initializer_of(moving_variance_initializer)
        self.beta_regularizer = beta_regularizer
        self.gamma_regularizer = gamma_regularizer
        self.beta_constraint = beta_constraint
        self.gamma_constraint = gamma_constraint
        self.fused: bool = True if fused is None else bool(fused)

    def _weight(self, name: str, shape: list[int], **arguments: Any) -> Any:
        # Statistics and factors of half precision would lose too much.
        dtype = "float32" if self.dtype in ("float16", "bfloat16") else self.dtype
        return self.add_weight(name, shape, dtype, **arguments)

    def build(self, input_shape: ShapeLike) -> None:
        """Makes gamma, beta, moving_mean and moving_variance.

        Args:
            input_shape: The shape of the inputs.
        """
        dims = shapes.as_dims(input_shape)
        if not dims:
            raise ValueError(f"batch_normalization: the input of {self.name!r} has an undefined rank.")
        rank = len(dims)
        given = [self.axis] if isinstance(self.axis, int) else self.axis
        axes = [axis + rank if axis < 0 else axis for axis in given]
        if any(not 0 <= axis < rank for axis in axes) or len(set(axes)) != len(axes):
            raise ValueError(
                f"batch_normalization: invalid axis {self.axis} for inputs of shape {input_shape}."
            )
        sizes = {axis: dims[axis] for axis in axes}
        if None in sizes.values():
            raise ValueError(
                f"batch_normalization: the input of {self.name!r} has an undefined `axis` dimension; its shape is "
                f"{input_shape}."
            )
        self.axis = axes
        self.fused = self.fused and rank == 4 and axes in ([1], [3])
        self.input_spec: InputSpec = InputSpec(ndim=rank, axes=sizes)
        shape = [sizes.get(axis) or 1 for axis in range(rank)] if len(axes) > 1 else [dims[axes[0]] or 0]
        self.gamma: VariableLike | None = None
        self.beta: VariableLike | None = None
        self._build_factors(shape)
        self._build_averages(shape)
        self.built = True

    def _build_factors(self, shape: list[int]) -> None:
        self._build_gamma(shape)
        self._build_beta(shape)

    def _build_gamma(self, shape: list[int]) -> None:
        if self.scale:
            self.gamma = self._weight(
                "gamma", shape, initializer=self.gamma_initializer, regularizer=self.gamma_regularizer,
                constraint=self.gamma_constraint, trainable=True,
            )  # fmt: skip
        elif self.fused:
            self._no_gamma = constant(1.0, dtypes.float32, shape)

    def _build_beta(self, shape: list[int]) -> None:
        if self.center:
            self.beta = self._weight(
                "beta", shape, initializer=self.beta_initializer, regularizer=self.beta_regularizer,
                constraint=self.beta_constraint, trainable=True,
            )  # fmt: skip
        elif self.fused:
            self._no_beta = constant(0.0, dtypes.float32, shape)

    def _build_averages(self, shape: list[int]) -> None:
        # They are never cut into parts: a partitioner is for what is trained.
        assert self._scope is not None
        partitioner = self._scope.partitioner
        self._scope.set_partitioner(None)
        try:
            mean, variance = (
                self._weight(
                    name, shape, initializer=initializer, trainable=False,
                    synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN,
                )
                for name, initializer in (
                    ("moving_mean", self.moving_mean_initializer),
                    ("moving_variance", self.moving_variance_initializer),
                )
            )  # fmt: skip
            self.moving_mean: VariableLike = mean
            self.moving_variance: VariableLike = variance
        finally:
            self._scope.set_partitioner(partitioner)

    def call(self, inputs: Any, training: TensorLike = False) -> Tensor:
        """The inputs normalised: by the batch if `training`, else by the averages.

        Args:
            inputs: A tensor, whose shape the class describes.
            training: A bool, or a scalar bool tensor.
        """
        training = convert_to_tensor(training) if isinstance(training, Variable) else training
        return self._fused(inputs, training) if self.fused else self._composed(inputs, training)

    def compute_output_shape(self, input_shape: ShapeLike) -> shapes.TensorShape:
        """The input's shape.

        Args:
            input_shape: The shape of the inputs.
        """
        return shapes.as_shape(input_shape)

    def _move(self, variable: Any, value: Tensor, momentum: Any) -> Tensor:
        with variable.graph.colocate_with(variable.op):
            return assign_moving_average(
                variable, math.cast(value, variable.dtype), momentum, self._is_debiased(variable)
            )

    def _is_debiased(self, variable: Any) -> bool:
        """Whether an average is corrected for having begun at zero."""
        return False

    def _fused(self, inputs: Tensor, training: Any) -> Tensor:
        gamma = self._no_gamma if self.gamma is None else self.gamma
        beta = self._no_beta if self.beta is None else self.beta
        settings: dict[str, Any] = {
            "epsilon": self.epsilon, "data_format": "NCHW" if self.axis == [1] else "NHWC",
        }  # fmt: skip
        outputs, mean, variance = smart_cond(
            training,
            lambda: fused_batch_norm(inputs, gamma, beta, **settings),
            lambda: fused_batch_norm(
                inputs, gamma, beta, self.moving_mean, self.moving_variance, is_training=False, **settings
            ),
        )
        known = smart_constant_value(training)
        if known is None:
            momentum = smart_cond(training, lambda: self.momentum, lambda: 1.0)
        else:
            momentum = convert_to_tensor(self.momentum)
        if known is not False:
            self.add_update(lambda: self._move(self.moving_mean, mean, momentum))
            self.add_update(lambda: self._move(self.moving_variance, variance, momentum))
        result: Tensor = outputs
        return result

    def _composed(self, inputs: Tensor, training: Any) -> Tensor:
        dims = inputs.dims
        assert dims is not None
        rank, wide = len(dims), self.moving_mean.dtype
        over = [axis for axis in range(rank) if axis not in self.axis]
        spread: list[Any] = [dims[axis] if axis in self.axis else 1 for axis in range(rank)]

        def broadcast(vector: Any) -> Any:
            needed = vector is not None and len(vector.shape) != rank and over != list(range(rank - 1))
            return array.reshape(vector, spread) if needed else vector

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        mean: Any = self.moving_mean
        variance: Any = self.moving_variance
        if smart_constant_value(training) is not False:
            batch_mean, batch_variance = moments(math.cast(inputs, wide), over, keepdims=len(self.axis) > 1)
            mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
            variance = smart_cond(
                training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance)
            )
            for variable, value in ((self.moving_mean, mean), (self.moving_variance, variance)):
                moved = partial(self._move, variable, value, self.momentum)
                self.add_update(smart_cond(training, moved, partial(convert_to_tensor, variable)))
        mean, variance = math.cast(mean, inputs.dtype), math.cast(variance, inputs.dtype)
        offset = None if offset is None else math.cast(offset, inputs.dtype)
        scale = None if scale is None else math.cast(scale, inputs.dtype)
        outputs = normalize(inputs, broadcast(mean), broadcast(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs


def batch_normalization(
    inputs: TensorLike,
    axis: int | list[int] = -1,
    momentum: float = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer | str = Zeros(),
    gamma_initializer: Initializer | str = Ones(),
    moving_mean_initializer: Initializer | str = Zeros(),
    moving_variance_initializer: Initializer | str = Ones(),
    beta_regularizer: Regularizer | None = None,
    gamma_regularizer: Regularizer | None = None,
    beta_constraint: Constraint | None = None,
    gamma_constraint: Constraint | None = None,
    training: TensorLike = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: bool | ReuseMode | None = None,
    renorm: bool = False,
    renorm_clipping: Mapping[str, TensorLike] | None = None,
    renorm_momentum: float = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Callable[..., Any] | None = None,
) -> Tensor:
    """Inputs normalised by their batch if `training`, a bool or a scalar bool tensor, is true; else by the averages.

    TensorFlow: tf.layers.batch_normalization. For the arguments, and what a training step must run, see
    BatchNormalization.

    Args:
        inputs: A tensor, whose shape the class describes.
        axis: The axis of the channels, an int or a list of them.
        momentum: Of the moving averages, near 1.
        epsilon: Added to the variance.
        center: Whether beta is added.
        scale: Whether the result is multiplied by gamma.
        beta_initializer: What the variable begins with: an initializer, its class or its name; None for the
            variable scope's.
        gamma_initializer: What the variable begins with: an initializer, its class or its name; None for the
            variable scope's.
        moving_mean_initializer: What the variable begins with: an initializer, its class or its name; None
            for the variable scope's.
        moving_variance_initializer: What the variable begins with: an initializer, its class or its name;
            None for the variable scope's.
        beta_regularizer: From the variable to a scalar that is added to the losses, or None.
        gamma_regularizer: From the variable to a scalar that is added to the losses, or None.
        beta_constraint: From the variable's updated value to the one that it gets, or None.
        gamma_constraint: From the variable's updated value to the one that it gets, or None.
        training: Whether to normalise by the batch, a bool or a scalar bool tensor.
        trainable: Whether its variables are among those that optimizers train.
        name: A name for the operation.
        reuse: Whether to take the variables of an earlier layer of that name.
        renorm: Not available.
        renorm_clipping: Not available.
        renorm_momentum: Not available.
        fused: Whether images are normalised by one kernel; None where it can be.
        virtual_batch_size: Not available.
        adjustment: Not available.

    Returns:
        The outputs, a tensor.
    """
    layer = BatchNormalization(
        axis, momentum, epsilon, center, scale, beta_initializer, gamma_initializer, moving_mean_initializer,
        moving_variance_initializer, beta_regularizer, gamma_regularizer, beta_constraint, gamma_constraint, renorm,
        renorm_clipping, renorm_momentum, fused, trainable, virtual_batch_size, adjustment, name, None, name, reuse,
    )  # fmt: skip
    result: Tensor = layer(inputs, training=training)
    return result

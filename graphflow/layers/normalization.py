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
from graphflow._core.ops.array.shaping import identity, stop_gradient
from graphflow._core.ops.control_flow.smart_cond import smart_cond, smart_constant_value
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math import math
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.state.initializers import Ones, Zeros
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation, VariableSynchronization
from graphflow.layers.arguments import initializer_of
from graphflow.layers.base import Layer
from graphflow.layers.input_spec import InputSpec
from graphflow.nn import batch_normalization as normalize
from graphflow.nn import fused_batch_norm, moments, relu
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
        renorm: Whether training, too, normalises by averages, those of mean and deviation over the last batches, to
            which gradients are blind (batch renormalization; Ioffe 2017). Three variables more: moving_stddev,
            renorm_mean and renorm_stddev.
        renorm_clipping: How far the batch may be from these averages: scalars rmin and rmax for the quotient of the
            deviations, dmax for the distance of the means; by default any.
        renorm_momentum: Of these averages.
        fused: None and True take one op for images with channels in axis 1 or 3, False never does.
        trainable: Whether its variables are among those that optimizers train.
        virtual_batch_size: How many examples are normalised together, which must divide the batch's size; by default
            all.
        adjustment: From the shape of the inputs, a tensor, to factors and summands for what is normalised in training,
            which broadcast with the inputs.
        name: A name for the operation.
        dtype: Of the variables; by default that of the first input.
        _scope: The variable scope, for the functions of gf.layers.
        _reuse: Whether the variables of that scope are taken again, for the functions of gf.layers.

    Raises:
        ValueError: If the rank or the number of channels is not known, for other keys of renorm_clipping, and for a
            virtual_batch_size below 1, of normalisation along the batch, or together with an adjustment.
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
        self._set_corrections(renorm, renorm_clipping, renorm_momentum, virtual_batch_size, adjustment)
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
        self.fused: bool = fused is None or bool(fused)

    def _set_corrections(
        self,
        renorm: bool,
        clipping: Mapping[str, TensorLike] | None,
        momentum: float,
        virtual_batch_size: int | None,
        adjustment: Callable[..., Any] | None,
    ) -> None:
        if renorm and set(clipping or ()) - {"rmin", "rmax", "dmax"}:
            raise ValueError(f"renorm_clipping {clipping} contains keys not in ['rmax', 'rmin', 'dmax']")
        self.renorm = renorm
        self.renorm_clipping: dict[str, TensorLike] = dict(clipping or {})
        self.renorm_momentum = momentum
        self.virtual_batch_size = virtual_batch_size
        self.adjustment = adjustment

    @property
    def _is_plain(self) -> bool:
        """Whether batches are normalised by their own moments alone, as the fused op does."""
        whole = self.virtual_batch_size is None and self.adjustment is None
        return whole and not self.renorm

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
        self.fused = self.fused and rank == 4 and axes in ([1], [3]) and self._is_plain
        self.input_spec: InputSpec = InputSpec(ndim=rank, axes=sizes)
        shape = [dims[axes[0]] or 0]
        if len(axes) > 1 or self.virtual_batch_size is not None:
            shape = [sizes.get(axis) or 1 for axis in range(rank)]
        if self.virtual_batch_size is not None:
            self._check_groups()
            # The examples of a group are one axis, the groups the next.
            shape.insert(1, 1)
            self.axis = [axis + 1 for axis in axes]
        self.gamma: VariableLike | None = None
        self.beta: VariableLike | None = None
        self._build_factors(shape)
        self._build_averages(shape)
        self.built = True

    def _check_groups(self) -> None:
        if self.virtual_batch_size is None or self.virtual_batch_size <= 0:
            raise ValueError(
                f"batch_normalization: virtual_batch_size must be a positive integer that divides the size of the "
                f"batch, not {self.virtual_batch_size}."
            )
        if 0 in self.axis:
            raise ValueError(
                "batch_normalization: with virtual_batch_size the first axis must be that of the batch, and cannot be "
                "among `axis`."
            )
        if self.adjustment is not None:
            raise ValueError("batch_normalization: with virtual_batch_size adjustment cannot be given.")

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
            self._make_averages(shape)
        finally:
            self._scope.set_partitioner(partitioner)

    def _make_averages(self, shape: list[int]) -> None:
        def average(name: str, initializer: Any) -> Any:
            return self._weight(
                name, shape, initializer=initializer, trainable=False,
                synchronization=VariableSynchronization.ON_READ, aggregation=VariableAggregation.MEAN,
            )  # fmt: skip

        self.moving_mean: VariableLike = average("moving_mean", self.moving_mean_initializer)
        self.moving_variance: VariableLike = average("moving_variance", self.moving_variance_initializer)
        if self.renorm:
            self.moving_stddev: VariableLike = average("moving_stddev", self._root_of_variance)
            self.renorm_mean: VariableLike = average("renorm_mean", self.moving_mean_initializer)
            self.renorm_stddev: VariableLike = average("renorm_stddev", self._root_of_variance)

    def _root_of_variance(self, *args: Any, **kwargs: Any) -> Tensor:
        """The initial value of a deviation."""
        assert self.moving_variance_initializer is not None
        initial: Any = self.moving_variance_initializer
        root: Tensor = math.sqrt(initial(*args, **kwargs))
        return root

    def call(self, inputs: Any, training: TensorLike = False) -> Tensor:
        """The inputs normalised: by the batch if `training`, else by the averages.

        Args:
            inputs: A tensor, whose shape the class describes.
            training: A bool, or a scalar bool tensor.
        """
        training = convert_to_tensor(training) if isinstance(training, Variable) else training
        if self.fused:
            return self._fused(inputs, training)
        if self.virtual_batch_size is None:
            return self._composed(inputs, training)
        known = [-1, *inputs.shape.as_list()[1:]]
        groups = array.reshape(inputs, [self.virtual_batch_size, *known])
        result: Tensor = array.reshape(self._composed(groups, training), known)
        return result

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
        grouped = self.virtual_batch_size is not None
        if grouped:
            del over[1]
        spread: list[Any] = [dims[axis] if axis in self.axis else 1 for axis in range(rank)]

        def broadcast(vector: Any) -> Any:
            needed = vector is not None and len(vector.shape) != rank and over != list(range(rank - 1))
            return array.reshape(vector, spread) if needed else vector

        scale, offset = broadcast(self.gamma), broadcast(self.beta)
        mean: Any = self.moving_mean
        variance: Any = self.moving_variance
        if smart_constant_value(training) is not False:
            if self.adjustment is not None:
                first = self.adjustment(array.shape(inputs))
                neutral = zip(first, (array.ones_like, array.zeros_like), strict=True)
                factor, summand = [
                    smart_cond(training, partial(identity, given), partial(like, given))
                    for given, like in neutral
                ]
                scale, offset = _then(factor, summand, scale, offset)
            batch_mean, batch_variance = self._moments(
                math.cast(inputs, wide), over, grouped or len(self.axis) > 1
            )
            mean = smart_cond(training, lambda: batch_mean, lambda: convert_to_tensor(self.moving_mean))
            variance = smart_cond(
                training, lambda: batch_variance, lambda: convert_to_tensor(self.moving_variance)
            )
            new_mean, new_variance = mean, variance
            if grouped:
                new_mean, new_variance = (reduce_mean(each, 1, keepdims=True) for each in (mean, variance))
            move_variance = partial(self._move, self.moving_variance, new_variance, self.momentum)
            if self.renorm:
                factor, summand, new_mean, new_variance = self._corrections(new_mean, new_variance, training)
                scale, offset = _then(broadcast(factor), broadcast(summand), scale, offset)
                move_variance = partial(self._move_deviation, new_variance)
            move_mean = partial(self._move, self.moving_mean, new_mean, self.momentum)
            for variable, move in ((self.moving_mean, move_mean), (self.moving_variance, move_variance)):
                self.add_update(smart_cond(training, move, partial(convert_to_tensor, variable)))
        mean, variance = math.cast(mean, inputs.dtype), math.cast(variance, inputs.dtype)
        offset = None if offset is None else math.cast(offset, inputs.dtype)
        scale = None if scale is None else math.cast(scale, inputs.dtype)
        outputs = normalize(inputs, broadcast(mean), broadcast(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _moments(self, inputs: Tensor, over: list[int], keepdims: bool) -> tuple[Tensor, Tensor]:
        return moments(inputs, over, keepdims=keepdims)

    def _corrections(self, mean: Any, variance: Any, training: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """By what a batch differs from the averages over batches, and its moments, after these are moved."""
        deviation = math.sqrt(variance + self.epsilon)
        usual = math.maximum(self.renorm_stddev, self.epsilon**0.5)
        factor = deviation / usual
        summand = (mean - self.renorm_mean) / usual
        with control_dependencies([factor, summand]):  # They are of the averages before this batch.
            mean, deviation = identity(mean), identity(deviation)
        limits = self.renorm_clipping
        if limits.get("rmin") is not None:
            factor = math.maximum(factor, limits["rmin"])
        if limits.get("rmax") is not None:
            factor = math.minimum(factor, limits["rmax"])
        if limits.get("dmax") is not None:
            farthest = convert_to_tensor(limits["dmax"], dtype=summand.dtype)
            summand = math.minimum(math.maximum(summand, -farthest), farthest)
        factor, summand = (
            stop_gradient(smart_cond(training, partial(identity, given), partial(like, given)))
            for given, like in ((factor, array.ones_like), (summand, array.zeros_like))
        )
        moved = [
            smart_cond(
                training,
                partial(self._move, average, value, self.renorm_momentum),
                partial(identity, average),
            )
            for average, value in ((self.renorm_mean, mean), (self.renorm_stddev, deviation))
        ]
        with control_dependencies(moved):
            return factor, summand, identity(mean), identity(variance)

    def _move_deviation(self, variance: Tensor) -> Tensor:
        """Moves the average of deviations towards a batch's, and has the variance's follow it."""
        moved = self._move(self.moving_stddev, math.sqrt(variance + self.epsilon), self.momentum)
        average: Any = self.moving_variance
        with average.graph.colocate_with(average.op):
            result: Tensor = average.assign(relu(moved * moved - self.epsilon))
            return result


def _then(scale: Any, offset: Any, then_scale: Any, then_offset: Any) -> tuple[Any, Any]:
    """One factor and summand for two applied one after the other, of which the second may be None."""
    if then_scale is not None:
        scale, offset = scale * then_scale, offset * then_scale
    if then_offset is not None:
        offset = offset + then_offset
    return scale, offset


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
        renorm: Whether training, too, normalises by averages, to which gradients are blind.
        renorm_clipping: How far the batch may be from them: scalars rmin, rmax and dmax.
        renorm_momentum: Of these averages.
        fused: Whether images are normalised by one kernel; None where it can be.
        virtual_batch_size: How many examples are normalised together; by default all.
        adjustment: From the inputs' shape to factors and summands for what is normalised in training.

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

"""Losses that are scaled before gradients are computed, so that small gradients of float16 do not vanish.

Source: Micikevicius et al., "Mixed Precision Training", ICLR 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import TensorLike, VariableLike
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import group, no_op, with_dependencies
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.comparison import greater_equal, is_finite, logical_and, logical_not
from graphflow._core.ops.math.math import maximum
from graphflow._core.ops.math.reductions import reduce_all
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_proto import VariableAggregation
from graphflow.distribute.context import get_cross_tower_context, one_of_several_towers
from graphflow.train.optimizers.optimizer import Optimizer


class LossScale:
    """What a loss is multiplied by; a call gives it, a float32 scalar (tf.train.experimental.LossScale)."""

    def __call__(self) -> Tensor:
        """The present scale."""
        raise NotImplementedError(f"{type(self).__name__} must define a call, which gives the scale.")

    def update(self, grads: Any) -> tuple[Operation | Tensor, Tensor | bool]:
        """What adapts the scale to gradients.

        Args:
            grads: Gradients that are divided by the scale already, or None for some.

        Returns:
            What is to be run, and whether the gradients may be applied.
        """
        raise NotImplementedError(f"{type(self).__name__} must define update(grads).")

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        raise NotImplementedError(f"{type(self).__name__} must define get_config().")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """One of these arguments.

        Args:
            config: What get_config gave.
        """
        return cls(**config)

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it: its variables, by name."""
        return []


class FixedLossScale(LossScale):
    """A scale that stays (tf.train.experimental.FixedLossScale).

    Args:
        loss_scale_value: A number, at least 1.

    Raises:
        ValueError: For another value.
    """

    def __init__(self, loss_scale_value: float) -> None:
        if not isinstance(loss_scale_value, int | float) or loss_scale_value < 1:
            raise ValueError(f"loss_scale_value must be a number of at least 1, got {loss_scale_value!r}.")
        self._value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        """The scale."""
        return convert_to_tensor(self._value)

    def update(self, grads: Any) -> tuple[Operation | Tensor, Tensor | bool]:
        """An operation that does nothing, and True.

        Args:
            grads: Gradients.
        """
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._value})"

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {"loss_scale_value": self._value}


class DynamicLossScale(LossScale):
    """A scale that grows while gradients are finite, and falls if they are not.

    TensorFlow: tf.train.experimental.DynamicLossScale.

    Args:
        initial_loss_scale: What it begins with.
        increment_period: After so many steps with finite gradients it grows.
        multiplier: The factor by which it grows and falls.
    """

    def __init__(
        self, initial_loss_scale: float = 2**15, increment_period: int = 2000, multiplier: float = 2.0
    ) -> None:
        self._initial, self._period, self._multiplier = (
            float(initial_loss_scale), int(increment_period), float(multiplier),
        )  # fmt: skip
        self._scale = Variable(
            self._initial, trainable=False, name="current_loss_scale", dtype=dtypes.float32
        )
        self._good_steps = Variable(0, trainable=False, name="good_steps", dtype=dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        """What it begins with."""
        return self._initial

    @property
    def increment_period(self) -> int:
        """After so many steps with finite gradients it grows."""
        return self._period

    @property
    def multiplier(self) -> float:
        """The factor by which it grows and falls."""
        return self._multiplier

    def __call__(self) -> Tensor:
        """The present scale."""
        return convert_to_tensor(self._scale)

    def update(self, grads: Any) -> tuple[Operation | Tensor, Tensor | bool]:
        """A tensor that lets the scale grow or fall when it is run, and whether all gradients are finite.

        Args:
            grads: Gradients that are divided by the scale already, or None for some.
        """
        strategy = get_cross_tower_context()
        if strategy is None or strategy.is_single_tower:
            finite = _all_finite(grads)
        else:
            found = strategy.call_for_each_tower(lambda g: cast(_all_finite(g), dtypes.float32), grads)
            total = strategy.unwrap(strategy.reduce(VariableAggregation.SUM, found))[0]
            finite = greater_equal(total, float(strategy.num_towers))
        # By selection: the variables may have copies on several devices, where a branch writes on one. The scope is
        # that of TensorFlow's branches, after which those of a step that may be left out are counted: names of slots.
        with get_default_graph().name_scope("cond"):
            larger = self._scale * self._multiplier
            grows = self._good_steps + 1 >= self._period
            grown = where(logical_and(grows, is_finite(larger)), larger, self._scale)
            scale = where(finite, grown, maximum(self._scale / self._multiplier, 1.0))
            go_on = logical_and(finite, logical_not(grows))
            steps = where(go_on, self._good_steps + 1, constant(0, dtypes.int64))
            changes = group(self._scale.assign(scale).op, self._good_steps.assign(steps).op)
        return with_dependencies([changes], finite), finite

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self._initial}, increment_period={self._period}, "
            f"multiplier={self._multiplier})"
        )

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        return {
            "initial_loss_scale": self._initial, "increment_period": self._period, "multiplier": self._multiplier,
        }  # fmt: skip

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it: its variables, by name."""
        return [("current_loss_scale", self._scale), ("good_steps", self._good_steps)]


def _all_finite(gradients: Any) -> Tensor:
    """Whether all gradients of a structure are finite, those that are None left out."""
    present = [
        g.values if isinstance(g, IndexedSlices) else g for g in nest.flatten(gradients) if g is not None
    ]
    return reduce_all([True, *[reduce_all(is_finite(g)) for g in present]])


def _loss_scale(value: Any) -> LossScale:
    if value == "dynamic":
        return DynamicLossScale()
    if isinstance(value, LossScale):
        return value
    if isinstance(value, int | float):
        return FixedLossScale(value)
    raise ValueError(f"A loss scale is a number, 'dynamic' or a LossScale, got {value!r}.")


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer that scales the loss of another (tf.train.experimental.MixedPrecisionLossScaleOptimizer).

    With a DynamicLossScale, a step with gradients that are not finite changes no variable and is not counted.

    Args:
        opt: The other optimizer.
        loss_scale: A number, "dynamic" or a LossScale.

    Raises:
        ValueError: For what is no gf.train.Optimizer or no scale.
    """

    def __init__(self, opt: Optimizer, loss_scale: float | str | LossScale) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be a gf.train.Optimizer, got {opt!r}.')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer, self._loss_scale = opt, _loss_scale(loss_scale)

    def checkpoint_parts(self) -> list[tuple[str, Any]]:
        """What a gf.train.Checkpoint holds of it: the optimizer and the scale."""
        return [("base_optimizer", self._optimizer), ("loss_scale", self._loss_scale)]

    def compute_gradients(
        self,
        loss: TensorLike | Callable[[], TensorLike],
        *args: Any,
        **kwargs: Any,
    ) -> list[tuple[Tensor | Any, Variable]]:
        """The gradients of the loss, computed of the scaled one and divided by the scale.

        Args:
            loss: A tensor, or a function without arguments that makes one.
            *args: As for any optimizer.
            **kwargs: As for any optimizer.
        """
        value = convert_to_tensor(loss() if callable(loss) and not isinstance(loss, Tensor) else loss)
        scaled = value * cast(self._loss_scale(), value.dtype)
        found = self._optimizer.compute_gradients(scaled, *args, **kwargs)
        share = 1.0 / self._loss_scale()
        return [(None if g is None else _times(g, share), v) for g, v in found]

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: VariableLike | None = None,
        name: str | None = None,
    ) -> Operation:
        """The operation that applies gradients, if they are finite or the scale is fixed.

        Args:
            grads_and_vars: Pairs (gradient, variable), as compute_gradients gives them.
            global_step: A variable that grows by one with each update, or None.
            name: A name for the operation.

        Raises:
            ValueError: For a scale that changes, in one of several towers.
        """
        pairs = tuple(grads_and_vars)
        if not isinstance(self._loss_scale, DynamicLossScale):
            return self._optimizer.apply_gradients(pairs, global_step, name)
        if one_of_several_towers() is not None:
            raise ValueError(
                "A dynamic loss scale is for one tower: each of several would have its own. Give loss_scale a number."
            )
        label = name or self.get_name()
        update, finite = self._loss_scale.update([g for g, _ in pairs])
        applied = cond(
            finite,
            lambda: group(self._optimizer.apply_gradients(pairs, global_step, f"{label}-wrapped")),
            no_op,
        )
        return group(applied, update, name=label)


def _times(gradient: Any, factor: Tensor) -> Any:
    if isinstance(gradient, IndexedSlices):
        values = gradient.values * cast(factor, gradient.values.dtype)
        return IndexedSlices(values, gradient.indices, dense_shape=gradient.dense_shape)
    return gradient * cast(factor, gradient.dtype)


def enable_mixed_precision_graph_rewrite(
    opt: Optimizer, loss_scale: float | str | LossScale = "dynamic"
) -> MixedPrecisionLossScaleOptimizer:
    """An optimizer whose loss is scaled (tf.train.experimental.enable_mixed_precision_graph_rewrite).

    TensorFlow also lets a GPU compute some operations of the graph in float16; graphflow computes in the dtypes that
    the program says, as TensorFlow does on a processor.

    Args:
        opt: A gf.train.Optimizer.
        loss_scale: A number, "dynamic" or a LossScale.

    Raises:
        ValueError: For another optimizer, or one that scales its loss already.

    Examples:
        >>> v = gf.Variable(1.0)
        >>> optimizer = gf.train.GradientDescentOptimizer(0.25)
        >>> optimizer = gf.train.experimental.enable_mixed_precision_graph_rewrite(optimizer)
        >>> step = optimizer.minimize(v * v)
        >>> with gf.Session() as session:
        ...     session.run(gf.global_variables_initializer())
        ...     session.run(step)
        ...     print(session.run(v))
        0.5
    """
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError('"opt" scales its loss already.')
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite() -> None:
    """Does nothing: graphflow computes in the dtypes that the program says."""

"""optimize_loss: a training step in one call (tf.contrib.layers)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.slices import IndexedSlices
from graphflow._core.graph.types import NumberLike, TensorLike, VariableLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.io.summaries import histogram, scalar
from graphflow._core.ops.math import math
from graphflow._core.ops.math.clip import clip_by_global_norm, global_norm
from graphflow._core.ops.random import truncated_normal
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import Constant
from graphflow._core.ops.state.variable_collections import trainable_variables
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.train.moving_averages import assign_moving_average
from graphflow.train.optimizers import standard as optimizers
from graphflow.train.optimizers.optimizer import Optimizer
from graphflow.train.steps import get_global_step

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable

OPTIMIZER_CLS_NAMES: Final[Mapping[str, Callable[..., Optimizer]]] = {
    "Adagrad": optimizers.AdagradOptimizer,
    "Adam": optimizers.AdamOptimizer,
    "Ftrl": optimizers.FtrlOptimizer,
    "Momentum": partial(optimizers.MomentumOptimizer, momentum=0.9),
    "RMSProp": optimizers.RMSPropOptimizer,
    "SGD": optimizers.GradientDescentOptimizer,
}

OPTIMIZER_SUMMARIES: Final = (
    "learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm",
)  # fmt: skip


def optimize_loss(
    loss: TensorLike,
    global_step: Variable | None,
    learning_rate: TensorLike | None,
    optimizer: str | type[Optimizer] | Optimizer | Callable[[Any], Optimizer],
    gradient_noise_scale: float | None = None,
    gradient_multipliers: Mapping[Any, Any] | None = None,
    clip_gradients: float | Callable[[list[tuple[Any, Any]]], list[tuple[Any, Any]]] | None = None,
    learning_rate_decay_fn: Callable[[Any, Any], Any] | None = None,
    update_ops: Sequence[Any] | None = None,
    variables: Sequence[Any] | None = None,
    name: str | None = None,
    summaries: Sequence[str] | None = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """The loss, as a tensor that makes a step of training when it runs (tf.contrib.layers.optimize_loss).

    Args:
        loss: A scalar.
        global_step: A variable, None for the graph's.
        learning_rate: A number, which becomes a variable, a tensor, or None if the optimizer has its own.
        optimizer: A name of OPTIMIZER_CLS_NAMES, a class, an object, or a function of the learning rate.
        gradient_noise_scale: The deviation of noise that is added to gradients.
        gradient_multipliers: {variable or its name: factor}.
        clip_gradients: The largest global norm, or a function of (gradient, variable) pairs.
        learning_rate_decay_fn: A function of learning rate and step.
        update_ops: Run before, by default UPDATE_OPS.
        variables: By default the trainable ones.
        name: A name for the operation.
        summaries: Which of OPTIMIZER_SUMMARIES to build, by default the loss, the learning rate and the norm
            of all gradients.
        colocate_gradients_with_ops: Whether gradients are placed with the operations they belong to.
        increment_global_step: Whether the step grows.
    """
    graph = get_default_graph()
    shown = ("loss", "learning_rate", "global_gradient_norm") if summaries is None else tuple(summaries)
    if not set(shown) <= set(OPTIMIZER_SUMMARIES):
        raise ValueError(
            f"Summaries should be one of {', '.join(OPTIMIZER_SUMMARIES)}; you provided {shown}."
        )
    with variable_scope(name, "OptimizeLoss", [loss]):
        step = get_global_step() if global_step is None else global_step
        before = graph.get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else list(update_ops)
        with graph.control_dependencies(before):
            total = array.identity(convert_to_tensor(loss))
        rate = _rate(learning_rate, learning_rate_decay_fn, step)
        chosen = _optimizer(optimizer, rate)
        pairs = chosen.compute_gradients(
            total,
            trainable_variables() if variables is None else list(variables),
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gradient_noise_scale is not None:
            pairs = [(_noisy(g, gradient_noise_scale), v) for g, v in pairs]
        if gradient_multipliers is not None:
            pairs = _multiplied(pairs, gradient_multipliers)
        norms = "global_gradient_norm" in shown or "gradient_norm" in shown
        if norms:
            scalar("global_norm/gradient_norm", global_norm([g for g, _ in pairs]))
        if callable(clip_gradients):
            pairs = clip_gradients(pairs)
        elif clip_gradients is not None:
            clipped, _ = clip_by_global_norm([g for g, _ in pairs], clip_gradients)
            pairs = [(g, v) for g, (_, v) in zip(clipped, pairs, strict=True)]
        if norms and clip_gradients is not None:
            scalar("global_norm/clipped_gradient_norm", global_norm([g for g, _ in pairs]))
        _summarize(shown, total, rate if learning_rate_decay_fn else None, pairs)
        updated = chosen.apply_gradients(
            pairs, global_step=step if increment_global_step else None, name="train"
        )
        with graph.control_dependencies([updated]):
            return array.identity(total)


def _summarize(shown: Sequence[str], loss: Tensor, rate: Any, pairs: list[tuple[Any, Any]]) -> None:
    if "loss" in shown:
        scalar("loss", loss)
    if "learning_rate" in shown and rate is not None:
        scalar("learning_rate", rate)
    for gradient, variable in pairs:
        if gradient is None:
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        place = variable.name.replace(":", "_")
        if "gradients" in shown:
            histogram(f"gradients/{place}", values)
        if "gradient_norm" in shown:
            scalar(f"gradient_norm/{place}", global_norm([values]))


def _rate(learning_rate: Any, decay: Callable[[Any, Any], Any] | None, step: Any) -> Any:
    rate = learning_rate
    if isinstance(learning_rate, int | float):
        if learning_rate < 0.0:
            raise ValueError(f"Invalid learning_rate {learning_rate}: it must be at least 0.")
        rate = get_variable("learning_rate", [], dtypes.float32, Constant(learning_rate), trainable=False)
    if decay is not None:
        if rate is None or step is None:
            raise ValueError("learning_rate and global_step is required for learning_rate_decay_fn.")
        rate = decay(rate, step)
    return rate


def _optimizer(optimizer: Any, rate: Any) -> Optimizer:
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(
                f"Optimizer name should be one of {list(OPTIMIZER_CLS_NAMES)}, got {optimizer!r}."
            )
        optimizer = OPTIMIZER_CLS_NAMES[optimizer]
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise ValueError(f"optimizer must be a name, a class, an object or a function, got {optimizer!r}.")
    if rate is None and (inspect.isclass(optimizer) or optimizer in OPTIMIZER_CLS_NAMES.values()):
        raise ValueError("optimize_loss: a learning_rate is needed if the optimizer is a name or a class.")
    made = optimizer() if rate is None else optimizer(rate)
    if not isinstance(made, Optimizer):
        raise ValueError(f"optimizer must give a gf.train.Optimizer, got {made!r}.")
    return made


def _noisy(gradient: Any, scale: float) -> Any:
    if gradient is None:
        return None
    dense = convert_to_tensor(gradient)
    return dense + truncated_normal(array.shape(dense), dtype=dense.dtype) * scale


def _multiplied(pairs: list[tuple[Any, Any]], factors: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    result = []
    for gradient, variable in pairs:
        key = variable if variable in factors else variable.name
        if gradient is not None and key in factors:
            gradient = scaled_gradient(gradient, factors[key])
        result.append((gradient, variable))
    return result


def scaled_gradient(gradient: Any, factor: TensorLike) -> Any:
    """A gradient, dense or of some rows, times a factor, which is cast to its dtype.

    Args:
        gradient: A tensor or IndexedSlices.
        factor: A scalar.

    Returns:
        What `gradient` is, of the same dtype.
    """
    factor = math.cast(factor, gradient.dtype)
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * factor


def adaptive_clipping_fn(
    std_factor: NumberLike = 2.0,
    decay: NumberLike = 0.95,
    static_max_norm: NumberLike | None = None,
    global_step: VariableLike | Tensor | None = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: str | None = None,
) -> Callable[[list[tuple[Any, Any]]], list[tuple[Any, Any]]]:
    """A function that scales gradients down whose norm is unusual, for `clip_gradients` of optimize_loss.

    The logarithm of the norm has a moving mean and deviation; above exp(mean + std_factor * deviation) gradients get
    the norm exp(mean) (Krueger et al. 2014; TensorFlow's contrib.slim.adaptive_clipping_fn).

    Args:
        std_factor: From how many deviations above the mean a norm is unusual.
        decay: Of the moving averages, near 1.
        static_max_norm: The largest norm in any case, or None.
        global_step: If given, the averages move faster at the beginning.
        report_summary: Whether the norm from which on gradients are scaled down gets a summary.
        epsilon: What is added to the norm, and the least variance.
        name: A name for the scope of the averages.

    Returns:
        A function of (gradient, variable) pairs, which gives such pairs.
    """

    def clip(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        norm = global_norm([gradient for gradient, _ in pairs])
        largest, mean = _usual_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            scalar("global_norm/adaptive_max_gradient_norm", largest)
        factor: Any = array.where(norm < largest, array.ones_like(norm), math.exp(mean) / norm)
        if static_max_norm is not None:
            factor = math.minimum(static_max_norm / norm, factor)
        return [
            (None if gradient is None else scaled_gradient(gradient, factor), variable)
            for gradient, variable in pairs
        ]

    return clip


def _usual_norm(
    norm: Tensor, std_factor: Any, decay: Any, global_step: Any, epsilon: float, name: str | None
) -> tuple[Tensor, Tensor]:
    """The norm from which on gradients are scaled down, and the mean of its logarithm; both move."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        logarithm = math.log(norm + epsilon)
        if global_step is not None:
            steps = math.cast(global_step, dtypes.float32)
            decay = math.minimum(decay, steps / (steps + 1.0))

        def average(of: str, value: Tensor) -> Any:
            moving = get_variable(of, value.shape, value.dtype, Constant(0.0), trainable=False)
            return assign_moving_average(moving, value, decay, zero_debias=False)

        mean = average("mean", logarithm)
        variance = average("sq_mean", math.square(logarithm)) - math.square(mean)
        return math.exp(mean + std_factor * math.sqrt(math.maximum(epsilon, variance))), mean

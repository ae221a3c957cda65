"""Learning rates that change with the step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import NumberLike, TensorLike
from graphflow._core.ops.control_flow.control_flow import case, cond
from graphflow._core.ops.core import constant, convert_to_tensor
from graphflow._core.ops.math.math import (
    add,
    cast,
    ceil,
    cos,
    divide,
    equal,
    exp,
    floor,
    log,
    minimum,
    multiply,
    negative,
    pow_,
    sqrt,
    subtract,
    truediv,
)
from graphflow._core.ops.random import random_normal


def _start(learning_rate: Any, global_step: Any, *numbers: Any) -> list[Tensor]:
    """The rate as a tensor, and the step and other numbers as tensors of its dtype."""
    if global_step is None:
        raise ValueError("global_step is required for a learning-rate decay.")
    rate = convert_to_tensor(learning_rate, name="learning_rate")
    return [rate, cast(global_step, rate.dtype), *[cast(n, rate.dtype) for n in numbers]]


def exponential_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    decay_rate: NumberLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * decay_rate ** (step / decay_steps), in whole powers with `staircase`.

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        decay_rate: By which factor or rate, a scalar.
        staircase: Whether it decays at whole multiples of `decay_steps` alone.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.

    Examples:
        >>> rate = gf.train.exponential_decay(0.1, global_step=100, decay_steps=100, decay_rate=0.5)
        >>> gf.Session().run(rate)
        np.float32(0.05)
    """
    with get_default_graph().name_scope(name or "ExponentialDecay") as scope:
        rate, step, steps, decay = _start(learning_rate, global_step, decay_steps, decay_rate)
        power = divide(step, steps)
        return multiply(rate, pow_(decay, floor(power) if staircase else power), name=scope)


def natural_exp_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    decay_rate: NumberLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate * exp(-decay_rate * step / decay_steps).

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        decay_rate: By which factor or rate, a scalar.
        staircase: Whether it decays at whole multiples of `decay_steps` alone.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    return exponential_decay(
        learning_rate, global_step, decay_steps, exp(negative(decay_rate)), staircase, name
    )


def inverse_time_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    decay_rate: NumberLike,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """learning_rate / (1 + decay_rate * step / decay_steps).

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        decay_rate: By which factor or rate, a scalar.
        staircase: Whether it decays at whole multiples of `decay_steps` alone.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    with get_default_graph().name_scope(name or "InverseTimeDecay") as scope:
        rate, step, steps, decay = _start(learning_rate, global_step, decay_steps, decay_rate)
        power = divide(step, steps)
        return truediv(
            rate,
            add(constant(1, dtype=rate.dtype), multiply(decay, floor(power) if staircase else power)),
            name=scope,
        )


def polynomial_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    end_learning_rate: NumberLike = 0.0001,
    power: NumberLike = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From learning_rate to end_learning_rate by (1 - step / decay_steps) ** power; with `cycle` again and again.

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        end_learning_rate: The rate at the end.
        power: The exponent.
        cycle: Whether it begins anew behind `decay_steps`.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    with get_default_graph().name_scope(name or "PolynomialDecay") as scope:
        rate, step, steps, end, exponent = _start(
            learning_rate, global_step, decay_steps, end_learning_rate, power
        )
        if cycle:
            one = constant(1.0, dtype=rate.dtype)
            steps = multiply(
                steps,
                cond(equal(step, 0), lambda: one, lambda: ceil(divide(step, cast(decay_steps, rate.dtype)))),
            )
        else:
            step = minimum(step, steps)
        left = pow_(1 - divide(step, steps), exponent)
        return add(multiply(subtract(rate, end), left), end, name=scope)


def _boundary(edge: Tensor, step: Tensor) -> Tensor:
    if edge.dtype is step.dtype:
        return edge
    if edge.dtype is dtypes.int32 and step.dtype is dtypes.int64:
        wider: Tensor = cast(edge, step.dtype)
        return wider
    raise ValueError(f"Boundaries ({edge.dtype.name}) must have the same dtype as x ({step.dtype.name}).")


def piecewise_constant(
    x: TensorLike, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """values[i] for boundaries[i-1] < x <= boundaries[i].

    Args:
        x: The step, a scalar.
        boundaries: Ascending numbers.
        values: One number more.
        name: A name for the operation.

    Returns:
        The value, a scalar.
    """
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    with get_default_graph().name_scope(name or "PiecewiseConstant"):
        step = convert_to_tensor(x)
        edges = [_boundary(convert_to_tensor(b), step) for b in boundaries]
        choices = [convert_to_tensor(v) for v in values]
        if any(c.dtype is not choices[0].dtype for c in choices):
            raise ValueError(f"Values must all have the same dtype, got {[c.dtype.name for c in choices]}.")
        pairs: list[Any] = [(step <= edges[0], lambda: choices[0]), (step > edges[-1], lambda: choices[-1])]
        for low, high, choice in zip(edges[:-1], edges[1:], choices[1:-1], strict=True):
            pairs.append(((step > low) & (step <= high), lambda choice=choice: choice))
        return case(pairs, lambda: choices[0], exclusive=True)  # type: ignore[no-any-return]


def cosine_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Half a cosine from learning_rate down to alpha * learning_rate (Loshchilov and Hutter, 2016).

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        alpha: The least share of the rate.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    with get_default_graph().name_scope(name or "CosineDecay"):
        rate, step, steps = _start(learning_rate, global_step, decay_steps)
        fraction = minimum(step, steps) / steps
        return multiply(rate, (1 - alpha) * (0.5 * (1.0 + cos(math.pi * fraction))) + alpha)


def cosine_decay_restarts(
    learning_rate: NumberLike,
    global_step: TensorLike,
    first_decay_steps: NumberLike,
    t_mul: float = 2.0,
    m_mul: float = 1.0,
    alpha: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cosine decay that restarts, each period t_mul times longer and its start m_mul times lower.

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        first_decay_steps: How long the first cycle is.
        t_mul: How much longer each next one is.
        m_mul: By which factor each next one begins.
        alpha: The least share of the rate.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    with get_default_graph().name_scope(name or "SGDRDecay"):
        rate, step, steps = _start(learning_rate, global_step, first_decay_steps)
        done = step / steps
        if t_mul == 1.0:
            period = floor(done)
            fraction = done - period
        else:
            period = floor(log(1.0 - done * (1.0 - t_mul)) / math.log(t_mul))
            fraction = (done - (1.0 - t_mul**period) / (1.0 - t_mul)) / t_mul**period
        height = (m_mul**period) * 0.5 * (1.0 + cos(math.pi * fraction))
        return multiply(rate, (1 - alpha) * height + alpha)


def linear_cosine_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Tensor:
    """A linear decay times a cosine of num_periods (Bello et al., 2017).

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        num_periods: Of the cosine.
        alpha: Added to the linear part.
        beta: Added at the end.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    with get_default_graph().name_scope(name or "LinearCosineDecay"):
        rate, step, steps = _start(learning_rate, global_step, decay_steps)
        step = minimum(step, steps)
        linear = (steps - step) / steps
        return multiply(
            rate, (alpha + linear) * (0.5 * (1.0 + cos(2.0 * math.pi * num_periods * step / steps))) + beta
        )


def noisy_linear_cosine_decay(
    learning_rate: NumberLike,
    global_step: TensorLike,
    decay_steps: NumberLike,
    initial_variance: float = 1.0,
    variance_decay: float = 0.55,
    num_periods: float = 0.5,
    alpha: float = 0.0,
    beta: float = 0.001,
    name: str | None = None,
) -> Tensor:
    """linear_cosine_decay with noise in its linear part, which fades (Bello et al., 2017).

    Args:
        learning_rate: The rate at the beginning, a float scalar.
        global_step: The step, an integer scalar, such as the graph's global step.
        decay_steps: In how many steps it decays, a scalar.
        initial_variance: Of the noise at step 0.
        variance_decay: The power of the step by which the variance is divided.
        num_periods: Of the cosine.
        alpha: Added to the linear part.
        beta: Added at the end.
        name: A name for the operation.

    Returns:
        The rate at that step, a scalar of floats.
    """
    with get_default_graph().name_scope(name or "NoisyLinearCosineDecay"):
        rate, step, steps = _start(learning_rate, global_step, decay_steps)
        step = minimum(step, steps)
        linear = (steps - step) / steps
        deviation = sqrt(initial_variance / pow_(1.0 + step, variance_decay))
        noisy = linear + random_normal(linear.shape, stddev=deviation, dtype=linear.dtype)
        return multiply(
            rate, (alpha + noisy) * (0.5 * (1.0 + cos(2.0 * math.pi * num_periods * step / steps))) + beta
        )

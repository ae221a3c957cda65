"""What layers take as arguments in several forms: a number for each axis, words in any case, functions by name.

The names and the numbers behind them are those of Keras in TensorFlow 1.15, which its layers look them up in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.math import math, transcendental
from graphflow._core.ops.math.clip import clip_by_value
from graphflow._core.ops.nn import nn, softmax
from graphflow._core.ops.state import initializers


def integers(value: Any, count: int, what: str) -> tuple[int, ...]:
    """`count` integers from one for all or from one for each; ValueError if it is neither."""
    if isinstance(value, int):
        return (value,) * count
    try:
        found = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count:
        raise ValueError(f"The `{what}` argument must be a tuple of {count} integers. Received: {value}")
    return found


def padding_of(value: Any, causal: bool = False) -> str:
    """One of "valid", "same", or if that is allowed "causal", from the word in any case."""
    allowed = ("valid", "same", "causal") if causal else ("valid", "same")
    word = value.lower() if isinstance(value, str) else value
    if word not in allowed:
        raise ValueError(f"The `padding` argument must be one of {', '.join(allowed)}. Received: {value!r}")
    return str(word)


def layout_of(value: Any) -> str:
    """Either "channels_last" or "channels_first", from the word in any case; None is the first."""
    word = "channels_last" if value is None else value.lower() if isinstance(value, str) else value
    if word not in ("channels_last", "channels_first"):
        raise ValueError(
            f'The `data_format` argument must be "channels_first" or "channels_last". Received: {value!r}'
        )
    return str(word)


def _linear(x: Tensor) -> Tensor:
    return x


def _hard_sigmoid(x: Tensor) -> Tensor:
    result: Tensor = clip_by_value(x * 0.2 + 0.5, 0.0, 1.0)
    return result


_ACTIVATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "elu": nn.elu, "exponential": math.exp, "hard_sigmoid": _hard_sigmoid, "linear": _linear, "relu": nn.relu,
    "selu": nn.selu, "sigmoid": math.sigmoid, "softmax": softmax.softmax, "softplus": transcendental.softplus,
    "softsign": nn.softsign, "tanh": math.tanh,
}  # fmt: skip

_INITIALIZERS: Final[Mapping[str, Callable[..., Any]]] = {
    "zeros": initializers.Zeros,
    "ones": initializers.Ones,
    "constant": initializers.Constant,
    "identity": initializers.Identity,
    "orthogonal": initializers.Orthogonal,
    "variance_scaling": initializers.VarianceScaling,
    "glorot_uniform": initializers.GlorotUniform,
    "glorot_normal": initializers.GlorotNormal,
    "he_normal": initializers.he_normal,
    "he_uniform": initializers.he_uniform,
    "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform,
    "uniform": partial(initializers.RandomUniform, -0.05, 0.05),
    "random_uniform": partial(initializers.RandomUniform, -0.05, 0.05),
    "normal": partial(initializers.RandomNormal, 0.0, 0.05),
    "random_normal": partial(initializers.RandomNormal, 0.0, 0.05),
    "truncated_normal": partial(initializers.TruncatedNormal, 0.0, 0.05),
}


def _by_name(value: Any, known: Mapping[str, Callable[..., Any]], what: str) -> Any:
    if value is None or callable(value):
        return value
    if isinstance(value, str) and value in known:
        return known[value]
    raise ValueError(f"{what} must be a function, None, or one of {', '.join(known)}; got {value!r}.")


def activation_of(value: Any) -> Any:
    """An activation from a function or its name; None is none."""
    return _by_name(value, _ACTIVATIONS, "activation")


def name_of_activation(function: Any) -> str | None:
    """The name of an activation that has one."""
    return next((name for name, known in _ACTIVATIONS.items() if known is function), None)


def initializer_of(value: Any) -> Any:
    """An initializer from one, its class or its name; None is the variable scope's."""
    found = _by_name(value, _INITIALIZERS, "An initializer")
    return found() if isinstance(value, str) or inspect.isclass(found) else found

"""How much signs count from step to step, for AddSignOptimizer and PowerSignOptimizer (TensorFlow's sign_decay)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import where
from graphflow._core.ops.math.math import cast, cos, floormod, greater_equal, maximum, minimum

_Decay: TypeAlias = Callable[[Any], Tensor]


def _share(global_step: Any, decay_steps: int, what: str) -> Tensor:
    """Which share of all steps has been made, at most 1."""
    if global_step is None:
        raise ValueError(f"global_step is required for {what}.")
    return cast(minimum(global_step, decay_steps), dtypes.float32) / float(decay_steps)


def _wave(fraction: Tensor, cut: Tensor, zero_after: float | None) -> Tensor:
    """From 1 to 0 and back along a cosine, of period 2; 0 where `cut` has reached `zero_after`."""
    decayed: Tensor = 0.5 * (1.0 + cos(math.pi * fraction))
    return decayed if zero_after is None else where(greater_equal(cut, zero_after), 0.0, decayed)


def get_linear_decay_fn(decay_steps: int) -> _Decay:
    """A function of the global step that falls from 1 to 0 along a line (TensorFlow's sign_decay.get_linear_decay_fn).

    Args:
        decay_steps: After how many steps it is 0.

    Returns:
        The function.
    """
    return lambda step: maximum(0.0, 1.0 - _share(step, decay_steps, "linear_decay"))


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> _Decay:
    """A function of the global step that goes along a cosine from 1 to 0 and back.

    TensorFlow: sign_decay.get_cosine_decay_fn.

    Args:
        decay_steps: After how many steps it stays as it is.
        num_periods: How many periods there are; of a half it is 0 in the end.
        zero_after: After how many periods it is 0; None for none.

    Returns:
        The function.
    """

    def decay(step: Any) -> Tensor:
        fraction: Tensor = 2.0 * num_periods * _share(step, decay_steps, "cosine_decay")
        return _wave(fraction, fraction, None if zero_after is None else 2 * zero_after)

    return decay


def get_restart_decay_fn(decay_steps: int, num_periods: float = 1, zero_after: float | None = None) -> _Decay:
    """A function of the global step that falls from 1 to 0 along a cosine, and begins anew.

    TensorFlow: sign_decay.get_restart_decay_fn.

    Args:
        decay_steps: After how many steps it stays as it is.
        num_periods: How often it falls.
        zero_after: After how many falls it is 0; None for none.

    Returns:
        The function.
    """

    def decay(step: Any) -> Tensor:
        falls: Tensor = num_periods * _share(step, decay_steps, "cosine_decay")
        return _wave(floormod(falls, 1.0), falls, zero_after)

    return decay

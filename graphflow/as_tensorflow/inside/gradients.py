"""The gradient checker that takes a function (tensorflow.python.ops.gradient_checker_v2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.defaults import get_default_session
from graphflow._core.ops.array.shaping import placeholder
from graphflow._core.ops.core import convert_to_tensor
from graphflow.testing.gradient_checker import compute_gradient as _gradient_of_tensors

Array = Any


def compute_gradient(
    f: Callable[..., Any], x: list[Any], delta: float = 1e-3
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """The Jacobians of a function, by gf.gradients and by differences.

    Runs in the default session.

    Args:
        f: Takes tensors, and gives one.
        x: Its arguments: tensors or arrays of floats or complex numbers.
        delta: The step of the differences.

    Returns:
        (theoretical, numeric): a matrix for each argument in both. Rows stand for the argument's elements, columns for
        those of the result; a complex element takes two.

    Raises:
        ValueError: If x is no list, or there is no default session.
    """
    if not isinstance(x, list):
        raise ValueError(f"x is the list of the function's arguments, got {type(x).__name__}.")
    session = get_default_session()
    if session is None:
        raise ValueError("compute_gradient needs a default session: call it inside `with gf.Session():`.")
    given = [convert_to_tensor(one) for one in x]
    values = session.run(given)
    arguments = [placeholder(one.dtype) for one in given]
    result = convert_to_tensor(f(*arguments))
    shape = np.shape(session.run(result, dict(zip(arguments, values, strict=True))))
    pairs = _gradient_of_tensors(
        arguments, [np.shape(one) for one in values], result, shape, values, delta=delta
    )
    theoretical, numeric = zip(*pairs, strict=True) if pairs else ((), ())
    return theoretical, numeric


def max_error(grad1: Sequence[Array], grad2: Sequence[Array]) -> float:
    """The largest difference between two lists of matrices.

    Args:
        grad1: Matrices.
        grad2: As many of the same shapes.

    Returns:
        A float; 0 if they are empty.
    """
    return max(
        (float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(grad1, grad2, strict=True)), default=0.0
    )

"""Functions whose results are computed a second time when their gradients are taken (tf.recompute_grad)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient
from graphflow._core.ops.state.scopes import control_dependencies


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose results are not kept for the gradients, which call `f` again (tf.recompute_grad).

    Less memory for more work. `f` must draw no random numbers and change no state, and read its variables by
    what it closes over: get_variable would make others in the second call.

    Args:
        f: From tensors to a tensor, or a structure of them.

    Returns:
        A function of the same arguments.

    Examples:
        >>> x = gf.constant(3.0)
        >>> (slope,) = gf.gradients(gf.recompute_grad(gf.square)(x), x)
        >>> with gf.Session() as session:
        ...     print(session.run(slope))
        6.0
    """

    @custom_gradient
    def inner(*args: Tensor) -> Any:
        def backward(*given: Any, variables: Sequence[Any] = ()) -> Any:
            return recomputed_gradients(f, args, variables, given)

        return f(*args), backward

    return inner


def recomputed_gradients(
    f: Callable[..., Any], args: Sequence[Tensor], variables: Sequence[Any], given: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The gradients by the arguments and by variables, of results that are computed anew, after `given` is there."""
    with control_dependencies([gradient for gradient in given if gradient is not None]):
        again = [identity(arg) for arg in args]
        results = nest.flatten(f(*again))
    used = [
        (result, gradient) for result, gradient in zip(results, given, strict=True) if gradient is not None
    ]
    found = gradients(
        [result for result, _ in used], [*again, *variables], [gradient for _, gradient in used]
    )
    return found[: len(again)], found[len(again) :]

"""recompute_grad of tf.contrib.layers: activations that are computed again for gradients, in their scopes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial, wraps
from typing import Any

from graphflow._core.autodiff.recomputing import recomputed_gradients
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient, variables_read
from graphflow._core.ops.control_flow.flow_basics import tuple_
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.layers.arg_scope import arg_scope, current_arg_scope


def recompute_grad(
    fn: Callable[..., Any] | None = None, use_data_dep: bool = False, tupleize_grads: bool = False
) -> Callable[..., Any]:
    """A function whose results are not kept for the gradients, which call it again (tf.contrib.layers.recompute_grad).

    Less memory for more work. The second call is in the variable scope of the first, where get_variable finds what
    that made; so each call needs a scope of its own. Also a decorator with arguments.

    Args:
        fn: From tensors to a tensor, or several. It must take tensors as arguments, not close over them, and draw no
            random numbers and change no state, or else take an argument `is_recomputing`, True in the second call.
        use_data_dep: Accepted, and not needed: what waits for gradients waits for them here.
        tupleize_grads: Whether no gradient is used before all of them are computed.

    Returns:
        A function of the same tensors.

    Raises:
        ValueError: If it closes over a tensor or variable, or is called with what is no tensor; and when gradients are
            taken, if the second call uses other variables than the first.

    Examples:
        >>> @gf.contrib.layers.recompute_grad
        ... def layer(x):
        ...     return gf.layers.dense(x, 2, gf.nn.relu)
        >>> with gf.variable_scope("first"):
        ...     y = layer(gf.ones([3, 4]))
        >>> gf.gradients(y, gf.trainable_variables())[1].shape
        TensorShape([2])
    """
    if fn is None:
        return partial(recompute_grad, use_data_dep=use_data_dep, tupleize_grads=tupleize_grads)
    function = fn
    _check_closure(function)
    is_told = "is_recomputing" in inspect.signature(function).parameters

    def told(recomputing: bool) -> Callable[..., Any]:
        return partial(function, is_recomputing=recomputing) if is_told else function

    @custom_gradient
    def recomputed(*args: Tensor) -> Any:
        scope, defaults = get_variable_scope(), current_arg_scope()

        def backward(*given: Any, variables: Sequence[Any] = ()) -> Any:
            before = get_default_graph().version
            with arg_scope(defaults), variable_scope(scope, reuse=True):
                found = recomputed_gradients(told(True), args, variables, given)
            if set(variables_read(get_default_graph(), before)) != set(variables):
                raise ValueError(
                    "The variables used on recompute were different than the variables originally used: the function "
                    f"{getattr(function, '__name__', function)!r} makes a variable scope with a default name and has "
                    "been called twice in the same enclosing scope. Call it in a variable scope of its own each time."
                )
            if tupleize_grads:
                together = tuple_([*found[0], *found[1]])
                found = together[: len(args)], together[len(args) :]
            return found

        return told(False)(*args), backward

    def called(*args: Any) -> Any:
        for arg in args:
            if not isinstance(arg, Tensor):
                raise ValueError(f"All inputs to function must be Tensors, but one is {arg!r}.")
        return recomputed(*args)

    return called if isinstance(function, partial) else wraps(function)(called)


def _check_closure(fn: Callable[..., Any]) -> None:
    """ValueError if a function closes over a tensor or a variable, by which no gradient would be found."""
    names = getattr(getattr(fn, "__code__", None), "co_freevars", ())
    for name, cell in zip(names, getattr(fn, "__closure__", None) or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:  # It is not set yet, as the name of a function that is being defined.
            continue
        if isinstance(value, Tensor | Variable):
            raise ValueError(
                f"fn decorated with @recompute_grad closes over Tensor {value.name} (local variable name: {name}). "
                "Make it an argument of fn: gradients are not computed through what it closes over."
            )

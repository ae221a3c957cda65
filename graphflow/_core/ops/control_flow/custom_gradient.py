"""Functions whose gradient the user gives.

The results of such a function go through one IdentityN, which carries the gradient the user wrote; what the function
itself built is passed over when gradients are taken.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.shaping import IDENTITY_N, identity
from graphflow._core.ops.core import apply, convert_to_tensor


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for a function that returns (results, function of their gradients) (tf.custom_gradient).

    That function gets the gradient of each result and returns one for each argument. If `f` reads variables, it
    must take `variables=` too, and return the gradients of the arguments and those of the variables.

    Args:
        f: The function.

    Returns:
        A function of the same arguments.

    Raises:
        ValueError: If keyword arguments are given or the number of gradients is another.
        TypeError: If `variables` is not taken.
    """

    @wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                f"A function with a custom gradient takes positional arguments only, got {', '.join(kwargs)}."
            )
        return _build(f, args)

    return decorated


def _build(f: Callable[..., Any], args: Sequence[Any]) -> Any:
    graph = get_default_graph()
    inputs = [identity(convert_to_tensor(a)) for a in args]
    before = graph.version
    outcome = f(*inputs)
    if not isinstance(outcome, tuple) or len(outcome) != 2 or not callable(outcome[1]):
        raise TypeError("A function with a custom gradient must return (results, gradient function).")
    structure, gradient_function = outcome
    results = [convert_to_tensor(r) for r in nest.flatten(structure)]
    variables = variables_read(graph, before)
    if variables and not _takes_variables(gradient_function):
        raise TypeError(
            f"The function {getattr(f, '__name__', f)!r} uses variables "
            f"({', '.join(v.name for v in variables)}), so its gradient function must accept a 'variables' keyword "
            "argument."
        )
    gradient = _Gradient(gradient_function, len(results), len(inputs), variables)
    together = [*results, *inputs, *[v._ref() for v in variables]]
    attrs = {"T": [t.dtype for t in together], "_gradient_function": gradient}
    outputs = apply(IDENTITY_N, (together,), attrs).outputs
    for output, result in zip(outputs, results, strict=False):
        output.set_shape(result.dims)
    return nest.pack_sequence_as(structure, outputs[: len(results)])


class _Gradient:
    """The gradient of the IdentityN: of the results there is none, they are passed over."""

    def __init__(
        self, function: Callable[..., Any], results: int, inputs: int, variables: Sequence[Any]
    ) -> None:
        self._function = function
        self._results = results
        self._inputs = inputs
        self._variables = list(variables)

    def __call__(self, op: Operation, *gradients: Any) -> list[Any]:
        given = gradients[: self._results]
        if self._variables:
            for_inputs, for_variables = self._function(*given, variables=self._variables)
            for_variables = nest.flatten(for_variables)
            if len(for_variables) != len(self._variables):
                raise ValueError(
                    f"A custom gradient returned {len(for_variables)} gradients for {len(self._variables)} variables."
                )
        else:
            for_inputs, for_variables = self._function(*given), []
        for_inputs = nest.flatten(for_inputs)
        if len(for_inputs) != self._inputs:
            raise ValueError(
                f"A custom gradient returned {len(for_inputs)} gradients for {self._inputs} arguments."
            )
        return [None] * self._results + for_inputs + for_variables


def variables_read(graph: Graph, before: int) -> list[Any]:
    """The trainable variables that the operations built since `before` take."""
    taken = {t for op in graph.get_operations()[before:] for t in op.inputs if t.op.op_def.is_variable}
    return [v for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES) if v._ref() in taken]


def _takes_variables(function: Callable[..., Any]) -> bool:
    parameters = inspect.signature(function).parameters.values()
    return any(p.name == "variables" or p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for a function whose gradient is that of the identity (tf.grad_pass_through).

    Args:
        f: The function.

    Returns:
        A function of the same arguments.
    """

    @custom_gradient
    def passing(x: Tensor) -> Any:
        def backward(*gradients: Any, variables: Any = None) -> Any:
            if variables is not None:
                return gradients, [None] * len(variables)
            return gradients

        return f(x), backward

    return passing

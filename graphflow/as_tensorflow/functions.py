"""Defun: a Python function as a part of the graph, with a gradient of its own (tensorflow.python.framework.function).

Each call builds what the function builds, where it is called; in TensorFlow a call is one operation, whose body is
built once. Here the operation that gives the results has its name, and takes the arguments that nothing else takes, so
that their gradients are zeros, too. Variables are made by the first call, and shared by those after it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import DTypeLike
from graphflow._core.ops.array.shaping import identity_n
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.scopes import name_scope
from graphflow._core.ops.state.variable_scope import VariableScope, get_variable_scope, variable_scope
from graphflow.errors import InvalidArgumentError


class Call:
    """What the gradient function is told of a call: it has the names of an operation.

    Args:
        name: The name of the scope in which the call has built.
        inputs: The arguments.
        outputs: What the function gave.
    """

    def __init__(self, name: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> None:
        self.name = name
        self.inputs: list[Tensor] = list(inputs)
        self.outputs: list[Tensor] = list(outputs)

    @property
    def graph(self) -> Any:
        """The graph of its tensors."""
        return [*self.inputs, *self.outputs][0].graph


class DefinedFunction:
    """A function that Defun has decorated: it is called with tensors, and gives a tensor or a list of them.

    Args:
        func: The function.
        types: The dtypes of its arguments; None for those of the tensors.
        name: Its name, the scope of what it builds.
        gradient: A function of a Call and the gradients of the results, which gives those of the arguments.
        shapes: A function of a Call that gives the static shapes of the results.
        out_names: The names of the results: none, or as many as there are.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        types: Sequence[DType] | None,
        name: str,
        gradient: Callable[..., Any] | None,
        shapes: Callable[[Any], Sequence[Any]] | None,
        out_names: Sequence[str] = (),
    ) -> None:
        self.name = name
        self._func, self._types, self._gradient, self._shapes = func, types, gradient, shapes
        self._out_names = out_names
        self._scopes: dict[Any, VariableScope] = {}
        """The scope of the first call in each graph, which those after it share with its variables."""

    @property
    def declared_input_types(self) -> list[DType] | None:
        """The dtypes of the arguments; None for those of the tensors."""
        return None if self._types is None else list(self._types)

    def __call__(self, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
        """What the function gives for these arguments.

        Args:
            *args: Tensors, or what can be made tensors of the dtypes.
            name: The name of the results' operation, and the scope of what it builds.
            **kwargs: noinline has no effect; there may be no others.

        Returns:
            A tensor, a list of them, or None.

        Raises:
            ValueError: If there are more or fewer arguments than dtypes, or unknown ones.
            InvalidArgumentError: If there are more or fewer results than names for them.
        """
        if unknown := sorted(kwargs.keys() - {"noinline"}):
            raise ValueError(f"Unknown keyword arguments: {', '.join(unknown)}, of {self.name}.")
        if self._types is not None and len(args) != len(self._types):
            raise ValueError(
                f"Expected number of arguments: {len(self._types)}, received: {len(args)}, by {self.name}."
            )
        types = [None] * len(args) if self._types is None else self._types
        with name_scope(name or self.name) as scope:
            inputs = [convert_to_tensor(one, kind) for one, kind in zip(args, types, strict=True)]
            call = Call(scope.rstrip("/"), inputs, [])
            uses = [len(one.consumers()) for one in inputs]
            outcome = self._differentiable(call, inputs) if self._gradient else self._built(inputs)
            results = [outcome] if isinstance(outcome, Tensor) else list(outcome or ())
            if self._out_names and len(self._out_names) != len(results):
                raise InvalidArgumentError(
                    None,
                    None,
                    "output names must be either empty or equal in size to outputs. output names size = "
                    f"{len(self._out_names)} outputs size = {len(results)}, of {self.name}",
                )
            if results:
                unused = [one for one, n in zip(inputs, uses, strict=True) if len(one.consumers()) == n]
                results = identity_n([*results, *unused], name=scope)[: len(results)]
                outcome = results[0] if isinstance(outcome, Tensor) else results
            if self._shapes is not None:
                call.outputs = results
                for result, shape in zip(results, self._shapes(call), strict=True):
                    result.set_shape(shape)
        return outcome

    def _built(self, inputs: Sequence[Tensor]) -> Any:
        """What the function gives for these: a tensor, or a list of them."""
        around = get_variable_scope()
        graph = inputs[0].graph if inputs else None
        first = self._scopes.get(graph)
        if first is None:
            self._scopes[graph] = around
            found = self._func(*inputs)
        else:
            with variable_scope(first, reuse=True, auxiliary_name_scope=False):
                found = self._func(*inputs)
        if isinstance(found, tuple | list):
            return [convert_to_tensor(one) for one in found]
        return None if found is None else convert_to_tensor(found)

    def _differentiable(self, call: Call, inputs: Sequence[Tensor]) -> Any:
        def with_gradient(*within: Tensor) -> Any:
            found = self._built(within)

            def backward(*gradients: Tensor, variables: Sequence[Any] | None = None) -> Any:
                call.inputs, call.outputs = (
                    list(within),
                    [found] if isinstance(found, Tensor) else list(found),
                )
                assert self._gradient is not None
                given = self._gradient(call, *gradients)
                every = list(given) if isinstance(given, tuple | list) else [given]
                if variables is None:
                    return every
                rest = every[len(within) :] or [None] * len(variables)
                return every[: len(within)], rest

            return found, backward

        return custom_gradient(with_gradient)(*inputs)


class Defun:
    """A decorator that makes a function a part of the graph (tensorflow.python.framework.function.Defun).

    Args:
        *input_types: The dtypes of the function's arguments; none for those of the tensors that it is called with.
        func_name: Its name; by default the function's.
        grad_func: A decorated function of the arguments and the gradients of the results.
        python_grad_func: A function of the operation and the gradients of the results; not together with grad_func.
        out_names: The names of the results in TensorFlow's description of the function; only their number counts here.
        shape_func: A function of the operation that gives the static shapes of the results.
        **kwargs: noinline, compiled, separate_compiled_gradients and the like have no effect.
    """

    def __init__(
        self,
        *input_types: DTypeLike,
        func_name: str | None = None,
        grad_func: DefinedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[[Any], Sequence[Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        self._types = [as_dtype(one) for one in input_types]
        self._out_names = tuple(out_names or ())
        self._name, self._shapes = func_name, shape_func
        self._gradient = python_grad_func
        if grad_func is not None:
            if python_grad_func is not None:
                raise ValueError(
                    "Gradient defined twice for a function: by grad_func and by python_grad_func."
                )
            self._gradient = _as_gradient(grad_func)

    def __call__(self, func: Callable[..., Any]) -> DefinedFunction:
        """The decorated function.

        Args:
            func: A function of tensors, without defaults and keyword arguments.

        Returns:
            What is called in its place.

        Raises:
            ValueError: If it cannot be called, has defaults, or takes another number of arguments.
        """
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        parameters = inspect.signature(func).parameters.values()
        plain = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
        takes_any = any(one.kind is one.VAR_POSITIONAL for one in parameters)
        if any(one.default is not one.empty or one.kind is one.VAR_KEYWORD for one in parameters):
            raise ValueError(
                f"function with argument defaults or keywords arguments are not supported: {func}."
            )
        few, many = len(self._types) < len(plain), len(self._types) > len(plain) and not takes_any
        if self._types and (few or many):
            raise ValueError(
                f"The function has {len(plain)} arguments, and {len(self._types)} input types are specified."
            )
        types = self._types if self._types or not (plain or takes_any) else None
        name = self._name or getattr(func, "__name__", "function").strip("<>")
        return DefinedFunction(func, types, name, self._gradient, self._shapes, self._out_names)


def _as_gradient(function: DefinedFunction) -> Callable[..., Any]:
    def gradient(call: Call, *gradients: Tensor) -> Any:
        return function(*call.inputs, *gradients)

    return gradient

"""From a user's Python function of an element to a GraphFunction."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import graphflow.errors as errors
from graphflow._core.graph.defaults import get_default_graph, outermost
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.function import FunctionGraph, GraphFunction
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.graph.shapes import TensorShape, relax
from graphflow.data import structure


class ElementFunction:
    """A function of a dataset's elements, built once as a graph.

    types, shapes: of what it returns, as structures. returned: what that is, in the function's graph.
    """

    def __init__(self, function: Callable[..., Any], transformation: str, types: Any, shapes: Any) -> None:
        if not callable(function):
            raise TypeError(f"Dataset.{transformation} takes a function, got {function!r}.")
        outer = get_default_graph()
        graph = FunctionGraph(outer)
        called = re.sub(r"\W", "", getattr(function, "__name__", type(function).__name__))
        with graph.as_default():
            described = structure.attributes(types, shapes)
            arguments = [
                graph.add_argument(dtype, shape, f"args_{i}")
                for i, (dtype, shape) in enumerate(
                    zip(described["output_types"], described["output_shapes"], strict=True)
                )
            ]
            element = structure.received(types, shapes, arguments)
            result = function(*element) if type(element) is tuple else function(element)
            self.returned: Any = self._tensors(
                function, transformation, tuple(result) if isinstance(result, list) else result
            )
            outputs = structure.moved(self.returned)
            self.types: Any
            self.shapes: Any
            self.types, self.shapes = structure.signature(self.returned)
        self._warn(graph, transformation)
        self.graph_function: GraphFunction = graph.finish(
            outermost(graph).unique_name(f"Dataset_{transformation}_{called or 'function'}"),
            arguments,
            outputs,
        )

    @property
    def captures(self) -> list[Tensor]:
        """The tensors that it takes from the graph around it."""
        return list(self.graph_function.captures)

    @staticmethod
    def _tensors(function: Callable[..., Any], transformation: str, result: Any) -> Any:
        try:
            return structure.to_tensors(result)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to Dataset.{transformation}(): {result!r}. {error}"
            ) from None

    @staticmethod
    def _warn(graph: FunctionGraph, transformation: str) -> None:
        assert graph.outer is not None
        tables = GraphKeys.TABLE_INITIALIZERS
        if len(graph.get_collection(tables)) > len(graph.outer.get_collection(tables)):
            warnings.warn(
                f"Creating resources inside a function passed to Dataset.{transformation}() is not supported. Create "
                "each resource outside the function, and capture it inside the function to use it.",
                stacklevel=5,
            )


class StateFunction:
    """A function of a state and an element, which gives the next state and perhaps something else.

    state: the types and shapes of the first one.

    function: as a graph. types, shapes: of the state, of whose sizes those that change are not known. output: the
    types and shapes of what else it gives; None without `gives_more`. attributes: those of the operation that say how
    many inputs are states, and how many are captured.
    """

    def __init__(
        self,
        dataset: Any,
        state: tuple[Any, Any],
        function: Callable[..., Any],
        transformation: str,
        gives_more: bool = False,
    ) -> None:
        self.types, self.shapes = state
        self.output: tuple[Any, Any] | None = None
        element = dataset._output_types, dataset._output_shapes
        while True:
            self.function = ElementFunction(
                function, transformation, (self.types, element[0]), (self.shapes, element[1])
            )
            types, shapes = self.function.types, self.function.shapes
            if gives_more:
                if type(types) is not tuple or len(types) != 2:
                    raise TypeError(
                        f"The {transformation} function must return a pair comprising the new state and the output "
                        f"value, got {self.function.returned!r}."
                    )
                (types, more), (shapes, more_shapes) = types, shapes
                self.output = more, more_shapes
            if not self._wider(types, shapes):
                break
        self.attributes: dict[str, Any] = {
            "Tstate": structure.attributes(self.types, self.shapes)["output_types"],
            "Targuments": [tensor.dtype for tensor in self.function.captures],
        }

    def _wider(self, types: Any, shapes: Any) -> bool:
        """Forgets the sizes that the function changes; whether there were any. Raises if it gives another state."""
        if len(structure.flatten(types)) != len(structure.flatten(self.types)):
            raise errors.InvalidArgumentError(
                None, None, f"The function gives a state of the types {types}, expected {self.types}."
            )
        if not structure.same_structure(types, self.types) or structure.flatten(types) != structure.flatten(
            self.types
        ):
            raise TypeError(
                f"The element types for the new state must match the initial state. Expected {self.types}; got {types}."
            )
        pairs = zip(structure.flatten(self.shapes), structure.flatten(shapes), strict=True)
        wider = [TensorShape(relax(old.raw, new.raw)) for old, new in pairs]
        changed = any(a.raw != b.raw for a, b in zip(wider, structure.flatten(self.shapes), strict=True))
        self.shapes = structure.pack(self.shapes, wider)
        return changed

"""From a user's Python function of an element to a GraphFunction."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.function import FunctionGraph, GraphFunction
from graphflow.data import structure


class ElementFunction:
    """A function of a dataset's elements, built once as a graph.

    types, shapes: of what it returns, as structures. dataset: what it returns, if that is a dataset.
    """

    def __init__(
        self, function: Callable[..., Any], transformation: str, types: Any, shapes: Any, dataset_type: type
    ) -> None:
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
            self.dataset: Any = result if isinstance(result, dataset_type) else None
            if self.dataset is not None:
                outputs = [self.dataset._variant_tensor]  # type: ignore[attr-defined]
            else:
                result = self._tensors(function, tuple(result) if isinstance(result, list) else result)
                outputs = structure.moved(result)
                self.types: Any
                self.shapes: Any
                self.types, self.shapes = structure.signature(result)
        self.graph_function: GraphFunction = graph.finish(
            _root(graph).unique_name(f"Dataset_{transformation}_{called or 'function'}"), arguments, outputs
        )

    @property
    def captures(self) -> list[Tensor]:
        """The tensors that it takes from the graph around it."""
        return list(self.graph_function.captures)

    @staticmethod
    def _tensors(function: Callable[..., Any], result: Any) -> Any:
        try:
            return structure.to_tensors(result)
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"Unsupported return value from function passed to Dataset: {result!r}. {error}"
            ) from None


def _root(graph: Any) -> Any:
    while graph.outer is not None:
        graph = graph.outer
    return graph

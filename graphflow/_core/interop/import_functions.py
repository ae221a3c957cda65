"""Functions of a GraphDef's library, as the operations of datasets take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import graphflow.protos as protos
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.function import FunctionGraph, GraphFunction
from graphflow._core.graph.graph import Graph
from graphflow._core.interop.function_def import graph_def_of_function
from graphflow._core.interop.graph_def import PYTHON_FUNCTION
from graphflow._core.interop.import_nodes import Node, Refused
from graphflow._core.interop.op_table import tensorflow_op

_MAXIMUM_DEPTH: Final = 32
Import = Callable[[Any, list[str], "Library"], list[Any]]


class Library:
    """The functions of a GraphDef, built when an operation takes one.

    importer: adds a GraphDef to the default graph and returns its elements of these names.
    """

    def __init__(self, library: Any, importer: Import) -> None:
        self._definitions = {f.signature.name: f for f in library.function}
        self._importer = importer
        self._building: list[str] = []

    def bind(self, node: Node, attrs: dict[str, Any], inputs: Sequence[Tensor], graph: Graph) -> None:
        """Puts functions in place of their names among the attributes of an operation."""
        declared = tensorflow_op(node.op)
        if declared is None:
            return
        for name, attribute in declared.attributes.items():
            if attribute.type == "func" and name in attrs:
                captures = _captures(node, name, inputs)
                attrs[name] = self._function(str(attrs[name].name), captures, graph)

    def _function(self, name: str, captures: Sequence[Tensor], graph: Graph) -> Any:
        if name.startswith(PYTHON_FUNCTION):
            return _left_behind(name)
        definition = self._definitions.get(name)
        if definition is None:
            raise Refused(f"the function {name!r} is not in the library of the GraphDef.")
        if name in self._building or len(self._building) > _MAXIMUM_DEPTH:
            raise Refused(f"the function {name!r} calls itself.")
        self._building.append(name)
        try:
            nodes = protos.graph_pb2.GraphDef()
            outputs = graph_def_of_function(definition, nodes)
            arguments = [f"{argument.name}:0" for argument in definition.signature.input_arg]
            if len(captures) > len(arguments):
                raise Refused(f"the function {name!r} takes {len(arguments)} arguments, not {len(captures)}.")
            inner = FunctionGraph(graph)
            with inner.as_default():
                found = self._importer(nodes, arguments + outputs, self)
            inner.finalize()
        finally:
            self._building.pop()
        count = len(arguments)
        return GraphFunction(name, inner, tuple(found[:count]), tuple(found[count:]), tuple(captures))


def _captures(node: Node, attribute: str, inputs: Sequence[Tensor]) -> Sequence[Tensor]:
    """The inputs of an operation that its function captured."""
    declared = tensorflow_op(node.op)
    assert declared is not None
    wanted = f"{attribute}_other_args" if attribute.endswith("_func") else "other_arguments"
    position = 0
    for argument, length in zip(declared.inputs, node.input_lengths() or (), strict=True):
        if argument.name == wanted:
            return inputs[position : position + length]
        position += length
    return ()


def _left_behind(name: str) -> Callable[..., Any]:
    def function(*_: Any) -> Any:
        raise RuntimeError(
            f"This calls the Python function {name.removeprefix(PYTHON_FUNCTION)!r}, which is not in the file that the "
            "graph was imported from: a graph on disk has no Python code."
        )

    return function

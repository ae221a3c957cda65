"""How large a model is (tf.contrib.slim.model_analyzer)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable


def tensor_description(var: Tensor | Variable) -> str:
    """dtype and shape, such as (float32 3x4) (tf.contrib.slim.model_analyzer.tensor_description).

    Args:
        var: A tensor or variable.
    """
    sizes = "x".join(str(size) for size in var.shape.as_list())
    return f"({var.dtype.base_dtype.name} {sizes})"


def analyze_ops(graph: Graph, print_info: bool = False) -> int:
    """The number of elements of all outputs whose shapes are known (tf.contrib.slim.model_analyzer.analyze_ops).

    Args:
        graph: The graph.
        print_info: Prints each operation, its outputs and their size.
    """
    total = 0
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    for op in graph.get_operations():
        size = sum(shapes.size_of(output.dims) or 0 for output in op.outputs)
        if print_info:
            described = ", ".join(tensor_description(output) for output in op.outputs if output.dims)
            print(f"{op.name} \t-> {described} [{size}]")
        total += size
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """(elements, bytes) of some variables (tf.contrib.slim.model_analyzer.analyze_vars); print_info prints each.

    Args:
        variables: The variables.
        print_info: Whether to print each.

    Returns:
        The number of elements, and of bytes.
    """
    total = total_bytes = 0
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    for variable in variables:
        size = shapes.size_of(variable.dims) or 0
        count = size * variable.dtype.base_dtype.size
        if print_info:
            print(f"{variable.name} {tensor_description(variable)} [{size}, bytes: {count}]")
        total, total_bytes = total + size, total_bytes + count
    if print_info:
        print(f"Total size of variables: {total}\nTotal bytes of variables: {total_bytes}")
    return total, total_bytes

"""A GraphFunction as TensorFlow's FunctionDef message, such as the library of a GraphDef holds.

In a FunctionDef an input is an argument's name, or "node:result:number", where a GraphDef has "node:number".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from graphflow._core.graph.attributes import shape_to_proto
from graphflow._core.graph.function import GraphFunction
from graphflow._core.graph.op_def import registry
from graphflow._core.interop.op_table import tensorflow_op


def function_def_of(function: GraphFunction, nodes: Iterable[Any], result: Any) -> None:
    """Fills a FunctionDef; `nodes` are the NodeDefs of the function's graph, its inputs among them."""
    result.signature.name = function.name
    result.signature.is_stateful = any(op.op_def.stateful for op in function.graph.get_operations())
    names: dict[str, str] = {}
    for number, tensor in enumerate(function.inputs):
        names[tensor.op.name] = name = _argument_name(tensor.op.name, names.values())
        result.signature.input_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
        listed = result.arg_attr[number].attr["_output_shapes"].list
        shape_to_proto(tensor.dims, listed.shape.add())
    copies = [node for node in nodes if node.name not in names]
    results = {node.name: result_names(node) for node in copies}
    for node in copies:
        copy = result.node_def.add()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(_inner_name(source, names, results) for source in node.input)
    for number, tensor in enumerate(function.outputs):
        name = f"output_{number}"
        result.signature.output_arg.add(name=name, type=tensor.dtype.as_datatype_enum)
        result.ret[name] = _inner_name(tensor.name, names, results)


def _argument_name(name: str, taken: Iterable[str]) -> str:
    base = re.sub(r"[^a-z0-9_]", "_", name.lower())
    base = base if base[:1].isalpha() else f"arg_{base}"
    found, count = base, 0
    while found in taken:
        count += 1
        found = f"{base}_{count}"
    return found


def _inner_name(source: str, arguments: Mapping[str, str], results: Mapping[str, list[str]]) -> str:
    if source.startswith("^"):
        return "^" + arguments.get(source[1:], source[1:])
    name, _, index = source.partition(":")
    if name in arguments:
        return arguments[name]
    listed = results.get(name, [])
    number = int(index or 0)
    return f"{name}:{listed[number]}" if number < len(listed) else f"{name}:output:{number}"


def result_names(node: Any) -> list[str]:
    """The names, "result:number", of all results of a node, in order."""
    declared = tensorflow_op(node.op)
    if declared is None:
        definition = registry().get(node.op)
        return [f"{name}:0" for name in definition.outputs] if definition is not None else []
    found: list[str] = []
    for argument in declared.outputs:
        count = 1
        if argument.types:
            count = len(node.attr[argument.type].list.type)
        elif argument.count:
            count = min(node.attr[argument.count].i, 2**16)
        found += [f"{argument.name}:{i}" for i in range(count)]
    return found


def graph_def_of_function(definition: Any, result: Any) -> list[str]:
    """Fills a GraphDef with the nodes of a FunctionDef, placeholders for its arguments first; the names of its results.

    ValueError if it does not hold together.
    """
    arguments = [argument.name for argument in definition.signature.input_arg]
    for number, argument in enumerate(definition.signature.input_arg):
        node = result.node.add(name=argument.name, op="Placeholder")
        if argument.type == 0:
            raise ValueError(f"the argument {argument.name!r} of the function has no type of its own.")
        node.attr["dtype"].type = argument.type
        shapes: list[Any] = []
        if number in definition.arg_attr:
            shapes = list(definition.arg_attr[number].attr["_output_shapes"].list.shape)
        if len(shapes) == 1:
            node.attr["shape"].shape.CopyFrom(shapes[0])
        else:
            node.attr["shape"].shape.unknown_rank = True
    result.versions.producer = 24
    results = {node.name: result_names(node) for node in definition.node_def}
    for node in definition.node_def:
        copy = result.node.add()
        copy.CopyFrom(node)
        del copy.input[:]
        copy.input.extend(_outer_name(source, arguments, results) for source in node.input)
    found = []
    for argument in definition.signature.output_arg:
        if argument.name not in definition.ret:
            raise ValueError(
                f"the function {definition.signature.name!r} does not say what {argument.name!r} is."
            )
        name = _outer_name(definition.ret[argument.name], arguments, results)
        found.append(name if ":" in name else f"{name}:0")
    return found


def _outer_name(source: str, arguments: list[str], results: Mapping[str, list[str]]) -> str:
    if source.startswith("^") or source in arguments:
        return source
    name, _, rest = source.partition(":")
    listed = results.get(name)
    if listed is None:
        raise ValueError(f"{source!r} names no node of the function.")
    if rest in listed:
        return f"{name}:{listed.index(rest)}"
    result, _, number = rest.rpartition(":")
    if number.isdigit() and len(number) < 6 and f"{result or 'output'}:0" in [*listed, "output:0"]:
        return f"{name}:{number}"
    raise ValueError(f"{source!r}: {name!r} has no result {rest!r}.")

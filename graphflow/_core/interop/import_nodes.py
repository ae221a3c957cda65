"""A GraphDef taken apart: its nodes, checked one by one and put in an order in which they can be built.

The file may come from anywhere, so nothing in it is believed: names, inputs, attributes and their types are compared
with TensorFlow's declaration of the op type. Nothing here recurses, and no attribute of a file is ever executed.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.attributes import Allowance, attr_from_proto
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.interop.expansions import contracted
from graphflow._core.interop.op_table import Attribute, OpType, tensorflow_op

NAME: Final = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/>\\]*\Z")
_INPUT: Final = re.compile(r"([A-Za-z0-9.][A-Za-z0-9_.\-/>\\]*)(?::(\d{1,9}))?\Z")
_FIELDS: Final = {
    "int": "i", "float": "f", "bool": "b", "string": "s", "type": "type", "shape": "shape", "tensor": "tensor",
    "func": "func",
}  # fmt: skip
_MAXIMUM_OUTPUTS: Final = 2**16
"""More results than this of one operation are taken for a mistake in the file."""
BACK_EDGES: Final = frozenset({"NextIteration", "RefNextIteration"})
MERGES: Final = frozenset({"Merge", "RefMerge"})


@dataclass
class Node:
    """A node: `inputs` are (name of a node, which of its results), `control` names of nodes that run before it."""

    name: str
    op: str
    device: str
    inputs: list[tuple[str, int]]
    control: list[str]
    attrs: dict[str, Any]
    colocated: list[str] = field(default_factory=list)
    index: int = 0

    def describe(self) -> str:
        """Type and name, as messages say it."""
        return f"{self.op} {self.name!r}"

    def input_lengths(self) -> list[int] | None:
        """How many tensors each input that TensorFlow declares has; None if the attributes do not say it."""
        declared = tensorflow_op(self.op)
        if declared is None:
            return None
        lengths = []
        for argument in declared.inputs:
            length = 1
            if argument.types:
                length = len(self.attrs.get(argument.type, ()))
            elif argument.count:
                length = self.attrs.get(argument.count, 0)
            lengths.append(length)
        return lengths


class Refused(ValueError):
    """A GraphDef that cannot be a graph."""


def parse(graph_def: Any, known: Callable[[str], bool]) -> dict[str, Node]:
    """The nodes by name, in the order of the file.

    known: tells whether an op type can be built. Raises ValueError if a node does not hold together, and
    NotFoundError that lists the op types that cannot be built.
    """
    nodes: dict[str, Node] = {}
    unknown: dict[str, list[str]] = {}
    allowance = Allowance()
    producer = graph_def.versions.producer
    for index, proto in enumerate(contracted(graph_def)):
        name = proto.name
        if not NAME.match(name):
            raise Refused(f"Node {index} of the GraphDef has the name {name[:100]!r}, which is none.")
        if name in nodes:
            raise Refused(f"Node {name!r} is twice in the GraphDef.")
        if not known(proto.op):
            unknown.setdefault(proto.op, []).append(name)
        node = Node(name, proto.op, proto.device, *_inputs(proto), {}, index=index)
        if not unknown:
            try:
                node.attrs = _attributes(proto, tensorflow_op(proto.op), allowance)
            except (ValueError, TypeError, OverflowError) as error:
                raise Refused(f"{node.describe()}: {error}") from None
            if node.op.startswith("Placeholder") and producer < 24 and node.attrs.get("shape") == []:
                node.attrs["shape"] = TensorShape(None)  # What older versions wrote for an unknown shape.
            classes = node.attrs.pop("_class", [])
            for item in classes if isinstance(classes, list) else []:
                text = item.decode("latin-1") if isinstance(item, bytes) else str(item)
                if text.startswith("loc:@"):
                    node.colocated.append(text[5:])
        nodes[name] = node
    if unknown:
        raise errors.NotFoundError(None, None, _list_of_unknown(unknown))
    return nodes


def _list_of_unknown(unknown: Mapping[str, list[str]]) -> str:
    lines = [
        f"{op or '(none)'}: {', '.join(map(repr, names[:5]))}{', ...' if len(names) > 5 else ''}"
        for op, names in sorted(unknown.items())
    ]
    return (
        f"The GraphDef has {len(lines)} op types that graphflow does not have, with the nodes that use them:\n  "
        + "\n  ".join(lines[:50])
        + "\nImport the package that defines them, or take them out of the graph, for example with "
        "gf.graph_util.extract_sub_graph."
    )


def _inputs(proto: Any) -> tuple[list[tuple[str, int]], list[str]]:
    inputs: list[tuple[str, int]] = []
    control: list[str] = []
    for text in proto.input:
        if text.startswith("^"):
            if not NAME.match(text[1:]):
                raise Refused(f"{proto.op} {proto.name!r}: {text[:100]!r} is no control input.")
            if text[1:] not in control:
                control.append(text[1:])
            continue
        found = _INPUT.match(text)
        if found is None:
            raise Refused(f"{proto.op} {proto.name!r}: {text[:100]!r} is no input.")
        if control:
            raise Refused(
                f"{proto.op} {proto.name!r}: the input {text!r} stands behind a control input; inputs come first."
            )
        inputs.append((found[1], int(found[2] or 0)))
    return inputs, control


# ---- attributes -----------------------------------------------------------------------------------------------------


def _attributes(proto: Any, declared: OpType | None, allowance: Allowance) -> dict[str, Any]:
    """The attributes as Python values, with TensorFlow's defaults if the node says nothing."""
    given = {name: value for name, value in proto.attr.items() if name[:1] != "_" or name == "_class"}
    if declared is None:
        return {name: attr_from_proto(value, allowance) for name, value in given.items()}
    result: dict[str, Any] = {}
    told_by_inputs = {a.type for a in declared.inputs} | {a.count for a in declared.inputs}
    for name, attribute in declared.attributes.items():
        value = given.pop(name, None)
        if value is not None and value.WhichOneof("value") is not None:
            result[name] = _checked(attribute, value, allowance)
        elif attribute.optional:
            result[name] = default_of(attribute)
        elif name not in told_by_inputs:
            raise ValueError(f"the attribute {name} is missing.")
    for name, value in given.items():
        found = attr_from_proto(value, allowance)
        if name == "_class":
            result[name] = found
        elif isinstance(found, TensorShape) or not _is_nothing(found):
            raise ValueError(f"the attribute {name} = {str(found)[:100]} is not one of {proto.op}.")
    for argument in declared.outputs:
        count = result.get(argument.count, 0) if argument.count else 0
        if isinstance(count, int) and count > _MAXIMUM_OUTPUTS:
            raise ValueError(f"{argument.count} = {count} is too large.")
    return result


def _is_nothing(value: Any) -> bool:
    """Whether an attribute that a later TensorFlow added says that it is not used."""
    return value is None or (isinstance(value, bool | int | float | str | bytes | list) and not value)


def _checked(attribute: Attribute, proto: Any, allowance: Allowance) -> Any:
    field_name = proto.WhichOneof("value")
    listed = attribute.type.startswith("list(")
    expected = "list" if listed else _FIELDS[attribute.type]
    if field_name != expected:
        raise ValueError(
            f"the attribute {attribute.name} is of type {attribute.type}, not what the node has: {str(proto)[:100]!r}."
        )
    if listed:
        inner = _FIELDS[attribute.type[5:-1]]
        others = [f for f in _FIELDS.values() if f != inner and len(getattr(proto.list, f))]
        if others:
            raise ValueError(f"the attribute {attribute.name} is of type {attribute.type}.")
    return attr_from_proto(proto, allowance)


def default_of(attribute: Attribute) -> Any:
    """The default of an attribute as the value that an operation has."""
    value = attribute.default
    if attribute.type == "type":
        return dtypes.as_dtype(value)
    if attribute.type == "shape":
        return TensorShape(value)
    if attribute.type == "list(type)":
        return [dtypes.as_dtype(v) for v in value]
    if attribute.type == "list(shape)":
        return [TensorShape(v) for v in value]
    return list(value) if isinstance(value, list) else value


# ---- order ----------------------------------------------------------------------------------------------------------


def ordered(nodes: Mapping[str, Node], mapped: Iterable[str]) -> list[Node]:
    """The nodes in an order in which each comes after its inputs, else as in the file.

    The edge that closes a loop, from a NextIteration to a Merge, is left out. `mapped` are inputs ("name:0" or "^name")
    that come from elsewhere. ValueError if an input is missing or there is another cycle.
    """
    outside = set(mapped)
    waiting: dict[str, int] = {}
    followers: dict[str, list[str]] = {}
    for node in nodes.values():
        sources = dict.fromkeys(_sources(node, nodes, outside))
        waiting[node.name] = len(sources)
        for source in sources:
            followers.setdefault(source, []).append(node.name)
    ready = [node.index for node in nodes.values() if not waiting[node.name]]
    heapq.heapify(ready)
    by_index = list(nodes.values())
    result: list[Node] = []
    while ready:
        node = by_index[heapq.heappop(ready)]
        result.append(node)
        for name in followers.get(node.name, ()):
            waiting[name] -= 1
            if not waiting[name]:
                heapq.heappush(ready, nodes[name].index)
    if len(result) < len(nodes):
        stuck = [name for name, count in waiting.items() if count]
        raise Refused(
            f"The GraphDef has a cycle that is no loop, among {len(stuck)} nodes such as {', '.join(stuck[:5])}."
        )
    return result


def _sources(node: Node, nodes: Mapping[str, Node], outside: set[str]) -> Iterable[str]:
    for name, index in node.inputs:
        if f"{name}:{index}" in outside:
            continue
        if name not in nodes:
            raise Refused(
                f"{node.describe()}: its input '{name}:{index}' is not in the GraphDef. Add the node, or say in "
                "input_map what to use."
            )
        if not (node.op in MERGES and nodes[name].op in BACK_EDGES):
            yield name
    for name in node.control:
        if f"^{name}" in outside:
            continue
        if name not in nodes:
            raise Refused(f"{node.describe()}: its control input {name!r} is not in the GraphDef.")
        yield name

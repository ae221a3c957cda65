"""A graph as data, in the form TensorFlow 1 programs read.

It is an object with `.node`, each of which has name, op, input, device and attr.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphflow.graph.elements import Operation


@dataclass(frozen=True)
class NodeDef:
    """One operation as data: `input` names tensors ("a", "a:1") and, with a caret, control inputs ("^a")."""

    name: str
    op: str
    input: list[str]
    device: str
    attr: Mapping[str, Any] = field(repr=False)

    @staticmethod
    def of(op: Operation) -> NodeDef:
        """The data of an operation."""
        inputs = [t.op.name if t.value_index == 0 else t.name for t in op.inputs]
        inputs += ["^" + c.name for c in op.control_inputs]
        return NodeDef(op.name, op.type, inputs, op.device, dict(op.attrs))


@dataclass(frozen=True)
class GraphDef:
    """The operations of a graph, in the order they were built."""

    node: list[NodeDef]

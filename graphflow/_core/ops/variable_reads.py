"""Reads of resource variables: each use of the value takes a read of its own, and keeps what that has read.

A reference variable is read where the operation stands that takes it, so what is computed after an assignment has the
new value. TensorFlow's other kind of variable is read once, where it becomes a tensor: a gradient, or whatever else
takes the same tensor later, sees what was read, even if the variable was assigned in between. Here such a read is an
Identity of the variable. A plan leaves out those that no write can come behind (plan/passes/variable_reads.py).
"""

from __future__ import annotations

from contextlib import nullcontext

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.op_def import RESOURCE
from graphflow._core.ops.array.shaping import IDENTITY
from graphflow._core.ops.core import graph_of

_default: bool = False


def set_default(is_resource: bool) -> None:
    """Says what variables are that are made from now on, if nobody says it of them."""
    global _default
    _default = is_resource


def default(graph: Graph) -> bool:
    """Whether a variable made now in a graph is a resource variable if nobody says it of it: as the scope says."""
    scopes = graph.variable_store
    of_scope: bool | None = None if scopes is None else scopes.threads.current.use_resource
    return _default if of_scope is None else of_scope


def is_resource(variable: Tensor) -> bool:
    """Whether a tensor is a resource variable itself."""
    return variable.op.op_def.is_variable and RESOURCE in variable.op.attrs


def read(variable: Tensor) -> Tensor:
    """What a use of a variable's value takes: a read where it is built, or the variable if that is a reference."""
    if not is_resource(variable):
        return variable
    graph = graph_of([variable])
    there = (
        graph.colocate_with(variable.op, ignore_existing=True) if graph is variable.graph else nullcontext()
    )
    with graph.as_default(), there:
        return graph.add(IDENTITY, (variable,), {"T": variable.dtype}, "ReadVariableOp").outputs[0]


def variable_read_by(op: Operation) -> Tensor | None:
    """The resource variable that an operation is a read of, or None."""
    if op.op_def is not IDENTITY or not is_resource(op.inputs[0]):
        return None
    return op.inputs[0]

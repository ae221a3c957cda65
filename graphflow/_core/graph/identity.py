"""Which program a graph is: a short text, the same for the same program in another process.

What a session holds besides variables (positions in input, elements of queues, random states) means something to the
program that made it, and nothing to another one that has a queue of the same name: it would get elements that it never
put there. So a checkpoint says whose state it holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.function import GraphFunction
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.shapes import TensorShape

_ASIDE: Final = ("_", "device", "container")
"""How the attributes begin that say nothing of what is computed."""


def program_identity(graph: Graph, without: Sequence[tuple[int, int]] = ()) -> str:
    """The identity of the program that a graph is so far: 32 hexadecimal digits.

    It depends on every operation: its name, type, inputs and attributes. Of constants the values count if they go
    into queues, readers or datasets, such as the names of files: another learning rate is the same program, other
    input is not. Devices do not count. without: ranges of operations to leave out, (first, behind the last).
    """
    left_out = {number for first, end in without for number in range(first, end)}
    operations = [op for number, op in enumerate(graph.get_operations()) if number not in left_out]
    digest = hashlib.sha256()
    _digest(digest, operations, _input_constants(operations))
    return digest.hexdigest()[:32]


def _digest(digest: Any, operations: Sequence[Operation], exact: set[Operation]) -> None:
    for op in operations:
        head = (op.name, op.type, [t.name for t in op.inputs], [c.name for c in op.control_inputs])
        digest.update(repr(head).encode())
        for name in sorted(op.attrs):
            if not name.startswith(_ASIDE):
                digest.update(f"{name}=".encode())
                _digest_value(digest, op.attrs[name], op in exact)
        digest.update(b"\n")


def _digest_value(digest: Any, value: Any, exact: bool) -> None:
    if isinstance(value, np.ndarray):
        digest.update(repr((value.dtype.name, value.shape)).encode())
        if exact:
            digest.update(repr(value.tolist()).encode() if value.dtype == object else value.tobytes())
    elif isinstance(value, GraphFunction):
        inner = value.graph.get_operations()
        _digest(digest, inner, set(inner))
    elif isinstance(value, list | tuple):
        digest.update(b"[")
        for item in value:
            _digest_value(digest, item, exact)
        digest.update(b"]")
    elif isinstance(value, bool | int | float | str | bytes | DType | TensorShape | np.generic | None):
        digest.update(f"{value!r};".encode())
    else:  # Its text may hold an address.
        digest.update(f"{type(value).__name__};".encode())


def _input_constants(operations: Sequence[Operation]) -> set[Operation]:
    """The constants that go into queues, readers and datasets."""
    waiting, seen = [op for op in operations if _is_input(op)], set[Operation]()
    while waiting:
        op = waiting.pop()
        if op not in seen:
            seen.add(op)
            waiting += [tensor.op for tensor in op.inputs]  # A variable has none, whatever it began with.
    return {op for op in seen if op.op_def.is_constant}


def _is_input(op: Operation) -> bool:
    return any(word in op.type for word in ("Queue", "Reader", "Dataset", "Iterator"))

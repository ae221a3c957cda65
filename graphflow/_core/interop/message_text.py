"""Protobuf messages as text, quickly: a graph is written so when a training begins, which waits for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import graphflow.protos as protos


def message_text(message: Any) -> str:
    """A message in protobuf's text format.

    `text_format` makes it in Python, field by field. Where protobuf is the usual one, str() does the same in C.
    """
    from google.protobuf import text_format

    text: str = str(message) if _str_is_text() else text_format.MessageToString(message)
    return text


@cache
def _str_is_text() -> bool:
    """Whether str() of a message can be read again, to the bit; it is meant for people, and is not bound to be so."""
    from google.protobuf import text_format

    graph = protos.graph_pb2.GraphDef()
    node = graph.node.add(name="a\"b\\c\n\t'ä€", op="Const", input=["^x", "y:1"])
    node.attr["floats"].list.f.extend([0.1, -0.0, 1e-45, 3.4028235e38, float("inf"), float("-inf"), 1e10])
    node.attr["numbers"].list.i.extend([-(1 << 63), (1 << 63) - 1, 0])
    node.attr["bytes"].s = bytes(range(256))
    node.attr["flag"].b = False
    node.attr["shape"].shape.unknown_rank = True
    tensor = node.attr["value"].tensor
    tensor.dtype = 2
    tensor.tensor_shape.dim.add(size=-1)
    tensor.double_val.extend([0.1, 1e-320, 1.7976931348623157e308])
    tensor.half_val.append(7)
    node.attr["nothing"].list.SetInParent()
    try:
        again = text_format.Parse(str(graph), protos.graph_pb2.GraphDef())
    except (text_format.ParseError, UnicodeError):
        return False
    same: bool = again.SerializeToString(deterministic=True) == graph.SerializeToString(deterministic=True)
    return same

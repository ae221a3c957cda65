"""Writes graphflow/_core/interop/tensorflow_ops.txt: what TensorFlow 1.15 says of each op type.

graphflow writes graphs with TensorFlow's names and types of attributes; this is where they come from. To record, with
TensorFlow 1.15 installed as record.py says:

    oracle/bin/python tests/oracle/op_table.py NAMES > graphflow/_core/interop/tensorflow_ops.txt

NAMES is a file with a name a line, or a regular expression that starts with "^"; names that TensorFlow does not have
are left out. `python -m tests.oracle.op_names` hands out graphflow's own.

A line is one op type: "NAME INPUTS -> OUTPUTS | ATTRIBUTES", with a "!" before the name where it is stateful. An
input or output is name:type, where the type is a dtype or the attribute that holds it; "&" before it means a reference,
"N*T" a list of N, "*T" a list whose types are listed in T. An attribute is name:type, followed by =default in JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, List

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def all_op_defs() -> Any:
    import tensorflow.contrib.image  # noqa: F401  (registers its op types)
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python import pywrap_tensorflow

    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tensorflow.TF_GetBuffer(pywrap_tensorflow.TF_GetAllOpList()))
    return ops.op


def dtype_name(number: int) -> str:
    import tensorflow as tf

    return str(tf.as_dtype(number).name)


def shape_of(shape: Any) -> Any:
    return None if shape.unknown_rank else [d.size for d in shape.dim]


def default_of(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "type":
        return dtype_name(value.type)
    if kind == "shape":
        return shape_of(value.shape)
    if kind == "s":
        return value.s.decode("latin-1")
    if kind == "f":
        return float("%.9g" % value.f)
    if kind == "list":
        listed = value.list
        return (
            [s.decode("latin-1") for s in listed.s] + list(listed.i) + list(listed.f) + list(listed.b)
            + [dtype_name(t) for t in listed.type] + [shape_of(s) for s in listed.shape]
        )  # fmt: skip
    if kind in ("i", "b"):
        return getattr(value, kind)
    raise SystemExit("a default of kind %s" % kind)


def argument(arg: Any) -> str:
    if arg.type_list_attr:
        text = "*" + arg.type_list_attr
    else:
        text = arg.type_attr or dtype_name(arg.type)
        if arg.number_attr:
            text = arg.number_attr + "*" + text
    return arg.name + ":" + ("&" if arg.is_ref else "") + text


def attribute(attr: Any) -> str:
    text = attr.name + ":" + attr.type
    if attr.HasField("default_value") and attr.type != "tensor":
        text += "=" + json.dumps(default_of(attr.default_value), separators=(",", ":"))
    return text


def line(op: Any) -> str:
    inputs = " ".join(argument(a) for a in op.input_arg)
    outputs = " ".join(argument(a) for a in op.output_arg)
    attrs = "; ".join(attribute(a) for a in op.attr)
    return "%s%s %s -> %s | %s" % ("!" if op.is_stateful else "", op.name, inputs, outputs, attrs)


def main(names: List[str]) -> None:
    plain = {n for n in names if not n.startswith("^")}
    patterns = [re.compile(n + r"\Z") for n in names if n.startswith("^")]
    for op in sorted(all_op_defs(), key=lambda op: op.name):
        if op.name in plain or any(p.match(op.name) for p in patterns):
            print(re.sub(" +", " ", line(op)).strip())


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        main([n for n in file.read().split() if n])

"""Functions that make one operation of a type, as tensorflow.python.ops.gen_*_ops and tf.raw_ops have them.

They follow from TensorFlow's declaration of the op type: the inputs, then the attributes without a default, then the
others, and a name. What an op makes is what a graph that is read from a file would have.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, Signature
from typing import Any

from graphflow._core.graph.dtypes import as_dtype
from graphflow._core.graph.op_def import lookup, registry
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.interop.import_graph import ATTRIBUTES_ADDED, check_attributes
from graphflow._core.interop.op_table import Attribute, OpType, tensorflow_op, tensorflow_ops
from graphflow._core.ops import load_all
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import no_outputs


def snake_case(op_type: str) -> str:
    """The name of the function that makes operations of a type: "MaxPoolGradV2" is max_pool_grad_v2.

    Args:
        op_type: TensorFlow's name of the type.
    """
    name = ""
    for i, letter in enumerate(op_type):
        beside = op_type[i - 1 : i] + op_type[i + 1 : i + 2]
        if letter.isupper() and i and any(one.islower() for one in beside):
            name += "_"
        name += letter.lower()
    return name


@cache
def _types() -> Mapping[str, str]:
    """The op types that graphflow has as TensorFlow has them, by the names of their functions."""
    load_all()
    found = {}
    for op_type in tensorflow_ops():
        declared = tensorflow_op(op_type)
        definition = registry().get(op_type)
        if declared and definition and len(definition.inputs) == len(declared.inputs):
            found[snake_case(op_type)] = op_type
    return found


def by_snake_case(name: str) -> Callable[..., Any]:
    """The function of a name such as "max_pool_grad", also with a _ before it; AttributeError if there is none.

    Args:
        name: Its name in a module gen_*_ops.
    """
    op_type = _types().get(name.removeprefix("_"))
    if op_type is None:
        raise AttributeError(name)
    return function_of(op_type)


@cache
def function_of(op_type: str) -> Callable[..., Any]:
    """The function that makes operations of a type.

    Args:
        op_type: TensorFlow's name of the type, which graphflow has.

    Returns:
        A function of the inputs and attributes, which returns the operation's result, a named tuple of several, or the
        operation itself if it has none.

    Raises:
        AttributeError: There is no such type.
    """
    declared = tensorflow_op(op_type)
    if declared is None or op_type not in _types().values():
        raise AttributeError(op_type)
    signature, names = _signature(declared), [output.name for output in declared.outputs]
    results: Any = namedtuple(op_type, names) if len(names) > 1 else None

    def make(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        values = given.arguments
        attrs = {
            name: _attribute(op_type, attribute, values[name])
            for name, attribute in declared.attributes.items()
            if name in values
        }
        definition = lookup(op_type)
        check_attributes(op_type, attrs)
        attrs |= ATTRIBUTES_ADDED.get(op_type, {})
        op = apply(definition, [values[one.name] for one in declared.inputs], attrs, values["name"])
        if definition.infer is no_outputs or not op.outputs:
            return op
        if results is None:
            (output,) = declared.outputs
            return list(op.outputs) if output.count or output.types else op.outputs[0]
        return results(*op.outputs) if len(op.outputs) == len(names) else tuple(op.outputs)

    make.__name__ = make.__qualname__ = snake_case(op_type)
    make.__signature__ = signature  # type: ignore[attr-defined]
    make.__doc__ = f"Makes an operation {op_type} (tf.raw_ops.{op_type})."
    return make


def _signature(declared: OpType) -> Signature:
    told = {one.type for one in declared.inputs} | {one.count for one in declared.inputs}
    free = [one for one in declared.attributes.values() if one.name not in told]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Signature(
        [
            *(Parameter(one.name, kind) for one in declared.inputs),
            *(Parameter(one.name, kind) for one in free if not one.optional),
            *(Parameter(one.name, kind, default=one.default) for one in free if one.optional),
            Parameter("name", kind, default=None),
        ]
    )


def _attribute(op_type: str, attribute: Attribute, value: Any) -> Any:
    """The value of an attribute as an operation has it; TypeError if it is no list where there must be one."""
    if value is None and attribute.optional:
        value = attribute.default
    if attribute.type.startswith("list("):
        if not isinstance(value, list | tuple):
            raise TypeError(
                f"Expected list for '{attribute.name}' argument to '{snake_case(op_type)}' Op, not {value!r}."
            )
        return [_single(attribute.type[5:-1], one) for one in value]
    return _single(attribute.type, value)


def _single(kind: str, value: Any) -> Any:
    convert: Any = {"type": as_dtype, "shape": TensorShape, "int": int, "float": float, "bool": bool}.get(
        kind
    )
    return value if convert is None else convert(value)

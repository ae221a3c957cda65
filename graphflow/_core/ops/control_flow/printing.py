"""Values as text while a graph runs: strings.format and print."""

from __future__ import annotations

import sys
from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, op_def
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.rules import no_outputs, scalar_of

STRING_FORMAT = op_def(
    "StringFormat", ("inputs*: any",), infer=scalar_of(dtypes.string), gradient=NOT_DIFFERENTIABLE
)
PRINT_V2 = op_def("PrintV2", ("input: string",), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True)
_PLACEHOLDER: Final = "\x00"
"""Stands for a tensor in what print says, since it is in no text that a person prints."""


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """A scalar string: the template with the values of tensors for its placeholders (tf.strings.format).

    Args:
        template: The text.
        inputs: The tensors.
        placeholder: What stands for a tensor.
        summarize: How many of the first and last elements along each axis are written, -1 for all.
        name: A name for the operation.

    Returns:
        A scalar string.

    Raises:
        ValueError: If the placeholders are not as many as the inputs.
    """
    tensors = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    count = template.count(placeholder)
    if count != len(tensors):
        raise ValueError(
            f"{count} placeholder(s) in template does not match {len(tensors)} tensor(s) provided as input"
        )
    attrs = {"template": template, "placeholder": placeholder, "summarize": summarize}
    return apply(STRING_FORMAT, (tensors,), attrs, name).outputs[0]


def print_v2(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that prints its inputs when it runs (tf.print).

    Keywords: output_stream (sys.stdout, sys.stderr, the default, or "file://PATH"), summarize (how many of the first
    and last elements along each axis, 3 by default, -1 for all), sep, end, name. Structures are printed with the
    values of the tensors in them.

    Args:
        *inputs: What is printed.
        **kwargs: As above.

    Returns:
        The operation.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    summarize = kwargs.pop("summarize", 3)
    end = kwargs.pop("end", "\n")
    separator = kwargs.pop("sep", " ")
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {list(kwargs)}")
    attrs = {"output_stream": _stream_name(stream), "end": end}
    tensors: list[Any] = []
    template = separator.join(_template(part, tensors) for part in inputs)
    if template == _PLACEHOLDER and tensors[0].dtype is dtypes.string and tensors[0].shape.ndims == 0:
        text = convert_to_tensor(tensors[0])
    else:
        text = string_format(template, tensors, _PLACEHOLDER, summarize)
    return apply(PRINT_V2, (text,), attrs, name)


def _stream_name(stream: Any) -> str:
    if stream in (sys.stdout, "stdout"):
        return "stdout"
    if stream in (sys.stderr, "stderr"):
        return "stderr"
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    raise ValueError(f"output_stream is sys.stdout, sys.stderr or 'file://PATH', not {stream!r}.")


def _template(part: Any, tensors: list[Any]) -> str:
    """The text in the template for a part of print's arguments; appends the tensors in it to a list."""
    if isinstance(part, Tensor) or hasattr(part, "_as_graph_element"):
        tensors.append(part)
        return _PLACEHOLDER
    if isinstance(part, dict):
        return "{" + ", ".join(f"{k!r}: {_template(v, tensors)}" for k, v in part.items()) + "}"
    if isinstance(part, list | tuple):
        items = ", ".join(repr(v) if isinstance(v, str) else _template(v, tensors) for v in part)
        return f"[{items}]" if isinstance(part, list) else f"({items}{',' if len(part) == 1 else ''})"
    return str(part)

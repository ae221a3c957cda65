"""Regular expressions over tensors of strings; one that is known while the graph is built is an attribute."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply
from graphflow._core.ops.rules import require_rank


def _define(name: str, *inputs: str, result: Any = dtypes.string) -> OpDef:
    def infer(op: Operation) -> Signature:
        for given, what in zip(op.inputs[1:], ("pattern", "rewrite"), strict=False):
            require_rank(given.dims, 0, what)
        return [(result, op.inputs[0].dims)]

    return op_def(name, ("input: string", *inputs), infer=infer, gradient=NOT_DIFFERENTIABLE)


REGEX_REPLACE = _define("RegexReplace", "pattern: string", "rewrite: string")
STATIC_REGEX_REPLACE = _define("StaticRegexReplace")
REGEX_FULL_MATCH = _define("RegexFullMatch", "pattern: string", result=dtypes.bool_)
STATIC_REGEX_FULL_MATCH = _define("StaticRegexFullMatch", result=dtypes.bool_)


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def regex_replace(
    input: TensorLike, pattern: TensorLike, rewrite: TensorLike, replace_global: bool = True,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    r"""Matches of a pattern replaced; \1 to \9 in `rewrite` are its groups (tf.regex_replace).

    Args:
        input: A tensor of strings.
        pattern: A regular expression, a string or a scalar of strings.
        rewrite: What takes its place, a string or a scalar of strings.
        replace_global: Whether all matches are replaced, not the first alone.
        name: A name for the operation.

    Returns:
        A tensor of strings.

    Raises:
        InvalidArgumentError: When it runs, for what is no regular expression.
    """
    attrs: dict[str, Any] = {"replace_global": bool(replace_global)}
    if isinstance(pattern, str | bytes) and isinstance(rewrite, str | bytes):
        attrs |= {"pattern": _text(pattern), "rewrite": _text(rewrite)}
        return apply(STATIC_REGEX_REPLACE, (input,), attrs, name).outputs[0]
    return apply(REGEX_REPLACE, (input, pattern, rewrite), attrs, name).outputs[0]


def regex_full_match(input: TensorLike, pattern: TensorLike, name: str | None = None) -> Tensor:
    """Whether each whole string matches a pattern (tf.strings.regex_full_match).

    Args:
        input: A tensor of strings.
        pattern: A regular expression, a string or a scalar of strings.
        name: A name for the operation.

    Returns:
        A tensor of bools.

    Raises:
        InvalidArgumentError: When it runs, for what is no regular expression.
    """
    if isinstance(pattern, str | bytes):
        return apply(STATIC_REGEX_FULL_MATCH, (input,), {"pattern": _text(pattern)}, name).outputs[0]
    return apply(REGEX_FULL_MATCH, (input, pattern), name=name).outputs[0]

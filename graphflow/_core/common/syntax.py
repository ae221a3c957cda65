"""Python's text as a tree, also where several threads read texts at once."""

from __future__ import annotations

import ast
from typing import Any, Literal, overload

_MOST_TRIES = 20


@overload
def parse(source: str, file: str = ..., mode: Literal["exec"] = ...) -> ast.Module: ...
@overload
def parse(source: str, file: str = ..., *, mode: Literal["eval"]) -> ast.Expression: ...
def parse(source: str, file: str = "<unknown>", mode: str = "exec") -> ast.AST:
    """As `ast.parse`, which fails with a SystemError where another parse begins before this one has ended.

    CPython 3.11 counts the depth of all trees that are being made in one place. The collector of garbage may run
    between two nodes, a finalizer, or another thread meanwhile, may parse, and what was counted is no longer this
    tree's: "AST constructor recursion depth mismatch". Nothing is wrong with the text, so it is read again.
    """
    for _ in range(_MOST_TRIES):
        try:
            return ast.parse(source, file, mode)
        except SystemError:
            continue
    return ast.parse(source, file, mode)


def literal(text: str) -> Any:
    """As `ast.literal_eval` of a text, which parses it, too."""
    return ast.literal_eval(parse(text.lstrip(" \t"), mode="eval"))

"""The NumPy meaning of `scalar` texts: the same text from which compiled code is made, run over whole arrays."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from graphflow._core.common.syntax import parse

_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": np.abs, "sqrt": np.sqrt, "sign": np.sign, "pow": np.power, "max": np.maximum, "min": np.minimum,
    "exp": np.exp, "log": np.log, "where_": np.where,
}  # fmt: skip


class _Vectorised(ast.NodeTransformer):
    """`a if c else b` becomes where_(c, a, b), since a condition over arrays has many answers."""

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        call = ast.Call(ast.Name("where_", ast.Load()), [node.test, node.body, node.orelse], [])
        return ast.copy_location(call, node)


def statements(
    text: Sequence[str], inputs: Sequence[str], results: Sequence[str]
) -> Callable[..., tuple[Any, ...]]:
    """A function of the inputs' arrays, in order, that runs assignments and returns the named results.

    Literals take the dtype of the arrays, as everywhere in scalar texts (NumPy's rule for Python numbers).
    """
    body = [re.sub(r"\{(\w+)\}", r"old_\1", line) for line in text]
    source = f"def run({', '.join('old_' + n for n in inputs)}):\n"
    source += "".join(f"    {line}\n" for line in body) + f"    return ({', '.join(results)},)\n"
    tree = ast.fix_missing_locations(_Vectorised().visit(parse(source)))
    scope: dict[str, Any] = dict(_FUNCTIONS)
    exec(compile(tree, "<scalar text>", "exec"), scope)
    function: Callable[..., tuple[Any, ...]] = scope["run"]
    return function

"""Which names statements assign and read, and what else they change."""

from __future__ import annotations

import ast
from collections.abc import Iterable

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned(nodes: Iterable[ast.AST]) -> list[str]:
    """The names that statements assign in their own scope, in the order in which they come."""
    found: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.setdefault(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(node.name)
        elif isinstance(node, ast.alias):
            found.setdefault((node.asname or node.name).partition(".")[0])
        if not isinstance(node, (*_SCOPES, *_COMPREHENSIONS)):
            for child in ast.iter_child_nodes(node):
                visit(child)

    for node in nodes:
        visit(node)
    return list(found)


def read(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that statements read, also in functions inside them and by an assignment such as x += 1."""
    found: set[str] = set()
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                found.add(part.id)
            elif isinstance(part, ast.AugAssign) and isinstance(part.target, ast.Name):
                found.add(part.target.id)
    return found


def other_changes(nodes: Iterable[ast.AST]) -> str:
    """The first thing that statements change and that is no name, such as an attribute; "" if there is none."""
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load):
                return f"{ast.unparse(part)} in line {part.lineno}"
            if isinstance(part, ast.Global | ast.Nonlocal):
                return f"{', '.join(part.names)} of an outer scope, line {part.lineno},"
    return ""


def holds(nodes: Iterable[ast.AST], *kinds: type[ast.AST]) -> bool:
    """Whether statements hold a node of these kinds in their own scope; of loops' own, `break` does not count."""

    def visit(node: ast.AST) -> bool:
        if isinstance(node, kinds):
            return True
        if isinstance(node, _SCOPES):
            return False
        if isinstance(node, ast.For | ast.While) and not (set(kinds) - {ast.Break, ast.Continue}):
            return any(visit(child) for child in node.orelse)
        return any(visit(child) for child in ast.iter_child_nodes(node))

    return any(visit(node) for node in nodes)

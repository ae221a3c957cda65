"""Rewrites a function's text: control flow, and what it depends on, become calls of graphflow.autograph.operators.

A block of statements is walked with the names that are read behind it. What a statement assigns and nobody reads behind
it is no result of it. Exits become conditions: what follows a `break`, a `continue` or a `return` in a branch is put
under a flag, or into the other branch.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from graphflow.autograph.names import assigned, holds, other_changes, read

_Node = TypeVar("_Node", bound=ast.AST)
OPERATORS: Final = "ag__"
"""What rewritten functions call the module of operators."""


class Rewriter:
    """Rewrites one function."""

    def __init__(self) -> None:
        self._count = 0

    def function(self, node: ast.FunctionDef) -> ast.FunctionDef:
        """A function with what stands in it rewritten, and without decorators."""
        body = [self._statement_of_expressions(s) for s in node.body]
        returned = ""
        if any(isinstance(s, ast.If) and holds([s], ast.Return) for s in body):
            returned = self._name("returned")
            body = self._with_one_return(body, returned)
        made = ast.FunctionDef(
            name=node.name, args=node.args, body=self._block(body, {returned} if returned else set()) or [ast.Pass()],
            decorator_list=[], returns=None, type_comment=None,
        )  # fmt: skip
        if returned:
            made.body.append(ast.Return(_load(returned)))
        for argument in ast.walk(made.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return ast.copy_location(made, node)

    def _name(self, what: str) -> str:
        self._count += 1
        return f"ag__{what}_{self._count}"

    # ---- returns --------------------------------------------------------------------------------------------------

    def _with_one_return(self, body: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
        """A block in which a name is assigned in place of each return; what follows one is in the other branch."""
        found: list[ast.stmt] = []
        for number, statement in enumerate(body):
            if isinstance(statement, ast.Return):
                value = statement.value or ast.Constant(None)
                return [*found, _at(ast.Assign([_store(name)], value), statement)]
            if isinstance(statement, ast.If) and holds([statement], ast.Return):
                rest = list(body[number + 1 :])
                one, other = list(statement.body), list(statement.orelse)
                if not _returns(one):
                    one += copy.deepcopy(rest)
                if not _returns(other):
                    other += rest
                branches = [self._with_one_return(block, name) for block in (one, other)]
                return [*found, _at(ast.If(statement.test, branches[0], branches[1]), statement)]
            found.append(statement)
        return [*found, ast.Assign([_store(name)], ast.Constant(None))]

    # ---- blocks ---------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], live: set[str]) -> list[ast.stmt]:
        """The statements of a block, of which the names in `live` are read behind it."""
        found: list[ast.stmt] = []
        for statement in reversed(body):
            found[:0] = self._statement(statement, live)
            live = live | read([statement])
        return found

    def _statement(self, statement: ast.stmt, live: set[str]) -> list[ast.stmt]:
        if isinstance(statement, ast.If):
            return self._if(statement, live)
        if isinstance(statement, ast.While | ast.For):
            return self._loop(statement, live)
        if isinstance(statement, ast.FunctionDef):
            return [Rewriter().function(statement)]
        for field in ("body", "orelse", "finalbody"):
            inner = getattr(statement, field, None)
            if isinstance(inner, list) and not isinstance(statement, ast.ClassDef):
                setattr(statement, field, self._block(inner, live | read([statement])))
        for handler in getattr(statement, "handlers", ()):
            handler.body = self._block(handler.body, live)
        return [statement]

    def _if(self, node: ast.If, live: set[str]) -> list[ast.stmt]:
        blocks = [list(node.body), list(node.orelse)]
        names = assigned([*node.body, *node.orelse])
        results = [name for name in names if name in live]
        both = [*node.body, *node.orelse]
        if holds(both, ast.Break, ast.Continue) or holds(both, ast.Return, ast.Yield, ast.Await):
            return [self._left_alone(node, live)]
        named = zip(("then", "else"), blocks, strict=True)
        functions = [self._function(what, names, block, results, live) for what, block in named]
        arguments = [
            node.test, _load(functions[0].name), _load(functions[1].name), _values(names), _texts(results),
            ast.Constant(other_changes([*node.body, *node.orelse])),
        ]  # fmt: skip
        return _placed([*functions, *_assign(results, _call("if_stmt", arguments))], node)

    def _left_alone(self, node: ast.If, live: set[str]) -> ast.stmt:
        """An if that cannot be rewritten, as it holds what leaves a loop that is not rewritten either."""
        test = _call("python_only", [node.test, ast.Constant(f"the if in line {node.lineno} leaves it")])
        body, orelse = (self._block(block, live) for block in (node.body, node.orelse))
        return _at(ast.If(test, body or [ast.Pass()], orelse), node)

    def _loop(self, node: ast.While | ast.For, live: set[str]) -> list[ast.stmt]:
        reason = ""
        if node.orelse:
            reason = f"the else of the loop in line {node.lineno} is not"
        elif holds(node.body, ast.Return, ast.Yield, ast.Await):
            reason = f"set a variable, break and return behind the loop in line {node.lineno}"
        elif _leaves(node.body, within=(ast.Try, ast.With)):
            reason = f"a break or continue in line {node.lineno} stands in a with or try"
        if reason:
            return [self._plain_loop(node, live, reason)]
        before: list[ast.stmt] = []
        body, goes_on = list(node.body), None
        if holds(body, ast.Continue):
            flag = self._name("continued")
            body = [_flag(flag, False), *self._under(body, ast.Continue, flag)]
        if holds(body, ast.Break):
            goes_on = self._name("broken")
            before.append(_flag(goes_on, False))
            body = self._under(body, ast.Break, goes_on)
        target = [node.target] if isinstance(node, ast.For) else []
        names = assigned([*target, *body])
        if goes_on and goes_on not in names:
            names.append(goes_on)
        condition = [node.test] if isinstance(node, ast.While) else []
        inner = live | read(condition) | read(body) | set(names if goes_on is None else [*names, goes_on])
        turn = self._function("turn", names, body, names, inner, target)
        ending = None if goes_on is None else _call("not_", [_load(goes_on)])
        if isinstance(node, ast.While):
            test = node.test if ending is None else _call("and_", [_delayed(ending), _delayed(node.test)])
            test_function = self._function("test", names, [ast.Return(test)], None, set())
            arguments: list[ast.expr] = [_load(test_function.name), _load(turn.name)]
            functions: list[ast.stmt] = [test_function, turn]
            kind = "while_stmt"
        else:
            functions, argument = [turn], ast.Constant(None)
            items: ast.expr = node.iter
            tested: ast.expr = argument
            if ending is not None:
                test_function = self._function("test", names, [ast.Return(ending)], None, set())
                functions, tested = [test_function, turn], _load(test_function.name)
            arguments, kind = [items, tested, _load(turn.name)], "for_stmt"
        arguments += [_values(names), _texts(names), ast.Constant(other_changes(node.body))]
        return _placed([*before, *functions, *_assign(names, _call(kind, arguments))], node)

    def _plain_loop(self, node: ast.While | ast.For, live: set[str], reason: str) -> ast.stmt:
        """A loop that stays Python's, and must not depend on a tensor."""
        inner = live | read([node])
        node.body = self._block(node.body, inner)
        node.orelse = self._block(node.orelse, live)
        if isinstance(node, ast.While):
            node.test = _call("python_only", [node.test, ast.Constant(reason)])
        else:
            node.iter = _call("python_only", [node.iter, ast.Constant(reason)])
        return ast.fix_missing_locations(node)

    def _under(self, body: Sequence[ast.stmt], kind: type[ast.stmt], flag: str) -> list[ast.stmt]:
        """A loop's block in which a flag is set in place of a break or continue; what follows one is under the flag."""
        found: list[ast.stmt] = []
        for number, statement in enumerate(body):
            if isinstance(statement, kind):
                return [*found, _at(_flag(flag, True), statement)]
            if isinstance(statement, ast.If) and holds([statement], kind):
                one, other = (self._under(block, kind, flag) for block in (statement.body, statement.orelse))
                found.append(_at(ast.If(statement.test, one, other), statement))
                rest = self._under(body[number + 1 :], kind, flag)
                if rest:
                    found.append(_at(ast.If(_call("not_", [_load(flag)]), rest, []), statement))
                return found
            found.append(statement)
        return found

    def _function(
        self, what: str, names: Sequence[str], body: Sequence[ast.stmt], results: Sequence[str] | None, live: set[str],
        target: Sequence[ast.expr] = (),
    ) -> ast.FunctionDef:  # fmt: skip
        """A function of the values of names that gives those of results."""
        item = [self._name("item")] if target else []
        inner = self._block(body, live | set(results or ())) if results is not None else list(body)
        if target:
            inner = [ast.Assign(list(target), _load(item[0])), *inner]
        if results is not None:
            inner = [*inner, ast.Return(ast.Tuple([_value(name) for name in results], ast.Load()))]
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(name) for name in [*item, *names]], vararg=None, kwonlyargs=[],
            kw_defaults=[], kwarg=None, defaults=[],
        )  # fmt: skip
        return ast.FunctionDef(
            name=self._name(what),
            args=arguments,
            body=inner,
            decorator_list=[],
            returns=None,
            type_comment=None,
        )

    # ---- expressions ----------------------------------------------------------------------------------------------

    @staticmethod
    def _statement_of_expressions(statement: ast.stmt) -> ast.stmt:
        found: ast.stmt = _Expressions().visit(statement)
        return found


class _Expressions(ast.NodeTransformer):
    """Rewrites what may be a tensor's truth, and calls."""

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        kind = "and_" if isinstance(node.op, ast.And) else "or_"
        result: ast.expr = node.values[-1]
        for value in reversed(node.values[:-1]):
            result = _call(kind, [_delayed(value), _delayed(result)])
        return _at(result, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _at(_call("not_", [node.operand]), node) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        kinds = {ast.Eq: "eq", ast.NotEq: "not_eq"}
        if len(node.ops) > 1:  # a < b < c: a < b and b < c.
            sides = [node.left, *node.comparators]
            pairs: list[ast.expr] = [
                self.visit(ast.Compare(one, [op], [other]))
                for one, op, other in zip(sides, node.ops, sides[1:], strict=False)
            ]
            result = pairs[-1]
            for pair in reversed(pairs[:-1]):
                result = _call("and_", [_delayed(pair), _delayed(result)])
            return _at(result, node)
        kind = kinds.get(type(node.ops[0]))
        return node if kind is None else _at(_call(kind, [node.left, node.comparators[0]]), node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _at(_call("if_exp", [node.test, _delayed(node.body), _delayed(node.orelse)]), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "locals",
            "globals",
            "vars",
            "eval",
            "exec",
        ):
            return node  # They look at who calls them.
        node.func = _at(_call("converted", [node.func]), node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node  # It is rewritten by itself.

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node


def _returns(body: Sequence[ast.stmt]) -> bool:
    """Whether a block ends in a return, whatever its ifs say."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _returns(last.body) and _returns(last.orelse)
    return isinstance(last, ast.Return | ast.Raise)


def _leaves(body: Iterable[ast.stmt], within: tuple[type[ast.AST], ...]) -> bool:
    return any(
        isinstance(part, within) and holds(ast.iter_child_nodes(part), ast.Break, ast.Continue)
        for statement in body
        for part in ast.walk(statement)
    )


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _store(name: str) -> ast.Name:
    return ast.Name(name, ast.Store())


def _call(operator: str, arguments: Sequence[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(_load(OPERATORS), operator, ast.Load()), list(arguments), [])


def _delayed(value: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(
        posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    return ast.Lambda(nothing, value)


def _value(name: str) -> ast.expr:
    """The value of a name that may have none."""
    return _call("value", [_delayed(_load(name)), ast.Constant(name)])


def _values(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([_value(name) for name in names], ast.Load())


def _texts(names: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _assign(names: Sequence[str], value: ast.expr) -> list[ast.stmt]:
    if not names:
        return [ast.Expr(value)]
    return [ast.Assign([ast.Tuple([_store(name) for name in names], ast.Store())], value)]


def _flag(name: str, value: bool) -> ast.stmt:
    return ast.Assign([_store(name)], ast.Constant(value))


def _at(node: _Node, like: ast.AST) -> _Node:
    return ast.fix_missing_locations(ast.copy_location(node, like))


def _placed(nodes: Sequence[ast.stmt], like: ast.stmt) -> list[ast.stmt]:
    for node in nodes:
        ast.fix_missing_locations(ast.copy_location(node, like))
    return list(nodes)

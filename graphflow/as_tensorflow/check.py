"""What a program asks of TensorFlow that graphflow does not have, read from its text: nothing of it is run.

A program's names are followed from its imports of tensorflow: `import tensorflow as tf`, `from tensorflow.contrib
import slim`, and `layers = tf.contrib.layers`. Each dotted name that begins with one is looked up in the table by which
`graphflow run` serves it, and the keyword arguments of what is called in its signature. What only a run knows is not
seen: attributes of objects, names made from strings. What stands in a `try` that catches the absence is not counted.
"""

from __future__ import annotations

import ast
import inspect
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from importlib.machinery import PathFinder
from sys import stdlib_module_names
from typing import Any, Final, NamedTuple

from graphflow._core.common.namespaces import missing
from graphflow._core.common.syntax import parse
from graphflow._core.graph.dtypes import DType
from graphflow.as_tensorflow.age import advice_for
from graphflow.as_tensorflow.finder import Place, member, place_of
from graphflow.as_tensorflow.packages import old_packages

_FORGIVING: Final = frozenset(
    {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
)
"""What a `try` catches that can do without a name."""
_DICTIONARY_METHODS: Final = frozenset({"iteritems", "itervalues", "iterkeys", "has_key"})


@dataclass(frozen=True)
class Finding:
    """Something that a program uses at a line, and that is not there: what, and what to use or do instead."""

    file: str
    line: int
    what: str
    advice: str


class Report(NamedTuple):
    """What was read of one file."""

    uses: int
    """How many names of TensorFlow's it uses, each place counted."""
    findings: Sequence[Finding]
    packages: Sequence[Finding]
    """Packages that it imports and that are not installed here."""


class _Name(NamedTuple):
    """What a name of the program stands for: the dotted path inside of tensorflow, as the program writes it."""

    path: str
    value: object = None
    missing: Finding | None = None


_UNKNOWN: Final = None
_Scope = dict[str, "_Name | None"]


def read_program(text: str, file: str, beside: frozenset[str] = frozenset()) -> Report:
    """Reads the text of one file.

    Args:
        text: A module in Python.
        file: Its name, for what is said of it.
        beside: Names of modules of the program itself, which are not looked for among packages.

    Returns:
        What it uses, and what of it is not there. A text that is no Python has one finding, which says where.
    """
    try:
        with warnings.catch_warnings(
            action="ignore"
        ):  # Such as of "\d", which is said when the program runs.
            tree = parse(text, file)
    except (SyntaxError, ValueError) as error:  # ValueError: it has null characters.
        said = getattr(error, "msg", str(error))
        advice = advice_for(error) or "it cannot be read as Python"
        return Report(0, [Finding(file, getattr(error, "lineno", None) or 1, f"syntax: {said}", advice)], [])
    reader = _Reader(file, beside, frozenset(_stored(tree)))
    reader.read(tree)
    return Report(reader.uses, sorted(reader.findings, key=_line), reader.packages)


def _line(finding: Finding) -> int:
    return finding.line


def _stored(tree: ast.AST) -> Iterator[str]:
    """The names that a module defines anywhere."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.partition(".")[0]


def _dotted(node: ast.expr) -> list[str] | None:
    """The parts of `a.b.c`, None if it does not begin with a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else None


def _forgives(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(one, ast.Name) and one.id in _FORGIVING for one in caught)


class _Reader(ast.NodeVisitor):
    """Walks a module. Functions are read after what is around them, whose names they see as these are at the end."""

    def __init__(self, file: str, beside: frozenset[str], stored: frozenset[str]) -> None:
        self.uses = 0
        self.findings: list[Finding] = []
        self.packages: list[Finding] = []
        self._file = file
        self._beside = beside
        self._stored = stored
        self._scopes: list[_Scope] = [{}]
        self._given: set[str] = set()
        """What the program itself has put into tensorflow's modules."""
        self._later: list[tuple[list[_Scope], Sequence[ast.AST]]] = []

    def read(self, tree: ast.Module) -> None:
        """Reads all of it."""
        self._visit_all(tree.body)
        while self._later:
            self._scopes, body = self._later.pop(0)
            self._visit_all(body)

    def _visit_all(self, nodes: Sequence[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def _say(self, node: ast.AST, what: str, advice: str) -> Finding:
        finding = Finding(self._file, getattr(node, "lineno", 1), what, advice)
        self.findings.append(finding)
        return finding

    def _known(self, name: str) -> _Name | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return _UNKNOWN

    # Imports.

    def visit_Import(self, node: ast.Import) -> None:
        """`import tensorflow.contrib.slim as slim`."""
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if place_of(alias.name) is None:
                self._package(node, alias.name)
                continue
            path = _shown(alias.name)
            name = self._use(node, path)
            self._scopes[-1][alias.asname or root] = name if alias.asname else _Name(_shown(root))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """`from tensorflow.contrib import slim`."""
        module = node.module or ""
        if node.level or place_of(module) is None:
            if not node.level:
                self._package(node, module, [alias.name for alias in node.names])
            return
        of = self._look_up(node, _shown(module))
        for alias in node.names:
            if alias.name == "*":
                self.uses += 1
                continue
            path = _joined(_shown(module), alias.name)
            name = (
                self._use(node, path)
                if of.missing is None
                else self._again(node, _Name(path, None, of.missing))
            )
            self._scopes[-1][alias.asname or alias.name] = name

    def _package(self, node: ast.AST, module: str, names: Sequence[str] = ()) -> None:
        """Any other import: what has gone with an older Python, and what is not installed."""
        root = module.partition(".")[0]
        gone: list[ImportError] = [ModuleNotFoundError(f"No module named {module!r}")]
        gone += [ImportError(f"cannot import name {name!r} from {module!r}") for name in names]
        advice = [said for error in gone if (said := advice_for(error)) is not None]
        if root in self._beside or old_packages.serves(module, names):
            return
        if root in stdlib_module_names and advice and _has(module, names):
            return
        if advice:
            self._say(node, f"import {module}", advice[0])
        elif root not in stdlib_module_names and not PathFinder.find_spec(root):
            self.packages.append(
                Finding(self._file, getattr(node, "lineno", 1), root, "the package is not installed here")
            )

    # Names.

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """`tf.nn.relu`; `tf.model = ...`, which the program has from then on."""
        parts = _dotted(node)
        if not isinstance(node.ctx, ast.Load) and parts and (known := self._known(parts[0])) is not None:
            self._given.add(_joined(known.path, *parts[1:]))
        elif self._of_tensorflow(node) is None:
            self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        """`slim` alone, or a name that is given another meaning."""
        if not isinstance(node.ctx, ast.Load):
            self._scopes[-1][node.id] = _UNKNOWN
        elif self._of_tensorflow(node) is None and node.id not in self._stored:
            advice = advice_for(NameError(f"name {node.id!r} is not defined"))
            if advice is not None:
                self._say(node, node.id, advice)

    def _of_tensorflow(self, node: ast.expr) -> _Name | None:
        """What a dotted name stands for; counts it, and says if it is not there. None if it is not TensorFlow's."""
        parts = _dotted(node)
        known = self._known(parts[0]) if parts else None
        if parts is None or known is None:
            return None
        if known.missing is not None:
            return self._again(node, known)
        return self._use(node, _joined(known.path, *parts[1:])) if len(parts) > 1 else known

    def _use(self, node: ast.AST, path: str) -> _Name:
        self.uses += 1
        return self._look_up(node, path)

    def _look_up(self, node: ast.AST, path: str) -> _Name:
        """What a path inside of tensorflow is; says if it is not there."""
        if any(path == given or path.startswith(f"{given}.") for given in self._given):
            return _Name(path)
        value, what, advice = _follow(path)
        return _Name(path, value, self._say(node, what, advice) if what else None)

    def _again(self, node: ast.AST, name: _Name) -> _Name:
        """Another use of something in what is missing."""
        assert name.missing is not None
        self.uses += 1
        self._say(node, name.missing.what, name.missing.advice)
        return name

    def visit_Assign(self, node: ast.Assign) -> None:
        """`layers = tf.contrib.layers`: another name of the same."""
        value = self._of_tensorflow(node.value)
        if value is None:
            self.visit(node.value)
        self._visit_all(node.targets)
        if value is not None and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._scopes[-1][node.targets[0].id] = value

    def visit_Call(self, node: ast.Call) -> None:
        """The keyword arguments of what is called, too."""
        name = self._of_tensorflow(node.func)
        if name is None:
            self.visit(node.func)
            self._python_2(node.func)
        elif name.missing is None:
            self._check_keywords(node, name)
        self._visit_all([*node.args, *node.keywords])

    def _python_2(self, function: ast.expr) -> None:
        if not isinstance(function, ast.Attribute) or function.attr not in _DICTIONARY_METHODS:
            return
        if not (isinstance(function.value, ast.Name) and function.value.id == "six"):
            advice = advice_for(AttributeError(f"'dict' object has no attribute {function.attr!r}"))
            self._say(function, f".{function.attr}()", advice or "dictionaries have it no more")

    def _check_keywords(self, node: ast.Call, name: _Name) -> None:
        taken = _keywords(name.value)
        if taken is None:
            return
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in taken:
                near = get_close_matches(keyword.arg, taken, 2)
                advice = (
                    f"the nearest arguments are {', '.join(near)}" if near else f"it takes {', '.join(taken)}"
                )
                self._say(keyword.value, f"tf.{name.path}({keyword.arg}=)", advice)

    # What has names of its own, and what may be absent.

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Its decorators and defaults now, its body later."""
        arguments = node.args
        self._visit_all(node.decorator_list)
        self._visit_all([*arguments.defaults, *(one for one in arguments.kw_defaults if one)])
        self._scopes[-1][node.name] = _UNKNOWN
        self._body_later(arguments, node.body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """As a function."""
        self._visit_all([*node.args.defaults, *(one for one in node.args.kw_defaults if one)])
        self._body_later(node.args, [node.body])

    def _body_later(self, arguments: ast.arguments, body: Sequence[ast.AST]) -> None:
        every = [
            *arguments.posonlyargs,
            *arguments.args,
            *arguments.kwonlyargs,
            arguments.vararg,
            arguments.kwarg,
        ]
        own: _Scope = {one.arg: _UNKNOWN for one in every if one is not None}
        self._later.append(([*self._scopes, own], body))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Its body's names are no names of its methods."""
        self._visit_all([*node.decorator_list, *node.bases, *node.keywords])
        self._scopes[-1][node.name] = _UNKNOWN
        around, self._scopes = self._scopes, [*self._scopes, {}]
        before = len(self._later)
        self._visit_all(node.body)
        own = self._scopes[-1]
        self._scopes = around
        self._later[before:] = [
            ([one for one in scopes if one is not own], body) for scopes, body in self._later[before:]
        ]

    def visit_Try(self, node: ast.Try) -> None:
        """What a `try` can do without is not missing, if what it does then is there."""
        if not any(map(_forgives, node.handlers)):
            self.generic_visit(node)
            return
        before, packages = len(self.findings), len(self.packages)
        self._visit_all(node.body)
        names = dict(self._scopes[-1])
        if len(self.findings) == before and len(self.packages) == packages:
            self._visit_all([*node.orelse, *node.finalbody])
            # Its other names are those of what is not run.
            self._aside(node.handlers)
            self._scopes[-1].update(names)
            return
        del self.findings[before:], self.packages[packages:]
        self._visit_all([*node.handlers, *node.orelse, *node.finalbody])

    def _aside(self, nodes: Sequence[ast.AST]) -> None:
        """Reads what is not run here: what it lacks is not counted."""
        uses, findings, packages, later = self.uses, len(self.findings), len(self.packages), len(self._later)
        self._visit_all(nodes)
        del self.findings[findings:], self.packages[packages:], self._later[later:]
        self.uses = uses


def _has(module: str, names: Sequence[str]) -> bool:
    """Whether a module of Python itself is there and has these names."""
    try:
        found = import_module(module)
    except ImportError:
        return False
    return all(hasattr(found, name) for name in names)


def _joined(*parts: str) -> str:
    return ".".join(part for part in parts if part)


def _shown(module: str) -> str:
    """The path inside of tensorflow of a module that a program imports; "" for the whole."""
    root, _, rest = module.partition(".")
    return _joined(place_of(root) or "", rest)


def _follow(path: str) -> tuple[Any, str, str]:
    """What a path inside of tensorflow stands for.

    Returns:
        The object, or None if only a run knows it; the part of the path that is not there, "" if all is; what to use.
    """
    value: Any = Place("tensorflow")
    where = "tensorflow"
    for part in path.split(".") if path else ():
        try:
            if isinstance(value, Place):
                value = member(value.module, part)
            elif isinstance(value, type | DType):
                value = getattr(value, part) if hasattr(value, part) else missing(where, dir(value))(part)
            else:
                return None, "", ""
        except AttributeError as error:
            if part.startswith("__"):
                return None, "", ""
            told = str(error).removeprefix(f"{where} has no attribute {part!r}: ").rstrip(".")
            return None, f"tf{where.removeprefix('tensorflow')}.{part}", told
        where = f"{where}.{part}"
    return value, "", ""


def _keywords(value: object) -> list[str] | None:
    """The names of the arguments that something takes; None if it takes any, or says nothing of them."""
    if not callable(value):
        return None
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return None
    return [one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY]

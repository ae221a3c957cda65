"""Protects the rooms from tests of other rooms: these take nothing of privates.

Privates of modules and classes are known by what a test imports. Those of objects, such as `server._service`, are known
by the attribute's name alone: it counts if classes of other rooms define it, and none of the test's own room and of the
tests.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tests.test_layout import PACKAGE, PROJECT, modules

_TESTS: Final = PROJECT / "tests"
_OF_NAMED_TUPLES: Final = frozenset({"_asdict", "_fields", "_make", "_replace"})


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[2] if parts[1:2] == ["_core"] and len(parts) > 2 else parts[1] if len(parts) > 1 else ""


def _room_of_test(path: Path) -> str:
    return path.relative_to(_TESTS).parts[0].removesuffix(".py").removeprefix("test_")


def _private(name: object) -> bool:
    """Whether a name is nobody else's business; IPython calls those that begin with _repr_, which are for all."""
    others = ("__", "_repr_")
    return isinstance(name, str) and name.startswith("_") and not name.startswith(others) and name != "_core"


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _tests() -> list[Path]:
    return sorted(_TESTS.rglob("*.py"))


def _taken(tree: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The private attributes that a file names, and of what: with a dot, or as in setattr(thing, "_name")."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner, name = node.value, node.attr
        elif isinstance(node, ast.Call) and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            owner, name = node.args[0], node.args[1].value
        else:
            continue
        if _private(name):
            yield owner, name


# ---- of modules and classes -----------------------------------------------------------------------------------------


def _of_modules(path: Path) -> Iterator[str]:
    """What a test takes of the privates of modules and classes that it imports from a room that is not its own."""
    own = _room_of_test(path)
    others: dict[str, str] = {}
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(PACKAGE):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if _room(f"{whole}." if node.module == f"{PACKAGE}._core" else whole) != own:
                    others[alias.asname or alias.name] = whole
                    if _private(alias.name):
                        yield whole
    for owner, name in _taken(_tree(path)):
        if isinstance(owner, ast.Name) and owner.id in others:
            yield f"{others[owner.id]}.{name}"


def test_tests_leave_privates_of_modules_of_other_rooms_alone() -> None:
    found = [f"{path.relative_to(PROJECT)}: {name}" for path in _tests() for name in _of_modules(path)]
    assert not found, "\n".join(found)


# ---- of objects -----------------------------------------------------------------------------------------------------


def _defined(tree: ast.AST) -> set[str]:
    """The private methods and attributes of the classes of a file."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                    found.add(part.name)
                elif isinstance(part, ast.Assign | ast.AnnAssign):
                    targets = part.targets if isinstance(part, ast.Assign) else [part.target]
                    found.update(target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_own(node.value):
            found.add(node.attr)
    return set(filter(_private, found)) - _OF_NAMED_TUPLES


def _of_objects(
    tree: ast.AST, own: str, rooms: Mapping[str, Collection[str]], of_tests: Collection[str]
) -> Iterator[str]:
    """What a test of a room takes of the privates of objects. `rooms` has, by attribute, the rooms that define it."""
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for owner, name in _taken(tree):
        if _is_own(owner) or (isinstance(owner, ast.Name) and owner.id in imported):
            continue
        if name in rooms and own not in rooms[name] and name not in of_tests:
            yield f"{ast.unparse(owner)}.{name}"


def test_privates_of_objects_are_told_apart() -> None:
    source = """
import module
class Helper:
    def _help(self):
        self._op = 3
servers[0]._service.start()
helper()._help()
module._name
tensor._op
session._shapes
monkeypatch.setattr(server, "_stop", None)
array._obj
"""
    tree = ast.parse(source)
    assert _defined(tree) == {"_help", "_op"}
    rooms = {name: {"cluster"} for name in ("_service", "_stop", "_help", "_op", "_name")} | {
        "_shapes": {"graph", "plan"}
    }
    assert sorted(_of_objects(tree, "graph", rooms, _defined(tree))) == [
        "server._stop",
        "servers[0]._service",
    ]
    assert list(_of_objects(tree, "cluster", rooms, ())) == ["session._shapes"]


def test_tests_leave_privates_of_objects_of_other_rooms_alone() -> None:
    rooms: dict[str, set[str]] = defaultdict(set)
    for module, path in modules().items():
        for name in _defined(_tree(path)):
            rooms[name].add(_room(module))
    of_tests = set().union(*(_defined(_tree(path)) for path in _tests()))
    found = [
        f"{path.relative_to(PROJECT)}: {taken}"
        for path in _tests()
        for taken in _of_objects(_tree(path), _room_of_test(path), rooms, of_tests)
    ]
    assert not found, "\n".join(found)

"""Programs written for Python 2, made Python 3 as they are imported (graphflow run --py2); their files stay.

The package fissix, 2to3's successor, rewrites the text. Each line of code keeps its number in the file, so that
tracebacks show the program's own lines. What 2to3 leaves is that `/` of whole numbers gave a whole number: it does here
too, unless a module has `from __future__ import division`.
"""

from __future__ import annotations

import ast
import io
import operator
import os
import re
import sys
import tokenize
import types
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from typing import Any, Final

import numpy as np

from graphflow._core.common.syntax import parse

_DIVIDE: Final = "__graphflow_divide__"
_DIVIDE_IN_PLACE: Final = "__graphflow_divide_in_place__"
_TAB: Final = 8
"""Columns of a tab in Python 2, where it could stand beside spaces."""
_TRUE_DIVISION: Final = re.compile(
    r"^from\s+__future__\s+import\s+(?:[^#\n(]*|\([^)]*)\bdivision\b", re.MULTILINE
)


def divide(x: Any, y: Any) -> Any:
    """x / y as Python 2 had it: rounded down if both are whole numbers, or arrays or tensors of such.

    Args:
        x: A number, an array, a tensor, or anything that can be divided.
        y: What it is divided by.
    """
    return operator.floordiv(x, y) if _is_whole(x) and _is_whole(y) else operator.truediv(x, y)


def divide_in_place(x: Any, y: Any) -> Any:
    """x /= y as Python 2 had it; gives what x is from then on.

    Args:
        x: What is divided.
        y: What it is divided by.
    """
    if _is_whole(x) and _is_whole(y):
        x //= y
    else:
        x /= y
    return x


def _is_whole(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return isinstance(value, int)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iub"
    return bool(getattr(dtype, "is_integer", False))


def converted(data: bytes, file: str, inside: bool = True) -> types.CodeType:
    """The code of a module written for Python 2.

    Args:
        data: Its text.
        file: Its path.
        inside: Whether it is a module of a package, whose other modules it imports by their names alone.

    Returns:
        The code, whose line numbers are those of the file.

    Raises:
        SyntaxError: If the text is no Python.
        ModuleNotFoundError: If fissix is not installed.
    """
    return compile(converted_tree(_text_of(data), file, inside), file, "exec", dont_inherit=True)


def converted_tree(text: str, file: str, inside: bool = True) -> ast.Module:
    """The same of a text, as a syntax tree, which says `/` where Python 2's is meant only if the text is run.

    Args:
        text: A module.
        file: Its path.
        inside: Whether it is a module of a package.

    Returns:
        The tree.
    """
    rewritten = _rewritten(text, file, inside)
    try:
        tree = parse(rewritten, file)
    except TabError:
        rewritten = _without_tabs(rewritten)
        tree = parse(rewritten, file)
    except (
        SyntaxError
    ):  # The sort() of something else, such as a table of pandas, is rewritten to what is no Python.
        rewritten = _rewritten(text, file, inside, sorts=False)
        tree = parse(rewritten, file)
    _number_as(tree, text, rewritten)
    if not _TRUE_DIVISION.search(text):
        tree = ast.fix_missing_locations(_Divisions().visit(tree))
    return tree


def _text_of(data: bytes) -> str:
    try:
        return decode_source(data)
    except (
        SyntaxError,
        UnicodeDecodeError,
    ):  # Python 2 asked for no encoding if what is not ASCII is a comment.
        return io.IncrementalNewlineDecoder(None, True).decode(data.decode("latin-1"))


@cache
def _tools(sorts: bool, inside: bool) -> Mapping[bool, Any]:
    """What rewrites texts: those with print statements, and those that Python 3 can read.

    sorts: Whether the first argument of a sort() is taken for a comparison, as a list's was.
    inside: Whether an import may be of a module beside. In a program it is not, though its folder be a package, too.
    """
    try:
        from fissix.refactor import RefactoringTool, get_fixers_from_package
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Programs for Python 2 need the package fissix: pip install 'graphflow-engine[py2]'.",
            name="fissix",
        ) from error
    left_out = {name for name, used in (("fix_sorted", sorts), ("fix_import", inside)) if not used}
    found = get_fixers_from_package("fissix.fixes")
    fixers = [name for name in found if name.rpartition(".")[2] not in left_out]
    others = [name for name in fixers if name.rpartition(".")[2] != "fix_print"]
    return {
        True: RefactoringTool(fixers),
        False: RefactoringTool(others, {"print_function": True}),
    }


def _rewritten(text: str, file: str, inside: bool, sorts: bool = True) -> str:
    whole = text if text.endswith("\n") else f"{text}\n"
    try:
        parse(whole)
        prints = False
    except (SyntaxError, ValueError):
        prints = True
    tools = _tools(sorts, inside)
    try:
        return str(tools[prints].refactor_string(whole, file))
    except Exception as error:  # It is no Python 2; what Python 3 says of it is what counts.
        if type(error).__module__.partition(".")[0] not in ("fissix", "blib2to3"):
            raise
        return whole


def _without_tabs(text: str) -> str:
    """The text with spaces for tabs where lines begin, but not inside of strings."""
    within: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                within.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, IndentationError):
        pass
    lines = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        rest = line.lstrip(" \t")
        head = line[: len(line) - len(rest)].expandtabs(_TAB)
        lines.append(line if number in within else head + rest)
    return "".join(lines)


def _number_as(tree: ast.AST, text: str, rewritten: str) -> None:
    """Gives each node the line of the text that it was made of: the rewritten one may have more, such as imports."""
    first, second = text.splitlines(), rewritten.splitlines()
    numbers: list[int] = [1]
    for _, start, end, new_start, new_end in SequenceMatcher(None, first, second, False).get_opcodes():
        last = max(end, start + 1)
        numbers += [min(start + k + 1, last) for k in range(new_end - new_start)]
    if numbers == list(range(1, len(numbers) + 1)):
        return
    most = len(numbers) - 1
    for node in ast.walk(tree):
        for name in ("lineno", "end_lineno"):
            line = getattr(node, name, None)
            if line is not None:
                setattr(node, name, numbers[min(line, most)])


class _Divisions(ast.NodeTransformer):
    """Makes calls of divisions. One in place stays as it is if its target has calls, which are not to be made twice."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`x / y`."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return ast.copy_location(_call(_DIVIDE, [node.left, node.right]), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`x /= y`."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div) or any(
            isinstance(one, ast.Call) for one in ast.walk(node.target)
        ):
            return node
        source = ast.unparse(node.target)
        read = parse(source, mode="eval").body
        value = _call(_DIVIDE_IN_PLACE, [read, node.value])
        found = ast.Assign(targets=[node.target], value=value)
        for one in ast.walk(read):
            ast.copy_location(one, node.target)
        return ast.copy_location(found, node)


def _call(name: str, arguments: Sequence[ast.expr]) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(arguments), keywords=[])


class _Loader(SourceFileLoader):
    """Loads a module written for Python 2; nothing is kept beside it."""

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        inside = "." in fullname or os.path.basename(path) == "__init__.py"
        return converted(self.get_data(path), path, inside)


class _Finder(MetaPathFinder):
    """Finds the program's own modules: those in its folder, but not what is installed there."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(os.path.realpath(folder), "")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of the program, None for any other."""
        spec = find_spec(fullname, path)
        if spec is None or spec.origin is None or type(spec.loader) is not _Loader:
            return None
        place = os.path.realpath(spec.origin)
        own = place.startswith(self._folder) and f"{os.sep}site-packages{os.sep}" not in place
        return spec if own else None


def find_spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """The spec of a module in files, as one that is converted when it is loaded.

    Args:
        name: Its name.
        path: The folders in which it is looked for; None for sys.path.

    Returns:
        The spec; None if there is no such module.
    """
    spec = PathFinder.find_spec(name, path)
    if spec is not None and type(spec.loader) is SourceFileLoader and spec.origin is not None:
        spec.loader = _Loader(name, spec.origin)
        spec.cached = None
    return spec


def install(folder: str) -> None:
    """Has modules in a folder, and in folders there, be converted as they are imported.

    Args:
        folder: The program's folder.

    Raises:
        ModuleNotFoundError: If fissix is not installed.
    """
    import builtins

    _tools(True, True)
    vars(builtins).update({_DIVIDE: divide, _DIVIDE_IN_PLACE: divide_in_place})
    sys.meta_path.insert(0, _Finder(folder))

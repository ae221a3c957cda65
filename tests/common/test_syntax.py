"""What reads Python texts as trees."""

import ast
import gc
import re
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import graphflow
from graphflow._core.common.syntax import literal, parse

TEXT = "\n".join(f"def f{i}(a, b):\n    return (a + b * {i}) if a else [b, {i}]" for i in range(60))


@contextmanager
def parses_within(times):
    """Has the next collections of garbage parse a text, from another depth of the stack; gives how many are left."""
    left = [times]

    def deeper(levels):
        return deeper(levels - 1) if levels else ast.parse("a + 1")

    def collected(phase, _):
        if phase == "start" and left[0] > 0:
            left[0] -= 1
            deeper(7)

    before = gc.get_threshold()
    gc.callbacks.append(collected)
    gc.set_threshold(20, 1000, 1000)
    try:
        yield left
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(collected)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="collects no garbage while it makes a tree")
def test_python_fails_where_a_parse_begins_within_another():
    with pytest.raises(SystemError, match="recursion depth mismatch"), parses_within(1000):
        ast.parse(TEXT)


def test_a_parse_within_another_does_no_harm():
    with parses_within(9) as left:
        tree = parse(TEXT)
    assert ast.unparse(tree).count("def ") == 60
    assert sys.version_info >= (3, 12) or left == [0]


def test_what_is_no_python_is_said_at_once():
    with pytest.raises(SyntaxError, match="never closed"):
        parse("(a", "file.py")
    assert parse("a + 1", mode="eval").body.lineno == 1
    assert literal(" (None, 3, -1, 'a')") == (None, 3, -1, "a")
    with pytest.raises(ValueError, match="malformed"):
        literal("print()")


def test_nothing_parses_otherwise():
    root = Path(graphflow.__file__).parent
    found = [
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if re.search(r"\bast\.(parse|literal_eval)\b", path.read_text())
    ]
    assert found == ["_core/common/syntax.py"]

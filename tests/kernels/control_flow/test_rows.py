"""Protects lists and stacks whose elements are rows of one block: they behave as those that hold arrays do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.kernels.control_flow.lists import ArrayList
from graphflow._core.kernels.control_flow.rows import RowStack

ROW = (2,)


def made(size: int = 3, **options: bool) -> ArrayList:
    settings = {"dynamic": False, "clear": True, "same_shape": True, **options}
    return ArrayList(gf.float32, size, None, **settings)


def row(number: float) -> Any:
    return np.full(ROW, number, np.float32)


def done(array: ArrayList, what: list[Any]) -> list[Any]:
    """What each use of a list gives, or the message of its error."""
    found: list[Any] = []
    for name, *arguments in what:
        try:
            result = getattr(array, name)(*arguments)
        except gf.errors.OpError as error:
            result = error.message
        found.append(np.asarray(result).tolist() if isinstance(result, np.ndarray | np.generic) else result)
    return found


USES = {
    "written and read": [("write", 0, row(1)), ("write", 2, row(2)), ("read", 2), ("read", 0)],
    "read twice": [("write", 0, row(1)), ("read", 0), ("read", 0), ("write", 0, row(3))],
    "written twice": [("write", 1, row(1)), ("write", 1, row(2)), ("read", 1)],
    "never written": [("read", 0), ("write", 1, row(1)), ("read", 0), ("read", 0)],
    "out of range": [("write", 3, row(1)), ("write", -1, row(1)), ("read", 3), ("stack", [0, 5], None)],
    "another shape": [("write", 0, row(1)), ("write", 1, np.ones(3, np.float32)), ("read", 0), ("read", 1)],
    "stacked": [("write", k, row(k)) for k in range(3)] + [("stack", [0, 1, 2], None), ("stack", [0], None)],
    "stacked in another order": [("write", k, row(k)) for k in range(3)] + [("stack", [2, 0], None)],
    "scattered": [("scatter", np.array([2, 0, 1]), np.ones((3, 2), np.float32)), ("stack", [0, 1], None)],
    "scattered over what is there": [
        ("write", 1, row(5)),
        ("scatter", np.array([0, 1]), np.ones((2, 2), np.float32)),
        ("read", 0),
    ],
    "scattered too far": [("scatter", np.array([0, 3]), np.ones((2, 2), np.float32)), ("read", 0)],
    "closed": [("write", 0, row(1)), ("close",), ("read", 0), ("write", 0, row(1))],
}
OPTIONS = {
    "plain": {},
    "kept": {"clear": False},
    "grows": {"dynamic": True},
    "of several shapes": {"same_shape": False},
    "of gradients": {"sums": True},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("uses", USES)
@pytest.mark.parametrize("before", [0, 1, 2])
def test_rows_are_used_as_arrays_are(uses: str, options: str, before: int) -> None:
    """before: how much of it is done before the list has rows."""
    arrays, rows = made(**OPTIONS[options]), made(**OPTIONS[options])
    expected = done(arrays, USES[uses])
    found = done(rows, USES[uses][:before])
    assert rows.as_rows(ROW, np.dtype("float32")) is not None or before
    assert found + done(rows, USES[uses][before:]) == expected


def test_a_list_of_rows_takes_an_array_as_it_is_and_never_writes_to_it() -> None:
    value = np.arange(6, dtype=np.float32).reshape(3, 2)
    value.setflags(write=False)
    array = made()
    array.scatter(np.arange(3), value)
    rows = array.as_rows(ROW, np.dtype("float32"))
    assert rows is not None and rows.data is value
    added = made(sums=True)
    added.scatter(np.arange(3), value)
    added.scatter(np.array([1]), value[:1])
    np.testing.assert_array_equal(added.stack([0, 1, 2], None), value + [[0, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(array.stack([0, 1, 2], None), [[0, 1], [2, 3], [4, 5]])


def test_gradients_of_rows_read_as_zeros_before_they_are_written() -> None:
    array = made(clear=False)
    array.write(0, row(1))
    assert array.as_rows(ROW, np.dtype("float32")) is not None
    gradient = array.gradient("gradients")
    assert gradient is array.gradient("gradients")
    np.testing.assert_array_equal(gradient.read(0), row(0))


def test_a_list_without_rows_of_that_shape_says_so() -> None:
    array = made()
    array.write(0, row(1))
    assert array.as_rows((3,), np.dtype("float32")) is None
    assert array.as_rows(ROW, np.dtype("float64")) is None
    array.close()
    assert array.as_rows(ROW, np.dtype("float32")) is None


def test_a_stack_gives_back_what_was_pushed_last_whatever_its_shape() -> None:
    stack, pushed = (
        RowStack(ROW, np.dtype("float32")),
        [row(k) if k % 7 else np.arange(k) for k in range(1, 100)],
    )
    for value in pushed:
        stack.append(value)
    assert len(stack) == 99 and not stack.plain
    for value in reversed(pushed):
        np.testing.assert_array_equal(stack.pop(), value)
    assert not stack and stack.plain
    with pytest.raises(IndexError):
        stack.pop()


def test_a_stack_is_kept_for_other_runs_once_it_is_empty() -> None:
    home: list[RowStack] = []
    stack = RowStack(ROW, np.dtype("float32"), 4, home)
    stack.append(row(1))
    assert not stack.go_home() and not home
    stack.pop()
    assert stack.go_home() and home == [stack]
    assert not RowStack(ROW, np.dtype("float32")).go_home()


def test_a_large_stack_is_not_kept() -> None:
    home: list[RowStack] = []
    assert not RowStack((1 << 20,), np.dtype("float32"), 16, home).go_home()
    assert not home

"""Protects TensorArray: its lists, what it refuses, and that what was written stays as it was written."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf

ROWS = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def session() -> Iterator[Any]:
    with gf.Graph().as_default(), gf.Session() as opened:
        yield opened


def array(size: int = 3, **options: Any) -> Any:
    return gf.TensorArray(gf.float32, size, **options)


def test_rows_in_rows_out(session: Any) -> None:
    kept = array(clear_after_read=False).unstack(ROWS)
    found = session.run([kept.stack(), kept.read(1), kept.gather([2, 0]), kept.concat(), kept.size()])
    for value, expected in zip(found, (ROWS, ROWS[1], ROWS[[2, 0]], ROWS.reshape(-1), 3), strict=True):
        np.testing.assert_array_equal(value, expected)


def test_elements_of_different_lengths(session: Any) -> None:
    ragged = array(2, infer_shape=False, clear_after_read=False).split(ROWS, [1, 2])
    first, second, all_rows = session.run([ragged.read(0), ragged.read(1), ragged.concat()])
    np.testing.assert_array_equal(first, ROWS[:1])
    np.testing.assert_array_equal(second, ROWS[1:])
    np.testing.assert_array_equal(all_rows, ROWS)


def test_every_run_starts_with_a_new_list(session: Any) -> None:
    index = gf.placeholder(gf.int32, [])
    written = array(2, dynamic_size=True).write(index, 1.0)
    assert [session.run(written.size(), {index: i}) for i in (5, 0)] == [6, 2]


def test_a_variable_that_changes_later_does_not_change_what_was_written(session: Any) -> None:
    variable = gf.Variable(ROWS)
    written = array().unstack(variable)
    with gf.control_dependencies([written.flow]):
        changed = gf.assign(variable, -ROWS)
    with gf.control_dependencies([changed]):
        read = written.read(1)
    session.run(variable.initializer)
    np.testing.assert_array_equal(session.run(read), ROWS[1])


def test_a_fetched_element_is_the_users_own(session: Any) -> None:
    kept = array(1, clear_after_read=False).write(0, gf.constant(ROWS) * 1.0)
    first, second = session.run([kept.read(0), kept.read(0)])
    first[:] = 7.0
    np.testing.assert_array_equal(second, ROWS)


def test_the_element_shape_is_inferred_and_checked(session: Any) -> None:
    written = array().write(0, ROWS[0])
    assert written.read(0).shape.as_list() == [2]
    assert written.stack().shape.as_list() == [None, 2]
    with pytest.raises(ValueError, match="Inconsistent shapes"):
        written.write(1, [1.0])
    with pytest.raises(ValueError, match="cannot hold"):
        written.write(1, gf.constant([1, 2]))


UNKNOWN = np.float32([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: array().read(0), "nothing was written"),
        (lambda x: array(element_shape=[2]).unstack(ROWS).read(3), "array size is: 3"),
        (lambda x: array().write(3, 1.0).flow, "not resizeable"),
        (lambda x: array().write(-1, 1.0).flow, "negative"),
        (lambda x: array().write(0, 1.0).write(0, 2.0).flow, "already been written"),
        (lambda x: array(element_shape=[2]).write(0, x).flow, "incompatible"),
        (lambda x: array(infer_shape=False).unstack(ROWS).write(2, x).flow, "already been written"),
        (lambda x: array(2, infer_shape=False).write(0, x).write(1, x[:1]).stack(), "inconsistent shapes"),
        (lambda x: array(2).split(x, [1, 1]).flow, r"sum of lengths is 2 and value's shape is: \[3\]"),
        (
            lambda x: array(3).split(x, [1, 2]).flow,
            r"size of lengths \(3 vs. 2\), .* not marked as dynamically",
        ),
        (lambda x: array(2).unstack([1.0, 2.0]).concat(), "scalar"),
        (lambda x: array(-1).flow, "negative"),
    ],
)
def test_misuse_is_an_error_of_the_run(session: Any, build: Any, message: str) -> None:
    x = gf.placeholder_with_default(UNKNOWN, None)
    with pytest.raises(gf.errors.InvalidArgumentError, match=message):
        session.run(build(x))


def test_an_element_is_read_once_unless_it_is_kept(session: Any) -> None:
    cleared = array().unstack(ROWS)
    first = cleared.read(0)
    with gf.control_dependencies([first]):
        again = cleared.read(0)
    with pytest.raises(gf.errors.InvalidArgumentError, match="clear_after_read = false"):
        session.run(again)


def test_an_array_without_elements(session: Any) -> None:
    shaped = array(0, element_shape=[2]).stack()
    assert session.run(shaped).shape == (0, 2)
    with pytest.raises(gf.errors.UnimplementedError, match="element_shape"):
        session.run(array(0).stack())


def test_a_closed_array_is_not_used(session: Any) -> None:
    written = array().unstack(ROWS)
    with gf.control_dependencies([written.flow]):
        closed = written.close()
    with gf.control_dependencies([closed]):
        read = written.read(0)
    with pytest.raises(gf.errors.InvalidArgumentError, match="closed"):
        session.run(read)


def test_arguments_that_contradict_each_other(session: Any) -> None:
    existing = array()
    with pytest.raises(ValueError, match="size"):
        gf.TensorArray(gf.float32)
    with pytest.raises(ValueError, match="both a handle and size"):
        gf.TensorArray(gf.float32, 3, handle=existing.handle, flow=existing.flow)
    with pytest.raises(ValueError, match="flow"):
        gf.TensorArray(gf.float32, handle=existing.handle)
    with pytest.raises(TypeError, match="Tensor"):
        gf.TensorArray(gf.float32, handle=3)

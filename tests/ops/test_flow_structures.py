"""Protects what branches and loops return: lists of one, empty parts, SparseTensors that grow; and errors besides."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import graphflow as gf

One = namedtuple("One", "a")


@pytest.mark.parametrize(
    ("true", "false"),
    [
        (lambda: gf.constant(1), lambda: [gf.constant(2)]),
        (lambda: [gf.constant(1)], lambda: (gf.constant(2),)),
        (lambda: One(gf.constant(1)), lambda: gf.constant(2)),
        (lambda: One(gf.constant(1)), lambda: One(gf.constant(2))),
    ],
)
def test_a_branch_may_return_its_one_result_in_a_sequence(true: Any, false: Any) -> None:
    pred = gf.placeholder(gf.bool, [])
    result = gf.cond(pred, true, false)
    assert result.shape.as_list() == []
    with gf.Session() as session:
        assert [session.run(result, {pred: p}) for p in (True, False)] == [1, 2]


def test_strict_branches_keep_the_sequence() -> None:
    result = gf.cond(gf.constant(True), lambda: One(gf.constant(1)), lambda: One(gf.constant(2)), strict=True)
    assert isinstance(result, One)
    with pytest.raises(TypeError, match=r"(?s)the same nested structure.*same sequence type") as raised:
        gf.cond(gf.constant(True), lambda: [gf.constant(1)], lambda: (gf.constant(2),), strict=True)
    assert "More specifically" in str(raised.value)


def test_structures_that_differ_are_told_with_both() -> None:
    for first, second in (({"a": 1}, {"b": 1}), ([1, 2], [1]), ([1], 1)):
        with pytest.raises(
            ValueError, match="The two structures don't have the same nested structure"
        ) as raised:
            gf.nest.assert_same_structure(first, second)
        assert repr(first) in str(raised.value) and repr(second) in str(raised.value)


def test_a_loop_with_one_tensor_and_an_empty_part_gives_the_tensor() -> None:
    result = gf.while_loop(lambda i, _: i < 10, lambda i, _: [i + 1, []], [gf.constant(0), []])
    assert gf.Session().run(result) == 10


def sparse() -> Any:
    return gf.SparseTensor([[0], [3]], [2.0, 4.0], [10])


def grown(i: Any, x: Any) -> list[Any]:
    more = gf.SparseTensor(gf.cast(gf.fill([1, 1], i), gf.int64), gf.fill([1], 1.0), x.dense_shape)
    return [i + 1, gf.sparse.add(x, more)]


def ranked(i: Any, x: Any) -> list[Any]:
    columns = gf.cast([[i], [i]], gf.int64)
    return [
        i + 1,
        gf.SparseTensor(gf.concat([x.indices, columns], 1), x.values, gf.concat([x.dense_shape, [10]], 0)),
    ]


def test_a_sparse_loop_variable_may_have_more_values_later() -> None:
    _, x = gf.while_loop(lambda i, _: i < 4, grown, [gf.constant(0), sparse()])
    assert x.indices.shape.as_list() == [None, 1] and x.values.shape.as_list() == [None]
    assert x.dense_shape.shape.as_list() == [1]
    value = gf.Session().run(x)
    np.testing.assert_array_equal(value.indices.reshape(-1), [0, 1, 2, 3])
    np.testing.assert_array_equal(value.values, [3, 1, 1, 5])


@pytest.mark.parametrize("rank", [gf.TensorShape([None]), gf.TensorShape(None)])
def test_its_rank_may_change_if_an_invariant_says_so(rank: Any) -> None:
    _, x = gf.while_loop(lambda i, _: i < 2, ranked, [gf.constant(0), sparse()], [gf.TensorShape([]), rank])
    assert x.indices.shape.as_list() == [None, None] and x.dense_shape.shape.as_list() == [None]
    np.testing.assert_array_equal(gf.Session().run(x).indices, [[0, 0, 1], [3, 0, 1]])


def test_other_ranks_are_refused() -> None:
    with pytest.raises(ValueError, match="is not compatible with"):
        gf.while_loop(
            lambda i, _: i < 2, lambda i, x: [i + 1, x], [gf.constant(0), sparse()],
            [gf.TensorShape([]), gf.TensorShape([5])],
        )  # fmt: skip
    with pytest.raises(ValueError, match=r"enters the loop with shape .* after one iteration"):
        gf.while_loop(lambda i, _: i < 2, ranked, [gf.constant(0), sparse()])


def test_a_session_is_not_entered_twice() -> None:
    session = gf.Session()
    with pytest.raises(RuntimeError, match="not re-entrant"), session, session:
        pass
    gf.constant(1)
    other = gf.Session()
    with other.as_default(), other.as_default():
        assert gf.get_default_session() is other


def test_an_empty_graph_is_not_run() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        for nothing in ([], (), {}):
            with pytest.raises(RuntimeError, match="The Session graph is empty"):
                session.run(nothing)


def test_what_is_no_target_or_graph_is_refused() -> None:
    with pytest.raises(TypeError, match="target must be a string"):
        gf.Session(37)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"graph must be a gf.Graph"):
        gf.Session(graph=37)  # type: ignore[arg-type]


def test_names_may_be_bytes() -> None:
    gf.constant(44.0, name=b"e")  # type: ignore[arg-type]
    with gf.Session() as session:
        assert session.run(b"e:0") == session.run("e:0") == 44


def test_what_a_python_function_may_not_return_is_named() -> None:
    for value, what in (({"a": 1}, "object type dict"), (np.array([], [("a", "f4")]), "numpy data type")):
        with pytest.raises(gf.errors.InternalError, match=f"Unsupported {what}"):
            gf.Session().run(gf.py_func(lambda value=value: value, [], [gf.float32]))


def test_a_function_without_state_or_results_gives_no_tensors() -> None:
    assert gf.py_func(lambda x: None, [gf.constant(3)], [], stateful=False) == []


@pytest.mark.parametrize("function", [gf.cumsum, gf.cumprod])
def test_the_axis_of_a_scan_is_checked(function: Any) -> None:
    with pytest.raises(gf.errors.InvalidArgumentError, match=r"Expected scan axis in the range \[-2, 2\)"):
        gf.Session().run(function(gf.ones([2, 5]), gf.placeholder_with_default(2, [])))

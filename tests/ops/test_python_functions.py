"""Protects py_function, whose arguments are arrays with numpy(), and init_scope, which leaves what is around it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


def test_a_function_gets_values_that_have_numpy() -> None:
    x = gf.placeholder(gf.float32, [None])
    seen: list[Any] = []

    def function(a: Any) -> tuple[Any, int]:
        seen.append(a.numpy())
        return a * 2, 3

    doubled, three = gf.py_function(function, [x], [gf.float32, gf.int32])
    assert doubled.op.name == "EagerPyFunc"
    with gf.Session() as session:
        values = session.run([doubled, three], {x: [1, 2]})
    np.testing.assert_array_equal(values[0], [2.0, 4.0])
    assert values[1] == 3 and type(seen[0]) is np.ndarray
    with gf.Session() as session:
        np.testing.assert_array_equal(session.run(gf.gradients(doubled, x)[0], {x: [1, 2]}), [2.0, 2.0])


@pytest.mark.parametrize(
    ("result", "dtype", "expected"),
    [
        ("q", gf.string, b"q"),
        ((1, 2), gf.int32, 1),
        (np.float64(1.5), gf.float32, 1.5),
        (1, gf.float32, 1.0),
        ([1.0, 2.0], [gf.float32], [1.0]),
    ],
)
def test_results_are_converted_as_tensorflow_converts_them(result: Any, dtype: Any, expected: Any) -> None:
    with gf.Session() as session:
        assert session.run(gf.py_function(lambda: result, [], dtype)) == expected


def test_what_a_function_must_not_return_is_said() -> None:
    with gf.Session() as session:
        for result, dtype, message in (
            (None, gf.float32, "returns 0 values, but expects to see 1"),
            (1, [gf.int32, gf.int32], "returns 1 values, but expects to see 2"),
            (1.5, gf.int32, "Cannot convert 1.5"),
            (gf.constant(1.0), gf.float32, "a part of another graph"),
        ):
            with pytest.raises(gf.errors.InvalidArgumentError, match=message):
                session.run(gf.py_function(lambda result=result: result, [], dtype))
        session.run(gf.py_function(lambda: None, [], []))


def test_what_a_function_returns_has_its_dtype() -> None:
    with gf.Session() as session:
        for dtype, other in ((gf.float32, gf.int32), (gf.int32, gf.float32)):
            with pytest.raises(
                gf.errors.InvalidArgumentError, match=f"requested dtype {dtype.name} for Tensor"
            ):
                session.run(gf.py_function(lambda a: a, [gf.constant([1, 2], other)], dtype))
        halves = gf.py_function(lambda a: a.numpy(), [[1.5, 2.0]], gf.int32)
        assert session.run(halves).tolist() == [1, 2]


def reads(a: Any, b: Any) -> Any:
    """Uses what only tensors with values have."""
    assert len(a) == 2 and a.shape.as_list() == [2] and f"{b}" == "3.0" and "numpy=" in repr(b)
    assert np.sum(a) == 3.0 and float(b) == 3.0 and int(b) == 3 and np.exp(a).dtype == np.float32
    total = sum(element for element in a) * np.float32(1.0)
    return total * b if total > 2.0 else -total


@pytest.mark.parametrize(
    ("function", "expected", "slopes"),
    [
        (lambda a, b: a * b, [3.0, 6.0], [[3.0, 3.0], 3.0]),
        (lambda a, b: gf.reduce_sum(gf.exp(a)) * b, 30.322014, [[8.154845, 22.167168], 10.107338]),
        (lambda a, b: a * 2.0, [2.0, 4.0], [[2.0, 2.0], 0.0]),
        (lambda a, b: np.square(a), [1.0, 4.0], [[0.0, 0.0], 0.0]),
        (lambda a, b: np.array([2.0, 3.0], np.float32) * a, [2.0, 6.0], [[2.0, 3.0], 0.0]),
        (lambda a, b: gf.gather(a, [1, 1]), [2.0, 2.0], [[0.0, 2.0], 0.0]),
        (lambda a, b: a if a[0] > b else -a, [-1.0, -2.0], [[-1.0, -1.0], 0.0]),
        (reads, 9.0, [[3.0, 3.0], 3.0]),
    ],
)
def test_gradients_go_through_what_a_function_computes_with_tensors(
    function: Any, expected: Any, slopes: Any
) -> None:
    # Values and gradients are those of TensorFlow 1.15.5, but that its zeros have no shape.
    a, b = gf.constant([1.0, 2.0]), gf.constant(3.0)
    y = gf.py_function(function, [a, b], gf.float32)
    with gf.Session() as session:
        found, *gradients = session.run([y, *gf.gradients(y, [a, b])])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    for gradient, slope in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(gradient, slope, rtol=1e-6)


def test_a_gradient_calls_no_function_twice_and_is_that_of_its_own_values() -> None:
    calls: list[float] = []

    def square(a: Any) -> Any:
        calls.append(a.numpy())
        return a * a

    x = gf.placeholder(gf.float32, [])
    y = gf.py_function(square, [x], gf.float32)
    (slope,) = gf.gradients(y, x)
    (second,) = gf.gradients(slope, x)
    with gf.Session() as session:
        assert session.run([y, slope, second], {x: 3.0}) == [9.0, 6.0, 2.0] and len(calls) == 1
        # Each iteration of a loop has values of its own.
        _, looped = gf.while_loop(
            lambda i, _: i < 3,
            lambda i, a: (i + 1, gf.reshape(gf.py_function(square, [a], gf.float32), [])),
            [0, x],
        )
        assert session.run(gf.gradients(looped, x)[0], {x: 1.5}) == pytest.approx(8 * 1.5**7)


def test_gradients_of_several_results_are_added_where_they_are_known() -> None:
    x, n = gf.constant([1.0, 2.0]), gf.constant(3)
    first, second, third = gf.py_function(
        lambda a, i: (a * gf.cast(i, gf.float32), gf.exp(a), i), [x, n], [gf.float32, gf.float32, gf.int32]
    )
    both = gf.gradients([first, second], [x, n])
    assert both[1] is None and gf.gradients(gf.py_func(np.square, [x], gf.float32), x) == [None]
    with gf.Session() as session:
        np.testing.assert_allclose(session.run(both[0]), 3.0 + np.exp([1.0, 2.0]), rtol=1e-6)
        np.testing.assert_allclose(session.run(gf.gradients(second, x)[0]), np.exp([1.0, 2.0]), rtol=1e-6)
        assert session.run(third) == 3


def test_what_needs_a_run_inside_of_a_function_gets_one() -> None:
    """Plain operations are computed one after the other; loops, draws and what is waited for are run."""

    def function(a: Any) -> Any:
        with gf.control_dependencies([gf.Assert(a > 0, [a])]):
            checked = gf.identity(a)
        _, powers = gf.while_loop(lambda i, _: i < 3, lambda i, p: (i + 1, p * 2.0), [0, checked])
        noise = gf.random_uniform([], 0.0, 1e-6)
        return gf.cond(a > 2, lambda: powers + noise, lambda: powers - noise)

    x = gf.placeholder(gf.float32, [])
    y = gf.py_function(function, [x], gf.float32)
    with gf.Session() as session:
        assert session.run(y, {x: 3.0}) == pytest.approx(24.0, abs=1e-4)
        with pytest.raises(gf.errors.OpError, match=r"[Aa]ssertion"):
            session.run(y, {x: -1.0})
        wrong = gf.py_function(lambda a: gf.reshape(a, [2, 2]), [x], gf.float32)
        with pytest.raises(gf.errors.OpError, match=r"[Rr]eshape"):
            session.run(wrong, {x: 1.0})


def test_an_error_says_where_in_the_function_it_was_raised() -> None:
    def inner() -> None:
        raise ValueError("no such row")

    def outer(*_: Any) -> None:
        inner()

    said = r"(?s)ValueError: no such row\nTrace.*in outer.*in inner"
    for function in (gf.py_func, gf.py_function):
        call = function(outer, [1.0], [])
        with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError, match=said) as caught:
            session.run(call)
        assert "graphflow/" not in str(caught.value).partition("in outer")[0].partition("Traceback")[2]


def test_init_scope_leaves_branches_dependencies_and_functions() -> None:
    graph = gf.get_default_graph()
    made: list[gf.Tensor] = []

    def branch() -> gf.Tensor:
        with gf.init_scope():
            made.append(gf.constant(1.0) + 1.0)
        return made[-1] * 2.0

    truth = gf.placeholder(gf.bool, [])
    with gf.control_dependencies([gf.no_op()]):
        chosen = gf.cond(truth, branch, lambda: gf.constant(0.0))

    def function(x: gf.Tensor) -> gf.Tensor:
        with gf.init_scope():
            assert gf.get_default_graph() is graph
            made.append(gf.constant(3.0))
        assert gf.get_default_graph() is not graph
        return x + made[-1]

    with gf.name_scope("outer"):
        numbers = gf.data.Dataset.from_tensors(1.0).map(function).make_one_shot_iterator().get_next()
    assert all(t.graph is graph and not t.op.control_inputs for t in made)
    with gf.Session() as session:
        assert session.run(made[0]) == 2.0
        assert session.run([chosen, numbers], {truth: True}) == [4.0, 4.0]

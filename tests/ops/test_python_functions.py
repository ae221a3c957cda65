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
    assert gf.gradients(doubled, x) == [None]


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
            (gf.constant(1.0), gf.float32, "there is no eager execution"),
        ):
            with pytest.raises(gf.errors.InvalidArgumentError, match=message):
                session.run(gf.py_function(lambda result=result: result, [], dtype))
        session.run(gf.py_function(lambda: None, [], []))


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

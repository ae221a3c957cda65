"""Protects building against bad input: each case raises TensorFlow's class at the line that built it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf


def floats(*shape: int | None) -> Any:
    return gf.placeholder(gf.float32, shape)


CASES: list[tuple[str, type[Exception], Callable[[], Any]]] = [
    ("dtypes that differ", TypeError, lambda: gf.add(floats(2), gf.constant([1, 2]))),
    ("a float for an int", TypeError, lambda: gf.constant([1, 2]) + 1.5),
    ("text in arithmetic", TypeError, lambda: floats(2) + "a"),
    ("a bool in arithmetic", TypeError, lambda: gf.add(gf.constant(True), gf.constant(False))),
    ("numbers in logic", TypeError, lambda: gf.logical_and(gf.constant(1), gf.constant(2))),
    ("text in a root", TypeError, lambda: gf.sqrt("a")),
    ("an int in a root", TypeError, lambda: gf.sqrt(gf.constant(4))),
    ("an unknown dtype", TypeError, lambda: gf.placeholder("float33")),
    ("no dtype", TypeError, lambda: gf.cast(floats(2), None)),
    ("shapes that do not broadcast", ValueError, lambda: floats(2) + floats(3)),
    ("products that do not fit", ValueError, lambda: gf.matmul(floats(2, 3), floats(2, 3))),
    ("vectors as matrices", ValueError, lambda: gf.matmul(floats(3), floats(3))),
    ("a size that does not fit", ValueError, lambda: gf.reshape(floats(6), [4, 2])),
    ("a huge axis", ValueError, lambda: gf.reduce_sum(floats(2, 3), axis=10**6)),
    ("a negative axis", ValueError, lambda: gf.reduce_sum(floats(2, 3), axis=-3)),
    ("an axis to concatenate", ValueError, lambda: gf.concat([floats(2), floats(2)], 3)),
    ("ranks to concatenate", ValueError, lambda: gf.concat([floats(2), floats(2, 2)], 0)),
    ("an axis to expand", ValueError, lambda: gf.expand_dims(floats(2), 5)),
    ("an axis to squeeze", ValueError, lambda: gf.squeeze(floats(2, 3), [0])),
    ("an index outside", (ValueError, IndexError), lambda: floats(3)[7]),
    ("too many indices", (ValueError, IndexError), lambda: floats(3)[0, 0]),
    ("a text as index", TypeError, lambda: floats(3)["a"]),
    ("parts that do not divide", ValueError, lambda: gf.split(floats(5), 2)),
    ("a permutation", ValueError, lambda: gf.transpose(floats(2, 3), [0, 0])),
    ("an unknown rank to unstack", ValueError, lambda: gf.unstack(gf.placeholder(gf.float32))),
    ("k of rank", ValueError, lambda: gf.nn.top_k(floats(2), 5)),
    ("ragged lists", ValueError, lambda: gf.constant([[1], [1, 2]])),
    ("an object", TypeError, lambda: gf.constant(object())),
    ("a dictionary", TypeError, lambda: gf.convert_to_tensor({})),
    ("None", ValueError, lambda: gf.convert_to_tensor(None)),
    ("a number too large", (TypeError, ValueError), lambda: gf.constant(2**80)),
    ("a number too large for its dtype", (TypeError, ValueError), lambda: gf.constant(300, gf.int8)),
    ("too many values", ValueError, lambda: gf.constant([1, 2, 3], shape=[2])),
    ("a negative shape", ValueError, lambda: gf.placeholder(gf.float32, [-5])),
    ("a shape of text", (TypeError, ValueError), lambda: gf.zeros("a")),
    ("an array of times", TypeError, lambda: gf.constant(np.array(["2020-01-01"], "M8[D]"))),
    ("an array of records", TypeError, lambda: gf.constant(np.zeros(2, [("a", "f4")]))),
    ("a variable without a value", ValueError, lambda: gf.Variable()),
    ("a variable without a shape", ValueError, lambda: gf.Variable(gf.placeholder(gf.float32))),
    ("a shape to assign", ValueError, lambda: gf.Variable([1.0, 2.0]).assign([1.0])),
    ("a dtype to assign", (TypeError, ValueError), lambda: gf.Variable([1.0]).assign(["a"])),
    ("a constant to assign", TypeError, lambda: gf.assign(3.0, 4.0)),
    ("a Python condition", TypeError, lambda: gf.cond(True, lambda: 1, lambda: 2)),
    ("a condition of rank", ValueError, lambda: gf.cond(gf.constant([True, False]), lambda: 1, lambda: 2)),
    ("branches that differ", (TypeError, ValueError), lambda: gf.cond(gf.constant(True), lambda: 1, lambda: 2.0)),
    ("a branch that returns nothing", ValueError, lambda: gf.cond(gf.constant(True), lambda: None, lambda: 2.0)),
    ("a loop over nothing", ValueError, lambda: gf.while_loop(lambda: True, lambda: 1, [])),
    ("a loop that changes its type", TypeError, lambda: gf.while_loop(lambda i: i < 3, lambda i: i + 0.5, [0])),
    (
        "a loop that changes its shape",
        ValueError,
        lambda: gf.while_loop(lambda i: True, lambda i: gf.concat([i, i], 0), [gf.zeros([1])]),
    ),
    ("gradients of what is foreign", (TypeError, ValueError), lambda: gf.gradients("a", "b")),
    ("a scope", ValueError, lambda: gf.name_scope("with space").__enter__()),
    ("a finished device", ValueError, lambda: gf.device("/nonsense:3").__enter__()),
    ("a tensor as bool", TypeError, lambda: bool(floats())),
    ("a tensor as array", TypeError, lambda: np.array(floats(2))),
    ("a tensor with NumPy's operators", TypeError, lambda: np.add(np.ones(2), floats(2))),
    ("an empty assertion", ValueError, lambda: gf.Assert(gf.constant(True), [])),
    ("no function", ValueError, lambda: gf.py_func(3, [], gf.float32)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_bad_input_is_refused_where_it_is_built(case: Any) -> None:
    _, error, build = case
    with gf.Graph().as_default() as graph:
        with pytest.raises(error) as caught:
            build()
        assert str(caught.value)
        assert not isinstance(caught.value, KeyError | AttributeError)
        with gf.Session(graph=graph) as session:  # what was refused left the graph usable
            assert session.run(gf.constant(1) + 1) == 2


def test_an_error_names_the_operation_the_shapes_and_the_line() -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError) as caught:
        gf.matmul(floats(2, 3), floats(2, 3), name="product")
    message = str(caught.value)
    for part in ("MatMul", "product", "(2, 3)", "test_bad_input.py:"):
        assert part in message

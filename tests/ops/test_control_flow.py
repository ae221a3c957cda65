"""Protects branches and loops: that only what is taken runs, how they nest, what they refuse.

Their gradients: see tests/autodiff/test_flow.py. Agreement with TensorFlow: tests/oracle/cases/control_flow.py.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf


@pytest.fixture
def session() -> Iterator[Any]:
    with gf.Graph().as_default(), gf.Session() as opened:
        yield opened


def assigning(variable: Any, value: float, result: Any) -> Any:
    with gf.control_dependencies([gf.assign_add(variable, value)]):
        return gf.identity(result)


def test_only_the_taken_branch_runs_at_every_depth(session: Any) -> None:
    counts = [gf.Variable(0.0) for _ in range(3)]
    outer, inner = gf.placeholder(gf.bool, []), gf.placeholder(gf.bool, [])
    chosen = gf.cond(
        outer,
        lambda: gf.cond(
            inner, lambda: assigning(counts[0], 1.0, 10.0), lambda: assigning(counts[1], 1.0, 20.0)
        ),
        lambda: assigning(counts[2], 1.0, 30.0),
    )
    session.run(gf.global_variables_initializer())
    found = [
        session.run(chosen, {outer: a, inner: b}) for a, b in ((True, True), (True, False), (False, True))
    ]
    assert found == [10.0, 20.0, 30.0]
    assert session.run(counts) == [1.0, 1.0, 1.0]


def test_a_branch_may_fail_if_it_is_not_taken(session: Any) -> None:
    divisor = gf.placeholder(gf.int32, [])
    safe = gf.cond(gf.equal(divisor, 0), lambda: -1, lambda: 12 // divisor)
    assert [session.run(safe, {divisor: d}) for d in (0, 3)] == [-1, 4]


def test_a_cond_that_nothing_needs_of_its_predicate(session: Any) -> None:
    predicate = gf.placeholder(gf.bool, [])
    chosen = gf.cond(predicate, lambda: 1, lambda: 2)
    assert [session.run(chosen, {predicate: p}) for p in (True, False)] == [1, 2]


def test_control_dependencies_around_a_cond_come_first(session: Any) -> None:
    variable = gf.Variable(1.0)
    with gf.control_dependencies([gf.assign(variable, 5.0)]):
        seen = gf.cond(gf.constant(True), lambda: variable * 2.0, lambda: gf.constant(0.0))
        looped = gf.while_loop(lambda i, _: i < 2, lambda i, total: (i + 1, total + variable), [0, 0.0])[1]
    session.run(variable.initializer)
    assert session.run([seen, looped]) == [10.0, 10.0]


def test_a_loop_in_a_branch_in_a_loop(session: Any) -> None:
    def inner(x: Any) -> Any:
        return gf.while_loop(lambda j, _: j < 3, lambda j, v: (j + 1, v + x), [0, x])[1]

    def body(i: Any, x: Any) -> Any:
        return i + 1, gf.cond(gf.equal(i % 2, 0), lambda: inner(x), lambda: x - 1)

    start = gf.placeholder(gf.int32, [])
    result = gf.while_loop(lambda i, _: i < 4, body, [0, start])[1]

    def expected(x: int) -> int:
        for i in range(4):
            x = 4 * x if i % 2 == 0 else x - 1
        return x

    assert [session.run(result, {start: x}) for x in (1, 5)] == [expected(1), expected(5)]


def test_variables_are_read_and_written_in_each_iteration(session: Any) -> None:
    variable = gf.Variable(1.0)

    def body(i: Any, seen: Any) -> Any:
        before = gf.identity(variable)
        with gf.control_dependencies([before]):
            changed = gf.assign(variable, variable * 2.0)
        with gf.control_dependencies([changed]):
            return i + 1, seen + before

    _, total = gf.while_loop(lambda i, _: i < 4, body, [0, 0.0])
    session.run(variable.initializer)
    assert session.run(total) == 1.0 + 2.0 + 4.0 + 8.0
    assert session.run(variable) == 16.0


def test_what_is_inside_cannot_be_fetched_fed_or_used_outside(session: Any) -> None:
    inside: list[Any] = []

    def body(i: Any) -> Any:
        inside.append(i + 1)
        return inside[0]

    def branch() -> Any:
        inside.append(gf.constant(1.0) * 2.0)
        return inside[1]

    loop = gf.while_loop(lambda i: i < 3, body, [0])
    gf.cond(gf.constant(True), branch, lambda: gf.constant(0.0))
    for tensor in inside:
        with pytest.raises(ValueError, match="not fetchable"):
            session.run(tensor)
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(loop, {tensor: 1})
        with pytest.raises(ValueError, match="Return it from the"):
            gf.identity(tensor)
        with pytest.raises(ValueError, match="Return it from the"):
            gf.cond(gf.constant(True), lambda t=tensor: gf.identity(t), lambda t=tensor: t)


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda: gf.cond(gf.constant(1.0), lambda: 1, lambda: 2), TypeError, "bool"),
        (lambda: gf.cond(gf.constant([True]), lambda: 1, lambda: 2), ValueError, "scalar"),
        (lambda: gf.cond(gf.constant(True), lambda: 1, lambda: 2.0), ValueError, "same type"),
        (lambda: gf.cond(gf.constant(True), lambda: 1, lambda: [2, 3]), ValueError, "structure"),
        (lambda: gf.cond(gf.constant(True), lambda: None, lambda: 1), ValueError, "return value"),
        (lambda: gf.while_loop(lambda i: i, lambda i: i + 1, [0]), TypeError, "bool"),
        (
            lambda: gf.while_loop(lambda i: i < 3, lambda i: gf.cast(i, gf.float32), [0]),
            ValueError,
            "float32",
        ),
        (lambda: gf.while_loop(lambda i: i < 3, lambda i: (i, i), [0]), ValueError, "structure"),
        (lambda: gf.while_loop(lambda i: i < 3, lambda i: i, []), ValueError, "No loop variables"),
        (lambda: gf.case([(gf.constant(1), lambda: 1)], default=lambda: 2), TypeError, "bool"),
    ],
)
def test_what_cannot_be_built_is_refused_in_words(session: Any, build: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        build()


def test_a_shape_that_changes_needs_an_invariant(session: Any) -> None:
    def double(i: Any, x: Any) -> Any:
        return i + 1, gf.concat([x, x], 0)

    with pytest.raises(ValueError, match="shape_invariants"):
        gf.while_loop(lambda i, _: i < 3, double, [0, gf.ones([2])])
    with pytest.raises(ValueError, match="not compatible with the initial shape"):
        invariants = [gf.TensorShape([]), gf.TensorShape([3])]
        gf.while_loop(lambda i, _: i < 3, double, [0, gf.ones([2])], shape_invariants=invariants)
    invariants = [gf.TensorShape([]), gf.TensorShape([None])]
    grown = gf.while_loop(lambda i, _: i < 3, double, [0, gf.ones([2])], shape_invariants=invariants)[1]
    assert grown.shape.as_list() == [None]
    assert session.run(grown).shape == (16,)


def test_case_complains_while_running(session: Any) -> None:
    first, second = gf.placeholder(gf.bool, []), gf.placeholder(gf.bool, [])
    pairs = [(first, lambda: 1), (second, lambda: 2)]
    exclusive = gf.case(pairs, default=lambda: 3, exclusive=True)
    without_default = gf.case(pairs)
    assert session.run(exclusive, {first: False, second: True}) == 2
    with pytest.raises(
        gf.errors.InvalidArgumentError, match=r"more than one condition of case\(exclusive=True\) is true"
    ):
        session.run(exclusive, {first: True, second: True})
    with pytest.raises(gf.errors.InvalidArgumentError, match=r"none of the conditions of case\(\) is true"):
        session.run(without_default, {first: False, second: False})


def test_an_error_in_an_iteration_names_the_operation_and_the_line(session: Any) -> None:
    loop = gf.while_loop(lambda i: i < 10, lambda i: i + 1 + 0 // (3 - i), [0])
    with pytest.raises(gf.errors.InvalidArgumentError, match=r"(?s)floordiv.*test_control_flow\.py"):
        session.run(loop)


def test_a_loop_limited_by_a_tensor(session: Any) -> None:
    limit = gf.placeholder(gf.int32, [])
    loop = gf.while_loop(lambda i: i < 100, lambda i: i + 1, [0], maximum_iterations=limit)
    assert [session.run(loop, {limit: n}) for n in (0, 7)] == [0, 7]


def test_structures_go_through_a_loop(session: Any) -> None:
    start = {"a": gf.constant(1), "b": (gf.constant(2), gf.constant([3, 4]))}

    def body(i: Any, s: Any) -> Any:
        return i + 1, {"a": s["b"][0], "b": (s["a"] + 1, s["b"][1] * 2)}

    _, found = gf.while_loop(lambda i, _: i < 3, body, [0, start])
    values = session.run(found)
    assert (values["a"], values["b"][0]) == (3, 3)
    np.testing.assert_array_equal(values["b"][1], [24, 32])


def test_switch_case_runs_the_function_with_the_number() -> None:
    """The default for any other, without one the last; only the chosen one runs."""
    index = gf.placeholder(gf.int32, [])
    ran = gf.Variable([0, 0, 0], name="ran")

    def branch(number: int) -> Callable[[], gf.Tensor]:
        def build() -> gf.Tensor:
            with gf.control_dependencies([gf.scatter_add(ran, [number], [1])]):
                return gf.constant(10 * number)

        return build

    listed = gf.switch_case(index, [branch(0), branch(1)])
    named = gf.switch_case(index, {1: branch(1), 0: branch(0)}, default=branch(2), name="named")
    with gf.Session() as session:
        session.run(ran.initializer)
        assert [session.run(listed, {index: i}) for i in (-1, 0, 1, 7)] == [10, 0, 10, 10]
        assert [session.run(named, {index: i}) for i in (-1, 0, 1, 7)] == [20, 0, 10, 20]
        assert session.run(ran).tolist() == [2, 4, 2]


@pytest.mark.parametrize(
    ("index", "functions", "error"),
    [
        (1, [lambda: 1], TypeError),
        ([1.0], [lambda: 1], TypeError),
        ([1], [], ValueError),
        ([1], 3, TypeError),
        ([1], [(0, lambda: 1), 2], TypeError),
        ([1], {"0": lambda: 1}, TypeError),
        ([1], {0: 3}, TypeError),
        ([1], {0: lambda: 1, 2: lambda: 2}, ValueError),
    ],
)
def test_switch_case_refuses(index: Any, functions: Any, error: type[Exception]) -> None:
    """An index that is no tensor of integers, and functions without a number each."""
    given = gf.constant(index[0]) if isinstance(index, list) else index
    with pytest.raises(error):
        gf.switch_case(given, functions)


def test_indices_of_slices_that_differ_in_width_become_wide() -> None:
    """As in TensorFlow: a gather by int32 in one branch, by int64 in the other."""
    p, x = gf.placeholder(gf.bool, []), gf.constant([10.0])
    narrow, wide = (gf.constant([3], kind) for kind in (gf.int32, gf.int64))
    for one, other in ((narrow, wide), (wide, narrow)):
        slices = gf.cond(
            p, lambda one=one: gf.IndexedSlices(x + 1.0, one), lambda other=other: gf.IndexedSlices(x, other)
        )
        assert slices.indices.dtype is gf.int64
        with gf.Session() as session:
            for value, expected in ((True, 11.0), (False, 10.0)):
                values, indices = session.run([slices.values, slices.indices], {p: value})
                assert values.tolist() == [expected] and indices.tolist() == [3]

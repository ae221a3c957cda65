"""Protects gf.gradients and its kin where the recorded TensorFlow results do not look: own gradients, Hessians, names.

Agreement with TensorFlow: tests/oracle/cases/gradients.py. Branches and loops: test_flow.py.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf

POINT = np.array([1.0, 2.0])


@pytest.fixture
def session() -> Iterator[Any]:
    with gf.Graph().as_default(), gf.Session() as opened:
        yield opened


@pytest.fixture
def x(session: Any) -> Any:
    return gf.placeholder(gf.float64, [2])


def test_a_custom_gradient_is_used_in_branches_and_loops(session: Any, x: Any) -> None:
    @gf.custom_gradient
    def tenfold(v: Any) -> Any:
        return gf.sin(v), lambda g: g * 10.0

    looped = gf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, tenfold(v)), [0, x])[1]
    branched = gf.cond(x[0] > 0, lambda: tenfold(x), lambda: x)
    found = session.run([tenfold(x), gf.gradients(looped, x)[0], gf.gradients(branched, x)[0]], {x: POINT})
    for value, expected in zip(found, (np.sin(POINT), [1000, 1000], [10, 10]), strict=True):
        np.testing.assert_allclose(value, expected)


def test_a_custom_gradient_of_variables(session: Any, x: Any) -> None:
    weight = gf.Variable(POINT)

    @gf.custom_gradient
    def scaled(v: Any) -> Any:
        def backward(g: Any, variables: Any) -> Any:
            return g * 2.0, [g * 3.0 for _ in variables]

        return v * weight, backward

    y = scaled(x)
    session.run(weight.initializer)
    found = session.run([y, *gf.gradients(y, [x, weight])], {x: POINT})
    np.testing.assert_array_equal(found, [POINT * POINT, [2, 2], [3, 3]])


def test_a_custom_gradient_that_does_not_fit_is_refused(session: Any, x: Any) -> None:
    weight = gf.Variable(POINT)

    @gf.custom_gradient
    def forgets(v: Any) -> Any:
        return v * weight, lambda g: g

    @gf.custom_gradient
    def too_many(v: Any) -> Any:
        return v * 2.0, lambda g: (g, g)

    @gf.custom_gradient
    def no_function(v: Any) -> Any:
        return v

    with pytest.raises(TypeError, match="variables"):
        forgets(x)
    with pytest.raises(TypeError, match="gradient function"):
        no_function(x)
    with pytest.raises(ValueError, match="2 gradients for 1 arguments"):
        gf.gradients(too_many(x), x)
    with pytest.raises(ValueError, match="positional"):
        too_many(v=x)


def test_the_gradient_of_the_identity_in_place_of_a_steps(session: Any, x: Any) -> None:
    y = gf.grad_pass_through(gf.round)(x * 1.3)
    np.testing.assert_allclose(session.run(gf.gradients(y, x)[0], {x: POINT}), [1.3, 1.3])


def test_hessians(session: Any, x: Any) -> None:
    cubic = gf.reduce_sum(x**3) + x[0] * x[1] ** 2
    of_branch = gf.cond(x[0] > 0, lambda: gf.reduce_sum(x**3), lambda: x[0])
    linear = gf.reduce_sum(x * 2.0)
    found = session.run(
        [gf.hessians(cubic, x)[0], gf.hessians(of_branch, x)[0], gf.hessians(linear, x)[0]], {x: POINT}
    )
    expected = ([[6, 4], [4, 14]], [[6, 0], [0, 12]], np.zeros((2, 2)))
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted)
    with pytest.raises(ValueError, match="does not depend"):
        gf.hessians(gf.constant(1.0), x)


def test_a_rule_that_returns_the_wrong_number_of_gradients(session: Any, x: Any) -> None:
    gf.RegisterGradient("ReturnsTwo")(lambda op, g: [g, g])
    with gf.get_default_graph().gradient_override_map({"Square": "ReturnsTwo"}):
        y = gf.square(x)
    with pytest.raises(ValueError, match=r"Square 'Square' has 2 parts.*1 inputs"):
        gf.gradients(y, x)


def test_an_operation_without_a_gradient_is_named(session: Any, x: Any) -> None:
    with pytest.raises(LookupError, match="Unique"):
        gf.gradients(gf.unique(x)[0], x)


def test_a_long_chain_needs_no_recursion(session: Any, x: Any) -> None:
    y = x
    for _ in range(3000):
        y = y + 1.0
    np.testing.assert_array_equal(session.run(gf.gradients(y, x)[0], {x: POINT}), [1.0, 1.0])


@pytest.mark.parametrize(
    ("axis", "known"), [(0, True), (0, False), (1, True), (1, False), (-2, True), (None, True), (None, False)]
)
def test_rows_of_what_was_joined_are_rows_of_its_parts(session: Any, axis: int | None, known: bool) -> None:
    """Sizes may be unknown while the graph is built, and the axis, whose gradient is dense then."""
    first, second = np.arange(6.0).reshape(3, 2), np.arange(6.0, 12.0).reshape(3, 2)
    feed: dict[Any, Any] = {}
    parts = []
    for value in (first, second):
        parts.append(gf.placeholder(gf.float64, value.shape if known else None))
        feed[parts[-1]] = value
    along: Any = axis
    if axis is None:
        along = gf.placeholder(gf.int32, [])
        feed[along] = 0
    rows = [1, 2, 1] if axis == 1 else [1, 5, 1, 3]
    taken = gf.gather(gf.concat(parts, along), rows)
    gradients = gf.gradients(taken * taken, parts)
    assert all(isinstance(g, gf.IndexedSlices) == (axis is not None) for g in gradients)
    whole = np.concatenate([first, second], 1 if axis == 1 else 0)
    expected = np.zeros_like(whole)
    np.add.at(expected, rows, 2 * whole[rows])
    found = session.run([gf.convert_to_tensor(g) for g in gradients], feed)
    for got, wanted in zip(found, np.split(expected, 2, 1 if axis == 1 else 0), strict=True):
        np.testing.assert_allclose(got, wanted)


@pytest.mark.parametrize("dtype", [gf.float32, gf.float64])
def test_a_power_has_a_gradient_by_an_exponent_that_is_a_constant(dtype: gf.DType) -> None:
    x, y = gf.constant([[1.0, 3.5, 6.0]], dtype), gf.constant([1.0], dtype)
    with gf.Session() as session:
        found = session.run(gf.gradients(gf.pow(x, y), [x, y]))
    np.testing.assert_allclose(found[0], [[1.0, 1.0, 1.0]])
    np.testing.assert_allclose(found[1], [15.135227], rtol=1e-6)  # As TensorFlow 1.15.5 has it.

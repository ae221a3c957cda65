"""Protects what neither the oracle's cases nor the registry's walk show of the mathematical ops.

Complex gradients to second order, the accuracy of the special functions, integers at the ends of their range,
gradients that are known to need no summing, and shapes computed with arithmetic while the graph is built.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.kernels import registry
from graphflow._core.ops import load_all

COMPLEX = {
    "product": lambda c: gf.real(c * c) + gf.imag(c * c * c),
    "abs": gf.abs,
    "angle": gf.angle,
    "quotient": lambda c: gf.real(gf.conj(c) * gf.exp(c) / (c + 2.0)),
    "sqrt": lambda c: gf.real(gf.sqrt(c)),
    "rsqrt": lambda c: gf.imag(gf.rsqrt(c)),
    "tanh": lambda c: gf.real(gf.tanh(c)),
    "sigmoid": lambda c: gf.imag(gf.sigmoid(c)),
    "reciprocal": lambda c: gf.imag(gf.math.reciprocal(c)),
    "sign": lambda c: gf.real(gf.sign(c)),
    "log": lambda c: gf.imag(gf.log(c)),
    "pow": lambda c: gf.imag(gf.pow(c, c)),
}


def run(tensor: Any, feeds: dict[Any, Any] | None = None) -> Any:
    with gf.Session(graph=tensor.graph) as session:
        return session.run(tensor, feeds)


def slope(session: gf.Session, value: Any, inputs: list[Any], at: list[Any], along: list[Any]) -> float:
    """The central difference of a scalar along a direction."""
    step = 1e-6
    above, below = (
        session.run(value, {x: p + sign * step * d for x, p, d in zip(inputs, at, along)}) for sign in (1, -1)
    )
    return float(above - below) / (2 * step)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_to_second_order(name: str) -> None:
    random = np.random.default_rng(1)
    at, along = random.normal(size=(2, 3)), random.normal(size=(2, 3))
    with gf.Graph().as_default(), gf.Session() as session:
        inputs = [gf.placeholder(gf.float64, [3]) for _ in range(2)]
        first = gf.reduce_sum(COMPLEX[name](gf.complex(*inputs)))
        gradient = gf.gradients(first, inputs)
        second = gf.reduce_sum(gf.square(gradient[0]) + gradient[0] * gradient[1])
        for value, found in ((first, gradient), (second, gf.gradients(second, inputs))):
            arrays = session.run(found, dict(zip(inputs, at)))
            analytic = sum(float(np.sum(a * d)) for a, d in zip(arrays, along))
            assert analytic == pytest.approx(
                slope(session, value, inputs, list(at), list(along)), rel=1e-5, abs=1e-7
            )


def special(op_type: str) -> Callable[..., Any]:
    """The kernel of a function of numbers alone."""
    load_all()  # A kernel is looked for by its op.
    factory: Any = registry.factory(op_type)
    function: Callable[..., Any] = factory(None)
    return function


@pytest.mark.parametrize(
    ("found", "reference", "points"),
    [
        (special("Erf"), math.erf, np.linspace(-6, 6, 401)),
        (special("Erfc"), math.erfc, np.linspace(-6, 20, 401)),
        (
            special("Lgamma"),
            math.lgamma,
            np.concatenate([np.linspace(-9.95, -0.05, 100), np.linspace(0.01, 60, 400)]),
        ),
    ],
    ids=["erf", "erfc", "lgamma"],
)
def test_special_functions_are_accurate(found: Callable[..., Any], reference: Any, points: Any) -> None:
    expected = np.array([reference(x) for x in points])
    np.testing.assert_allclose(found(points), expected, rtol=2e-14, atol=2e-14)


def test_special_functions_obey_their_recurrences() -> None:
    x = np.linspace(0.3, 12, 50)
    a, b = np.linspace(0.4, 9, 50), np.linspace(5, 0.7, 50)
    np.testing.assert_allclose(special("Digamma")(x + 1) - special("Digamma")(x), 1 / x, rtol=1e-12)
    two = np.full_like(x, 2.5)
    np.testing.assert_allclose(special("Zeta")(two, x) - special("Zeta")(two, x + 1), x**-2.5, rtol=1e-11)
    lower, upper = special("Igamma")(a, x), special("Igammac")(a, x)
    np.testing.assert_allclose(lower + upper, 1, rtol=1e-13)
    share = np.linspace(0.02, 0.98, 50)
    np.testing.assert_allclose(
        special("Betainc")(a, b, share) + special("Betainc")(b, a, 1 - share), 1, rtol=1e-12
    )


@pytest.mark.parametrize("function", [gf.floordiv, gf.floormod, gf.truncatediv, gf.truncatemod, gf.div])
def test_dividing_integers_by_zero_is_an_error(function: Any) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.int32, [2])
        with pytest.raises(gf.errors.InvalidArgumentError, match="division by zero"):
            run(function(x, [1, 0]), {x: [3, 3]})


def test_the_lowest_integer_divided_by_minus_one_wraps() -> None:
    # TensorFlow ends the process here.
    with gf.Graph().as_default():
        x = gf.placeholder(gf.int32, [1])
        assert run(x // -1, {x: [-(2**31)]}).tolist() == [-(2**31)]


def test_floats_beyond_an_integers_range_become_what_tensorflow_makes_of_them() -> None:
    values = [float("nan"), float("inf"), 3e9, 300.0, -1.7]
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None])
        lowest = -(2**31)
        assert run(gf.cast(x, gf.int32), {x: values}).tolist() == [lowest, lowest, lowest, 300, -1]
        assert run(gf.cast(x, gf.uint8), {x: values}).tolist() == [0, 0, 0, 44, 255]
        assert run(gf.saturate_cast(x, gf.int32), {x: [3e9, -3e9]}).tolist() == [2147483520, lowest]


def test_shift_counts_stay_within_the_width() -> None:
    with gf.Graph().as_default():
        assert run(gf.bitwise.left_shift([1, 1, -1], [31, 40, -1])).tolist() == [
            lowest := -(2**31),
            lowest,
            -1,
        ]
        assert run(gf.bitwise.right_shift([-8, 8], [40, 40])).tolist() == [-1, 0]


def test_nan_wins_in_maxima() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        for values in ([float("nan"), 1, 2], [1, float("nan"), 2], [1, 2, float("nan")]):
            assert np.isnan(run(gf.reduce_max(x), {x: values}))
            assert np.isnan(run(gf.reduce_min(x), {x: values}))
            assert np.isnan(values[run(gf.argmax(x), {x: values})])


def test_a_gradient_that_was_never_broadcast_is_not_summed() -> None:
    with gf.Graph().as_default() as graph:
        x, bias = gf.placeholder(gf.float32, [None, 3]), gf.placeholder(gf.float32, [3])
        gf.gradients(x * 2.0 + bias, [x])
        assert not [op.type for op in graph.get_operations() if op.type == "SumToShape"]


def test_a_gradient_of_unknown_shape_is_summed_while_running() -> None:
    with gf.Graph().as_default():
        x, y = gf.placeholder(gf.float32), gf.placeholder(gf.float32)
        gradients = gf.gradients(x * y, [x, y])
        with gf.Session() as session:
            found = session.run(gradients, {x: np.full((2, 1, 3), 2.0), y: np.full((4, 1), 3.0)})
        assert [g.shape for g in found] == [(2, 1, 3), (4, 1)]
        assert found[0].tolist() == np.full((2, 1, 3), 12.0).tolist()
        assert found[1].tolist() == np.full((4, 1), 12.0).tolist()


def test_shapes_computed_while_building_are_known() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [4, 6])
        shape = gf.shape(x)
        assert gf.zeros([shape[0] * 2, shape[1] // 3 - 1]).shape.as_list() == [8, 1]
        assert gf.reshape(x, [gf.reduce_prod(shape)]).shape.as_list() == [24]


def test_ops_join_the_graph_of_their_inputs() -> None:
    graph = gf.Graph()
    with graph.as_default():
        x = gf.placeholder(gf.float32, [2])
    assert (x * 2.0 + 1.0).graph is graph
    assert gf.reduce_sum(gf.exp(x)).graph is graph


def test_a_tensor_is_stacked_already() -> None:
    """As loops of programs' own recurrent networks give a tensor of sizes; TensorFlow gives it back, too."""
    x = gf.placeholder(gf.float32, [None, 2])
    assert gf.stack(x) is x
    with pytest.raises(TypeError):
        gf.stack(x, axis=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("columns", [128, 129, 300])
def test_argmax_of_long_rows_is_the_first_of_equals_whichever_block_it_is_in(
    dtype: type, columns: int
) -> None:
    """Compiled code looks for the block first: equals in two blocks, at their edges, and NaN in a later one."""
    values = np.zeros((6, columns), dtype)
    values[1, [columns - 1, columns // 2]] = 3
    values[2, [127, columns - 1]] = -2
    values[3] = np.arange(columns) % 7
    if dtype is not np.int32:
        values[4, [5, columns - 1]] = np.inf, np.nan
        values[5] = -np.inf
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x = gf.placeholder(dtype, [None, columns])
        largest, smallest = session.run([gf.argmax(x, 1), gf.argmin(x, 1)], {x: values})
    np.testing.assert_array_equal(largest, values.argmax(1))
    np.testing.assert_array_equal(smallest, values.argmin(1))

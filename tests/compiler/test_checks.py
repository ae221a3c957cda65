"""Protects what looks at numbers in compiled code: assertions, also in loops, and sparse tensors in other shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, left_to_numpy


def asserted(least: float) -> Callable[[], Any]:
    """A step that is made if its numbers are large enough, told with texts, numbers and arrays."""

    def build() -> Any:
        x = gf.placeholder(gf.float32, [None, 3], name="x")
        total = gf.get_variable("total", initializer=np.zeros(3, np.float32))
        scaled = x * 2.0
        fits = gf.reduce_all(scaled > least)
        said = ["too small:", scaled, "beside", gf.reduce_sum(x), gf.constant(7), gf.shape(x)]
        with gf.control_dependencies([gf.Assert(fits, said, summarize=4)]):
            step = total.assign_add(gf.reduce_sum(scaled, 0), name="step")
        return [step], {x: np.linspace(0.1, 1.0, 12).reshape(4, 3)}

    return build


def test_an_assertion_that_holds() -> None:
    check(asserted(0.0))
    assert "Assert" not in left_to_numpy(asserted(0.0))


def test_one_that_does_not_is_the_same_error_and_nothing_is_written() -> None:
    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            fetches, feeds = asserted(0.0)()
            session.run(gf.global_variables_initializer())
            for _ in range(3):
                session.run(fetches, feeds)
            before = session.run("total:0")
            bad = {x: value - 0.5 for x, value in feeds.items()}
            with pytest.raises(gf.errors.InvalidArgumentError, match="too small") as raised:
                session.run(fetches, bad)
            np.testing.assert_array_equal(session.run("total:0"), before)
            session.run(fetches, feeds)
            return str(raised.value)

    assert message("always") == message("never")


def test_conditions_of_several_elements_and_such_as_are_known() -> None:
    def build() -> Any:
        x = gf.placeholder(gf.int32, [5])
        known = gf.Assert(gf.size(x) < 9, ["large"])
        with gf.control_dependencies([gf.Assert((x > 0)[::2], [x]), known]):
            return [x * 2], {x: [1, 0, 3, -1, 5]}

    check(build)
    assert "Assert" not in left_to_numpy(build)


def test_a_loop_with_an_assertion_is_native() -> None:
    def build(last: float = 9.0) -> Any:
        x = gf.placeholder(gf.float32, [4])

        def body(k: Any, state: Any) -> Any:
            with gf.control_dependencies([gf.assert_less(gf.reduce_max(state), last, message="too large")]):
                return k + 1, state * 1.5

        return [gf.while_loop(lambda k, _: k < 5, body, [0, x + 0.0])[1]], {x: [0.1, 0.2, 0.3, 0.5]}

    check(build)
    assert left_to_numpy(build) == []

    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            (fetch,), feeds = build(3.0)
            for _ in range(2):
                session.run(fetch, feeds)
            with pytest.raises(gf.errors.InvalidArgumentError, match="too large") as raised:
                session.run(fetch, {x: np.multiply(value, 2.0) for x, value in feeds.items()})
            return str(raised.value)

    assert message("always") == message("never")


# ---- sparse tensors in other shapes ---------------------------------------------------------------------------------

PLACES = np.array([[0, 1, 2], [1, 0, 0], [1, 1, 3]], np.int64)
SHAPES = {"flat": [-1], "open": [4, -1], "whole": [3, 2, 1, 4], "the same": [2, 3, 4], "matrix": [2, 12]}


def reshaped(wanted: list[int], computed: bool) -> Callable[[], Any]:
    """Places in a shape that is constant or computed, and what is taken at them."""

    def build() -> Any:
        indices, shape = gf.placeholder(gf.int64, [None, 3]), gf.placeholder(gf.int64, [3])
        factor = gf.placeholder(gf.int64, [])
        new = gf.constant(wanted, gf.int64) * (factor if computed else 1)
        sparse = gf.SparseTensor(indices + 0, gf.ones([3]), shape + 0)
        found = gf.sparse_reshape(sparse, new)
        return [found.indices * 2, found.dense_shape + 1], {indices: PLACES, shape: [2, 3, 4], factor: 1}

    return build


@pytest.mark.parametrize("computed", [False, True], ids=["constant", "computed"])
@pytest.mark.parametrize("name", SHAPES)
def test_places_in_another_shape(name: str, computed: bool) -> None:
    built = reshaped(SHAPES[name], computed)
    check(built, runs=2)
    assert left_to_numpy(built) == []


WRONG: dict[str, tuple[str, dict[str, Any]]] = {
    "another size": ("requested shape has 36", {"wanted": [6, 6]}),
    "no multiple": ("multiple of 5", {"wanted": [5, -1]}),
    "two open": ("only one output dimension may be -1", {"wanted": [-1, -1]}),
    "no such place": ("out of bounds|not in|does not index", {"indices": PLACES + np.array([0, 2, 0])}),
}


@pytest.mark.parametrize("name", WRONG)
def test_shapes_that_do_not_fit_are_the_same_error(name: str) -> None:
    expected, change = WRONG[name]

    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            fed: dict[str, Any] = {"indices": PLACES, "shape": [2, 3, 4], "wanted": [6, 4]}
            places = {
                "indices": gf.placeholder(gf.int64, [None, 3]),
                "shape": gf.placeholder(gf.int64, [3]),
                "wanted": gf.placeholder(gf.int64, [2]),
            }
            sparse = gf.SparseTensor(places["indices"] + 0, gf.ones([3]), places["shape"] + 0)
            found = gf.sparse_reshape(sparse, places["wanted"] + 0, name="found").indices
            for _ in range(3):
                session.run(found, {places[key]: value for key, value in fed.items()})
            with pytest.raises(gf.errors.InvalidArgumentError, match=expected) as raised:
                session.run(found, {places[key]: value for key, value in {**fed, **change}.items()})
            return str(raised.value)

    assert message("always") == message("never")


# ---- numbers that must be finite ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [gf.float32, gf.float64])
@pytest.mark.parametrize("bad", [[np.nan], [np.inf], [-np.inf, np.nan]])
def test_numbers_that_are_not_finite_are_the_same_error(bad: list[float], dtype: Any) -> None:
    """What comes after the check does not come before it, however it is taken."""

    def message(tier: str) -> str:
        with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
            x = gf.placeholder(dtype, [40, 3])
            total = gf.get_variable("total", initializer=np.zeros(40, dtype.as_numpy_dtype))
            looked = gf.check_numerics(gf.transpose(gf.tanh(x) * x), "the gradient")
            step = total.assign_add(gf.reduce_sum(looked, 0))
            both = [step, gf.check_numerics(total, "the total") + 1.0]
            session.run(gf.global_variables_initializer())
            good = np.linspace(-1, 1, 120).reshape(40, 3)
            for _ in range(3):
                session.run(both, {x: good})
            before = session.run(total)
            wrong = good.copy()
            wrong[-1, : len(bad)] = bad
            with pytest.raises(gf.errors.InvalidArgumentError, match="the gradient : Tensor had") as raised:
                session.run(both, {x: wrong})
            np.testing.assert_array_equal(session.run(total), before)
            return str(raised.value)

    assert message("always") == message("never")


def test_numbers_that_are_finite() -> None:
    def build() -> Any:
        x = gf.placeholder(gf.float32, [None, 3])
        y = gf.check_numerics(gf.transpose(x), "x")
        return [y * 2.0, gf.gradients(gf.reduce_sum(gf.square(y)), x)[0]], {x: np.ones((5, 3))}

    check(build)
    assert left_to_numpy(build) == []

"""Protects optimizers outside of the graph: physics-informed networks are trained with SciPy's L-BFGS-B.

The numbers are those of TensorFlow 1.15.5 with SciPy 1.2.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf


def _loss() -> tuple[gf.Variable, gf.Variable, gf.Tensor]:
    x = gf.Variable([5.0, -3.0, 2.0], name="x")
    y = gf.Variable([[1.0], [2.0]], name="y")
    loss = gf.reduce_sum(gf.square(x - 1.0)) + gf.reduce_sum(gf.square(y) * [[3.0], [1.0]])
    return x, y, loss + gf.reduce_sum(x) * gf.reduce_sum(y) * 0.1


class Descent(gf.contrib.opt.ExternalOptimizerInterface):
    """Three steps down the gradient."""

    def _minimize(self, initial_val: Any, loss_grad_func: Any, **others: Any) -> Any:  # type: ignore[override]
        self.seen = others
        vector = initial_val
        for _ in range(3):
            _, gradient = loss_grad_func(vector)
            vector = vector - 0.1 * gradient
            others["step_callback"](vector)
        return vector


def test_an_optimizer_of_ones_own_moves_all_variables() -> None:
    x, y, loss = _loss()
    fed = gf.placeholder_with_default(1.0, [])
    optimizer = Descent(loss * fed, equalities=[x[0]], var_to_bounds={y: (0.0, [[1.0], [2.0]])}, speed=2)
    steps: list[Any] = []
    losses: list[float] = []
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        optimizer.minimize(
            feed_dict={fed: 1.0},
            fetches=[loss],
            step_callback=steps.append,
            loss_callback=lambda value: losses.append(float(value)),
        )
        found = np.concatenate([part.ravel() for part in session.run([x, y])])
        assert optimizer.seen["equality_funcs"][0](found) == pytest.approx(found[0])
        assert optimizer.seen["equality_grad_funcs"][0](found).tolist() == [1, 0, 0, 0, 0]
    assert len(steps) == 3 and np.allclose(steps[-1], found) and losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(41.2) and optimizer.seen["optimizer_kwargs"] == {"speed": 2}
    assert optimizer.seen["packed_bounds"] == [(-np.inf, np.inf)] * 3 + [(0.0, 1.0), (0.0, 2.0)]


def test_it_needs_a_session_and_a_method() -> None:
    _, _, loss = _loss()
    optimizer = gf.contrib.opt.ExternalOptimizerInterface(loss)
    with pytest.raises(ValueError, match="session"):
        optimizer.minimize()
    with gf.Session() as session, pytest.raises(NotImplementedError, match="_minimize"):
        session.run(gf.global_variables_initializer())
        optimizer.minimize(session)


@pytest.mark.parametrize(
    ("arguments", "bounded", "x", "y"),
    [
        ({}, False, [1.0100919, 1.0101078, 1.0100977], [-0.0504977, -0.1514982]),
        ({"method": "SLSQP"}, False, [0.2092689, 2.0, 0.9975284], [0.2092689, -0.1603718]),
        ({}, True, [0.5, 0.98004, 0.9800322], [0.2, 0.2]),
    ],
)
def test_scipy_finds_what_it_finds_with_tensorflow(
    arguments: dict[str, Any], bounded: bool, x: list[float], y: list[float]
) -> None:
    pytest.importorskip("scipy")
    first, second, loss = _loss()
    if arguments:
        arguments |= {"equalities": [first[0] - second[0, 0]], "inequalities": [first[1] - 2.0]}
    bounds = {first: (0.0, [0.5, 4.0, 4.0]), second: (0.2, 9.0)} if bounded else None
    optimizer = gf.contrib.opt.ScipyOptimizerInterface(loss, var_to_bounds=bounds, **arguments)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        optimizer.minimize(session)
        assert np.allclose(session.run(first), x, atol=1e-5)
        assert np.allclose(session.run(second).ravel(), y, atol=1e-5)


class _Result(dict[str, Any]):
    fun, x = 0.5, np.zeros(5)


def test_scipy_is_asked_in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy itself is not needed for this."""
    from types import ModuleType

    asked: dict[str, Any] = {}

    def minimize(function: Any, start: Any, **arguments: Any) -> _Result:
        asked.update(arguments, start=start, given=function(start))
        return _Result()

    fake = ModuleType("scipy.optimize")
    monkeypatch.setattr(fake, "minimize", minimize, raising=False)
    monkeypatch.setitem(__import__("sys").modules, "scipy", ModuleType("scipy"))
    monkeypatch.setitem(__import__("sys").modules, "scipy.optimize", fake)
    x, y, loss = _loss()
    optimizer = gf.contrib.opt.ScipyOptimizerInterface(loss, inequalities=[y], options={"maxiter": 3})
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        optimizer.minimize(session)
        assert session.run(x).tolist() == [0, 0, 0]
        (constraint,) = asked["constraints"]
        assert constraint["type"] == "ineq" and constraint["fun"](asked["start"]).dtype == np.float64
    assert asked["options"] == {"maxiter": 3} and asked["method"] == "L-BFGS-B" and asked["jac"] is True
    assert asked["start"].dtype == asked["given"][1].dtype == np.float64 and asked["given"][
        0
    ] == pytest.approx(41.2)


def test_arguments_of_scipy_that_are_set_are_refused() -> None:
    _, _, loss = _loss()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for name in ("bounds", "jac"):
            with pytest.raises(ValueError, match=f"{name}.*cannot be injected manually"):
                gf.contrib.opt.ScipyOptimizerInterface(loss, **{name: None}).minimize(session)

"""Protects updates that come before a value of which a step needs the gradient alone: they happen as in TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf

Use = Callable[[Any, Any, Any], Any]
"""Makes something of a value that comes after an update, of a fed one, and of the variable."""

DONE: dict[str, Use] = {
    "product with a constant": lambda h, p, v: h * 0.25,
    "product with what is fed": lambda h, p, v: h * p,
    "product with the variable": lambda h, p, v: h * v,
    "quotient": lambda h, p, v: h / 2.0,
    "power": lambda h, p, v: h**2.0,
    "matrix product": lambda h, p, v: gf.matmul(h, p),
    "rows beside what is fed": lambda h, p, v: gf.concat([h, p], 0),
    "larger of two": lambda h, p, v: gf.maximum(h, 0.0),
    "two products": lambda h, p, v: (h * 0.5) * p,
    "branch": lambda h, p, v: gf.cond(gf.reduce_sum(p) > 0, lambda: h * 0.25, lambda: h * 0.5),
    "loop": lambda h, p, v: gf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * 0.5), [0, h])[1],
    "convolution": lambda h, p, v: gf.nn.conv2d(
        gf.reshape(h, [1, 2, 2, 1]), gf.ones([1, 1, 1, 1]), [1, 1, 1, 1], "SAME"
    ),
}
NOT_DONE: dict[str, Use] = {
    "sum with a constant": lambda h, p, v: h + 1.0,
    "sum with the variable": lambda h, p, v: h + v,
    "sum of several": lambda h, p, v: gf.add_n([h, p]),
    "identity": lambda h, p, v: gf.identity(h),
    "other shape": lambda h, p, v: gf.reshape(h, [4]),
    "choice": lambda h, p, v: gf.where(p > 0, h, p),
    "stack": lambda h, p, v: gf.stack([h, p]),
    "bias": lambda h, p, v: gf.nn.bias_add(h, gf.constant([1.0, 2.0])),
}
"""Their gradients take no value."""


def _counted(use: Use, conditional: bool, resource: bool) -> float:
    """How often an update was done in three steps that need a gradient alone."""
    v = gf.get_variable("v", [2, 2], initializer=gf.constant_initializer(2.0))
    count = gf.get_variable(
        "count", [], initializer=gf.zeros_initializer(), trainable=False, use_resource=resource
    )
    latent = gf.square(v)

    def updated() -> Any:
        with gf.control_dependencies([gf.assign(count, count + 1.0)]):
            return gf.identity(latent)

    held = updated()
    if conditional:
        held = gf.cond(gf.placeholder_with_default(True, []), updated, lambda: latent)
    fed = gf.placeholder_with_default(np.ones([2, 2], np.float32), [None, 2])
    train = gf.train.GradientDescentOptimizer(0.01).minimize(gf.reduce_sum(use(held, fed, v)))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        return float(session.run(count))


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("conditional", [False, True], ids=["always", "in a branch"])
@pytest.mark.parametrize("name", DONE)
def test_an_update_that_another_gradient_of_the_operation_waits_for_is_done(
    name: str, conditional: bool, resource: bool
) -> None:
    with gf.Graph().as_default():
        assert _counted(DONE[name], conditional, resource) == 3


@pytest.mark.parametrize("name", NOT_DONE)
def test_an_update_that_no_gradient_waits_for_is_not_done(name: str) -> None:
    with gf.Graph().as_default():
        assert _counted(NOT_DONE[name], False, False) == 0

"""Protects branches whose gradients run on other tasks, which await values of both: one has none to send."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of

GIVEN = np.linspace(-1.0, 1.0, 2000).reshape(100, 20).astype("f")
"""Of more bytes than go along in a message's table."""


def _built(branch: str, beyond: str) -> tuple[Any, Any, list[Any]]:
    """The predicate, the input and what is fetched; the branch on one device, its gradient on another."""
    with gf.device(branch):
        x = gf.placeholder(gf.float32, [None, 20])
        predicate = gf.placeholder(gf.bool, [])
        w = gf.get_variable("w", [20], gf.float32, gf.constant_initializer(0.5))
        y = gf.cond(
            predicate,
            lambda: gf.tanh(gf.exp(x) * w) + gf.gather(w, gf.argmax(x, 1))[:, gf.newaxis],
            lambda: gf.cond(gf.reduce_sum(x) > 0.0, lambda: gf.sin(x), lambda: gf.sigmoid(x) * x),
        )
    with gf.device(beyond):
        loss = gf.reduce_sum(gf.square(y))
        gradients = gf.gradients(loss, [x, w])
    return predicate, x, [loss, *map(gf.convert_to_tensor, gradients)]


@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("jobs", [("ps", "worker"), ("worker", "ps")])
def test_gradients_of_branches_cross_tasks(jobs: tuple[str, str], compiled: str) -> None:
    runs = [(taken, GIVEN * sign + 0.1) for taken in (True, False, True) for sign in (1, -1)]
    with ExitStack() as stack, gf.Graph().as_default():
        predicate, x, fetches = _built("", "")
        session = stack.enter_context(gf.Session(config=gf.ConfigProto(compiled="never")))
        session.run(gf.global_variables_initializer())
        expected = [session.run(fetches, {predicate: taken, x: given}) for taken, given in runs]
    with ExitStack() as stack, gf.Graph().as_default():
        target = serve_all(stack, spec_of(stack, ps=1, worker=1))[-1].target
        predicate, x, fetches = _built(*[f"/job:{job}/task:0" for job in jobs])
        config = gf.ConfigProto(compiled=compiled, verify_compiled=False)
        session = stack.enter_context(gf.Session(target, config=config))
        session.run(gf.global_variables_initializer())
        for (taken, given), wanted in zip(runs, expected, strict=True):
            for value, other in zip(session.run(fetches, {predicate: taken, x: given}), wanted, strict=True):
                np.testing.assert_allclose(value, other, 1e-4, 1e-5)

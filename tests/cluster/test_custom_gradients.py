"""Protects gradients that a program gives itself on a cluster: tasks run them without knowing the functions."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import numpy as np

import graphflow as gf
from tests.cluster.serving import serve_all, spec_of


def test_a_gradient_function_stays_in_its_program() -> None:
    """It holds the graph and a lock, which no other process could have."""
    lock = threading.Lock()

    @gf.custom_gradient
    def clipped(x: Any) -> Any:
        def backward(gradient: Any) -> Any:
            with lock:
                return gf.clip_by_value(gradient * gf.cos(x), -0.1, 0.1)

        return gf.sin(x), backward

    with ExitStack() as stack, gf.Graph().as_default():
        server = serve_all(stack, spec_of(stack, ps=1, worker=1))[-1]
        with gf.device("/job:ps/task:0"):
            x = gf.placeholder(gf.float32, [3])
            y = clipped(x)
        with gf.device("/job:worker/task:0"):
            loss = gf.reduce_sum(y * [1.0, 2.0, 0.05])
        session = stack.enter_context(gf.Session(server.target))
        given = np.array([0.1, 0.2, 0.3], "f")
        for _ in range(2):
            total, gradient = session.run([loss, gf.gradients(loss, x)[0]], {x: given})
    np.testing.assert_allclose(total, np.sum(np.sin(given) * [1, 2, 0.05]), 1e-6)
    np.testing.assert_allclose(gradient, np.clip(np.cos(given) * [1, 2, 0.05], -0.1, 0.1), 1e-6)

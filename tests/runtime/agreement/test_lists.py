"""Protects runs in which tiers are compared from what stages before have left: lists of TensorArrays, and stacks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.session import executables


def looped(array_device: str, clears: bool) -> Any:
    """A loop that fills a list; its gradient stands behind what another device computes, as is what adds to the list's.

    So the stacks of the loop, the list and the list of its gradients are there when later stages begin.
    """
    with gf.device(array_device):
        rows = gf.TensorArray(gf.float32, 5, element_shape=[4], clear_after_read=clears)
    with gf.device("/cpu:1"):
        x = gf.placeholder(gf.float32, [4])

        def body(k: Any, state: Any, rows: Any) -> Any:
            state = gf.tanh(state * 1.3 + x)
            return k + 1, state, rows.write(k, state)

        rows = gf.while_loop(lambda k, *_: k < 5, body, [0, x, rows])[2]
    with gf.device("/cpu:0"):
        weights = np.linspace(0.5, 1.5, 20, dtype=np.float32).reshape(5, 4)
        loss = gf.reduce_sum(gf.exp(rows.stack()) * weights)
        if not clears:
            loss += gf.reduce_sum(gf.square(rows.read(2)) + gf.tanh(rows.read(4)))
    return [loss, gf.gradients(loss, x)[0]], {x: [0.1, -0.2, 0.3, 0.5]}


@pytest.mark.parametrize("clears", [True, False])
@pytest.mark.parametrize("array_device", ["/cpu:0", "/cpu:1"])
def test_the_run_in_which_tiers_are_compared_gives_what_others_give(array_device: str, clears: bool) -> None:
    def results(tier: str) -> list[Any]:
        config = gf.ConfigProto(compiled=tier, device_count={"CPU": 2})
        with gf.Graph().as_default(), gf.Session(config=config) as session:
            fetches, feeds = looped(array_device, clears)
            found = [value for _ in range(3) for value in session.run(fetches, feeds)]
            if tier == "always":
                parts = [part for each in executables(session) for part in each.parts()]
                loops = [part for part in parts if any(i.bodies for i in part.plan.instructions)]
                assert len(loops) == 2 and all(part.compiled() for part in loops)
            return found

    for mine, theirs in zip(results("always"), results("never"), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)

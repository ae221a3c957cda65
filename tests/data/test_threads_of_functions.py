"""Protects the cores from functions of datasets: compiled code of one element wakes no further threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.compiled.tier_state import TierPolicy
from tests.data.pipelines import D, drain


def test_a_function_takes_one_thread_and_the_step_all(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def watched(mode: str, seeded: bool, threads: int, *others: Any) -> TierPolicy:
        made.append(threads)
        return TierPolicy(mode, seeded, threads, *others)

    monkeypatch.setattr("graphflow._core.runtime.planner.TierPolicy", watched)
    config = gf.ConfigProto(intra_op_parallelism_threads=3)
    with gf.Graph().as_default(), gf.Session(config=config) as session:
        data = D.range(4).map(lambda n: gf.cast(n, gf.float32) * np.ones([8], np.float32))
        following = data.make_one_shot_iterator().get_next()
        assert len(drain(session, following)) == 4
        assert set(made) == {1}
        x = gf.placeholder(gf.float32, [8])
        session.run(x * 2.0, {x: np.ones(8)})
    assert set(made) == {1, 3}

"""Protects that what a session's configuration says of its runs holds on a cluster as it does in one process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime import planner
from tests.cluster.serving import serve, serve_all, spec_of


@pytest.fixture
def target() -> Iterator[str]:
    """A worker that a ps stands beside."""
    with ExitStack() as stack:
        _, worker = serve_all(stack, spec_of(stack, ps=1, worker=1))
        yield worker.target


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Of the stages that may become compiled, what is said about when."""
    found: list[str] = []

    def policy(mode: str, *rest: Any) -> Any:
        found.append(mode)
        return original(mode, *rest)

    original = planner.TierPolicy
    monkeypatch.setattr(planner, "TierPolicy", policy)
    return found


@pytest.mark.parametrize("compiled", ["auto", "never", "always"])
def test_the_tier_is_the_one_that_the_session_asks_for(compiled: str, target: str, modes: list[str]) -> None:
    with gf.Graph().as_default():
        with gf.device("/job:ps"):
            x = gf.placeholder(gf.float32, [3])
            y = gf.exp(x) + 1.0
        with gf.Session(target, config=gf.ConfigProto(compiled=compiled)) as session:
            value = session.run(y, {x: [0.0, 1.0, 2.0]})
    np.testing.assert_allclose(value, np.exp([0.0, 1.0, 2.0]) + 1.0, 1e-6)
    assert set(modes) == (set() if compiled == "never" else {compiled})


def test_what_a_task_insists_on_holds_for_every_session(modes: list[str]) -> None:
    with ExitStack() as stack, gf.Graph().as_default():
        server = serve(stack, spec_of(stack, worker=1), "worker", config=gf.ConfigProto(compiled="never"))
        x = gf.placeholder(gf.float32, [3])
        session = stack.enter_context(gf.Session(server.target))
        assert list(session.run(x * 2.0, {x: [1.0, 2.0, 3.0]})) == [2.0, 4.0, 6.0]
    assert not modes


def test_check_numerics_names_the_operation_on_another_task(target: str) -> None:
    with gf.Graph().as_default():
        with gf.device("/job:ps"):
            x = gf.placeholder(gf.float32, [2])
            inverse = gf.divide(1.0, x, name="inverse")
        total = gf.reduce_sum(gf.minimum(inverse, 5.0))
        with gf.Session(target, config=gf.ConfigProto(check_numerics=True)) as session:
            assert session.run(total, {x: [1.0, 2.0]}) == 1.5
            with pytest.raises(gf.errors.InvalidArgumentError, match="inverse"):
                session.run(total, {x: [1.0, 0.0]})
        with gf.Session(target) as session:
            assert session.run(total, {x: [1.0, 0.0]}) == 6.0


def test_the_deadline_of_a_server_holds_for_sessions_that_say_none() -> None:
    with ExitStack() as stack, gf.Graph().as_default():
        config = gf.ConfigProto(operation_timeout_in_ms=100)
        server = serve(stack, spec_of(stack, worker=1), "worker", config=config)
        waits = gf.FIFOQueue(1, [gf.float32]).dequeue()
        with gf.Session(server.target) as session, pytest.raises(gf.errors.DeadlineExceededError):
            session.run(waits)
        long = gf.ConfigProto(operation_timeout_in_ms=3_600_000)
        with gf.Session(server.target, config=long) as session:
            with pytest.raises(gf.errors.DeadlineExceededError):
                session.run(waits, options=gf.RunOptions(timeout_in_ms=100))
            assert session.run(gf.constant(1)) == 1


def test_a_server_has_the_configuration_of_its_definition() -> None:
    with ExitStack() as stack:
        spec = gf.train.ClusterSpec(spec_of(stack, worker=1))
        config = gf.ConfigProto(operation_timeout_in_ms=100)
        made = gf.train.ServerDef(spec.as_cluster_def(), "worker", 0, default_session_config=config)
        server = gf.train.Server(made, start=False)
        stack.callback(server.stop)
        assert server.server_def.default_session_config == config
        other = gf.train.Server({"local": ["localhost:0"]}, config=gf.ConfigProto(tcp_only=True), start=False)
        stack.callback(other.stop)
        assert other.server_def.default_session_config == gf.ConfigProto(tcp_only=True)

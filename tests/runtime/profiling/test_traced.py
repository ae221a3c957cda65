"""Protects traced steps: they run as the steps around them do, change no bit of these, and say what was compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.profiling.traced import COMPARED

FULL = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) / 12


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def always() -> gf.Session:
    return gf.Session(config=gf.ConfigProto(compiled="always"))


def traced(session: Any, fetches: Any, feed: Any = None) -> tuple[Any, list[Any]]:
    metadata = gf.RunMetadata()
    values = session.run(fetches, feed, options=FULL, run_metadata=metadata)
    return values, metadata.step_stats.nodes()


def trained(steps: int, looked_at: tuple[int, ...] = ()) -> tuple[list[bytes], list[set[str]]]:
    """The bits of a seeded program, loss by loss, and the kinds of what was traced."""
    seen, kinds = [], []
    with gf.Graph().as_default():
        gf.set_random_seed(3)
        rows = gf.random_normal([16, 5])
        w = gf.Variable(gf.random_normal([5, 5]))
        loss = gf.reduce_mean(gf.square(gf.tanh(gf.matmul(rows, w)) - 0.3))
        train = gf.train.AdamOptimizer(0.1).minimize(loss)
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for step in range(steps):
                if step in looked_at:
                    (value, _), nodes = traced(session, [loss, train])
                    kinds.append({n.op if n.op == COMPARED else n.kind for n in nodes})
                else:
                    value, _ = session.run([loss, train])
                seen.append(value.tobytes())
            seen.append(session.run(w).tobytes())
    return seen, kinds


def test_tracing_any_step_changes_no_bit_of_a_seeded_program() -> None:
    plain, _ = trained(12)
    for looked_at in ((0,), (3, 4), (7,), (8, 11), tuple(range(12))):
        assert trained(12, looked_at)[0] == plain, looked_at
    _, kinds = trained(12, tuple(range(12)))
    assert kinds[:7] == [{"numpy"}] * 7 and kinds[7] == {COMPARED}
    assert all("numpy" not in found and found >= {"fused", "kernel"} for found in kinds[8:])


def test_a_traced_step_is_compiled_if_its_plan_is_and_says_what_each_piece_computes() -> None:
    x = gf.placeholder(gf.float32, [None, 3], name="x")
    w = gf.Variable(gf.ones([3]), name="w")
    error = gf.tanh(x * w, name="error")
    found, _ = gf.unique(gf.cast(gf.reshape(error * 9.0, [-1]), gf.int32), name="found")
    step = w.assign_sub(gf.reduce_sum(error, 0), name="step").op
    with always() as session, always() as other:
        for one in (session, other):
            one.run(w.initializer)
            for _ in range(3):
                one.run([found, step], {x: ROWS})
        (values, _), nodes = traced(session, [found, step], {x: ROWS})
        expected, _ = other.run([found, step], {x: ROWS})
        assert values.tolist() == expected.tolist()
        assert session.run(w).tobytes() == other.run(w).tobytes()
    assert all(n.start_us > 0 and n.duration_us > 0 for n in nodes)
    assert [n.start_us for n in nodes] == sorted(n.start_us for n in nodes)
    assert [(n.op, n.node_name) for n in nodes if n.kind == "numpy"] == [("Unique", "found")]
    fused = {name for n in nodes if n.kind == "fused" for name in n.operations}
    assert {"mul", "error", "step"} <= fused
    first = next(n for n in nodes if "error" in n.operations)
    assert first.op.startswith("Mul") and "+Tanh" in first.op and first.node_name == "mul"
    assert any(out.bytes == 4 * 12 for n in nodes for out in n.outputs)


def test_other_shapes_of_a_compiled_plan_are_traced_too() -> None:
    x = gf.placeholder(gf.float32, [None, 3])
    y = gf.reduce_sum(gf.tanh(x) * 2.0, 1)
    with always() as session:
        for rows in (4, 4, 4, 5, 5, 6, 6):
            session.run(y, {x: np.ones((rows, 3))})
        for rows in (5, 4, 6):
            value, nodes = traced(session, y, {x: np.ones((rows, 3))})
            assert value.tobytes() == session.run(y, {x: np.ones((rows, 3))}).tobytes()
            assert {n.kind for n in nodes} == {"fused"}
        assert {n.kind for n in traced(session, y, {x: np.ones((7, 3))})[1]} == {"numpy"}


def test_a_step_on_two_devices_is_traced_compiled() -> None:
    x = gf.placeholder(gf.float32, [3])
    with gf.device("/cpu:1"):
        y = gf.exp(x) * 2.0
    with gf.device("/cpu:0"):
        z = gf.reduce_sum(gf.log(y) + y)
    with gf.Session(config=gf.ConfigProto(compiled="always", device_count={"CPU": 2})) as session:
        expected = [session.run(z, {x: [1, 2, 3]}) for _ in range(3)][-1]
        value, nodes = traced(session, z, {x: [1, 2, 3]})
    assert value.tobytes() == expected.tobytes()
    assert {n.op for n in nodes if n.kind == "numpy"} == {"Send", "Recv"}
    assert {n.device[-1] for n in nodes if n.kind == "fused"} == {"0", "1"}


def test_a_traced_step_that_fails_tells_the_operation_and_leaves_the_session_as_it_was() -> None:
    x = gf.placeholder(gf.int32, [2], name="x")
    y = gf.constant([6, 6]) // x
    with always() as session:
        for _ in range(3):
            session.run(y, {x: [1, 2]})
        with pytest.raises(gf.errors.InvalidArgumentError, match="FloorDiv"):
            traced(session, y, {x: [1, 0]})
        assert traced(session, y, {x: [1, 2]})[0].tolist() == session.run(y, {x: [1, 2]}).tolist() == [6, 3]


def test_sessions_that_stay_on_numpy_trace_each_operation() -> None:
    x = gf.placeholder(gf.float32, [2])
    y = gf.exp(gf.tanh(x))
    for config in (gf.ConfigProto(compiled="never"), gf.ConfigProto(check_numerics=True)):
        with gf.Session(config=config) as session:
            for _ in range(3):
                _, nodes = traced(session, y, {x: [1, 2]})
            assert [(n.op, n.kind) for n in nodes] == [("Tanh", "numpy"), ("Exp", "numpy")]

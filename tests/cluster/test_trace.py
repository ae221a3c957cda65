"""Protects what shows how a step ran on a cluster: one timeline over all tasks, on one clock, and Session.explain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.cluster.server.step_trace import merged, offset
from tests.cluster.serving import serve_all, spec_of

PS, FIRST, SECOND = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """A ps and two workers; the target of the first worker."""
    with ExitStack() as stack:
        yield serve_all(stack, spec_of(stack, ps=1, worker=2))[1].target


def training_step() -> tuple[Any, Any, Any]:
    """A step of two towers: the variable, what one fetches, and what is fed."""
    x = gf.placeholder(gf.float32, [4], name="x")
    with gf.device(PS):
        w = gf.Variable(gf.ones([4]), name="w")
    gradients = []
    for worker in (FIRST, SECOND):
        with gf.device(worker):
            gradients.append(gf.tanh(w * x))
    with gf.device(PS):
        step = w.assign_sub(0.1 * (gradients[0] + gradients[1]))
    return w, step, x


def test_one_timeline_shows_all_tasks_of_a_step(target: str, tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session(target) as session:
        w, step, x = training_step()
        session.run(w.initializer)
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        for _ in range(3):
            session.run(step.op, {x: [1, 2, 3, 4]}, options=options, run_metadata=metadata)
        plans = [t["steps"]["in_flight"] for t in gf.train.cluster_status(target)]
    lines = {d.device.replace("/replica:0", ""): d.node_stats for d in metadata.step_stats.dev_stats}
    assert list(lines) == [f"{task}/device:CPU:0" for task in (PS, FIRST, SECOND)]
    ops = {device.rpartition("/device")[0]: [n.op for n in nodes] for device, nodes in lines.items()}
    assert {"Send", "Recv", "AssignSub"} <= set(ops[PS]) and ops[PS].count("Recv") == 2
    assert all({"Mul", "Tanh", "Send", "Recv"} <= set(ops[worker]) for worker in (FIRST, SECOND))
    nodes = metadata.step_stats.nodes()
    assert all(n.start_us >= 0 and n.duration_us >= 0 for n in nodes)
    end = {n.node_name: n.start_us + n.duration_us for n in nodes}
    tanh = max(end[n.node_name] for n in nodes if n.op == "Tanh")
    (assign,) = [n for n in nodes if n.op == "AssignSub"]
    assert tanh <= assign.start_us, "effects come after causes: the tasks are on one clock"
    waits = [n for n in lines[f"{PS}/device:CPU:0"] if n.op == "Recv"]
    assert all(n.duration_us > 0 for n in waits), "the ps has waited for both gradients"
    assert set(metadata.step_stats.clock_errors_us) == {
        f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("worker", 0), ("worker", 1))
    }
    assert plans == [0, 0, 0]
    with gf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_run_metadata(metadata, "step")


def test_the_timeline_is_one_file_for_chrome_with_an_arrow_for_each_value_sent(target: str) -> None:
    with gf.Graph().as_default(), gf.Session(target) as session:
        w, step, x = training_step()
        session.run(w.initializer)
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        session.run(step.op, {x: [1, 2, 3, 4]}, options=options, run_metadata=metadata)
    events = json.loads(metadata.chrome_trace())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {f"{t.replace('/task', '/replica:0/task')}/device:CPU:0" for t in (PS, FIRST, SECOND)}
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(starts) == len(ends) == 4 and starts.keys() == ends.keys()
    assert all(starts[i]["ts"] <= ends[i]["ts"] and starts[i]["pid"] != ends[i]["pid"] for i in starts)


def test_a_traced_step_is_compiled_on_the_tasks_on_which_the_others_are(target: str) -> None:
    config = gf.ConfigProto(compiled="always")
    with gf.Graph().as_default(), gf.Session(target, config=config) as session:
        w, step, x = training_step()
        session.run(w.initializer)
        for _ in range(4):
            session.run(step.op, {x: [1, 2, 3, 4]})
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        session.run(step.op, {x: [1, 2, 3, 4]}, options=options, run_metadata=metadata)
        traced = session.run(w)
        session.run(w.initializer)
        for _ in range(5):
            session.run(step.op, {x: [1, 2, 3, 4]})
        assert traced.tobytes() == session.run(w).tobytes()
    computed = [n for n in metadata.step_stats.nodes() if n.op not in ("Send", "Recv")]
    assert {n.operations[-1]: n.kind for n in computed if "/job:ps" not in n.device} == {
        "Tanh": "fused",
        "Tanh_1": "fused",
    }
    assert [(n.kind, n.op) for n in computed if "/job:ps" in n.device] == [("fused", "AddV2+Mul+AssignSub")]


def test_a_traced_run_that_fails_leaves_the_session_as_it_was(target: str) -> None:
    with gf.Graph().as_default(), gf.Session(target) as session:
        with gf.device(SECOND):
            x = gf.placeholder(gf.int32, [])
            bad = gf.constant(1) // x
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        metadata = gf.RunMetadata()
        with pytest.raises(gf.errors.InvalidArgumentError):
            session.run(bad, {x: 0}, options=options, run_metadata=metadata)
        assert session.run(bad, {x: 1}, options=options, run_metadata=metadata) == 1
        assert [n.op for n in metadata.step_stats.nodes() if n.op != "Const"] == ["FloorDiv"]
        assert session.run(bad, {x: 1}) == 1


def test_times_of_another_clock_are_moved_by_half_the_way_there_and_back() -> None:
    # The other clock is 5,000 ahead; the way takes 100 there and 300 back; it works for 1,000.
    assert offset(10_000, 15_100, 16_100, 11_400, False) == (-4_900, 201)
    # Clocks said to be one are believed to be, unless the times say that they cannot.
    assert offset(10_000, 10_100, 11_100, 11_400, True) == (0, 0)
    assert offset(10_000, 15_100, 16_100, 11_400, True) == (-4_900, 201)


def test_tasks_on_machines_with_clocks_of_their_own_come_on_one_timeline() -> None:
    def trace(task: str, ahead: int, begun: int) -> dict[str, Any]:
        node = [
            "op",
            "Mul",
            f"{task}/device:CPU:0",
            ahead + begun + 10,
            20,
            7,
            [["float32", [2], 8]],
            "numpy",
            [],
        ]
        return {
            "task": task, "clock": task, "begun": ahead + begun, "ended": ahead + begun + 100, "nodes": [node],
            "waits": [[0, ahead + begun, 5]] if task == "b" else [],
            "sends": [[0, ahead + begun + 40, 8]] if task == "a" else [], "dropped": 0,
            "sent": 1_000_000 + begun - 50, "received": 1_000_000 + begun + 150, "master": "m",
            "master_begun": 1_000_000, "master_clock": "m",
        }  # fmt: skip

    traces = [trace("a", 7_000_000, 1000), trace("b", -9_000_000, 2000)]
    edges = {0: ("v:0", "a/device:CPU:0", "b/device:CPU:0")}
    found = merged(traces, edges, 500_000, 502_150, 500_000)
    nodes = {(n.op, n.device[0]): n for n in found.nodes()}
    assert nodes["Mul", "a"].start_us == 1.01 and nodes["Mul", "b"].start_us == 2.01
    assert nodes["Send", "a"].node_name.removesuffix("send") == nodes["Recv", "b"].node_name.removesuffix(
        "recv"
    )
    assert set(found.clock_errors_us) == {"a", "b"} and all(
        0.05 <= e < 0.1 for e in found.clock_errors_us.values()
    )


def test_explain_shows_the_stages_of_each_task(target: str) -> None:
    with gf.Graph().as_default(), gf.Session(target) as session:
        _, step, _ = training_step()
        text = session.explain(step.op, ["x:0"])
    blocks = {part.splitlines()[0]: part for part in text.split("task /job:")[1:]}
    assert set(blocks) == {"ps/task:0", "worker/task:0", "worker/task:1"}
    assert "stage 1 of 2 on CPU:0" in blocks["ps/task:0"] and "AssignSub" in blocks["ps/task:0"]
    assert "send w:0 to /job:worker/task:1" in blocks["ps/task:0"]
    assert (
        "receive w:0 from /job:ps/task:0" in blocks["worker/task:1"] and "feed x:0" in blocks["worker/task:1"]
    )
    assert "stage on CPU:0" in blocks["worker/task:0"]
    assert text.count("Tanh(") == 2

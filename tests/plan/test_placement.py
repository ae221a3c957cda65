"""Protects where branches and loops run: where the user asked, as a whole, and the gradient of a loop with the loop."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf
from graphflow._core.plan.lower import lower
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.passes.placement import place


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def placed(fetch: Any, kinds: tuple[str, ...]) -> dict[str, list[str]]:
    """The last character of the devices of the constructs of these kinds, with those of what is inside, by name."""
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 3})) as session:
        plan, _ = session.plan(fetch, [])
    return {
        i.name: [i.device[-1], *(j.device[-1] for body in i.bodies for j in body.instructions)]
        for i in plan.instructions
        if i.type in kinds
    }


def test_a_loop_runs_where_it_was_built() -> None:
    with gf.device("/cpu:1"):
        count = gf.while_loop(lambda i: i < 5, lambda i: i + 1, [gf.placeholder(gf.int32, [])], name="count")
    assert {name: set(where) for name, where in placed(count, ("While",)).items()} == {"count": {"1"}}


def test_a_branch_runs_where_it_was_built_and_not_where_its_predicate_is() -> None:
    x = gf.placeholder(gf.float32, [])
    with gf.device("/cpu:1"):
        positive = x > 0.0
    with gf.device("/cpu:2"):
        root = gf.cond(positive, lambda: gf.sqrt(x), lambda: -x, name="root")
    assert {name: set(where) for name, where in placed(root, ("If",)).items()} == {"root": {"2"}}


def test_a_loop_without_a_device_runs_where_its_body_asks_to() -> None:
    def body(i: Any) -> Any:
        with gf.device("/cpu:2"):
            return i + 1

    count = gf.while_loop(lambda i: i < 5, body, [gf.placeholder(gf.int32, [])], name="inside")
    assert set(placed(count, ("While",))["inside"]) == {"2"}


@pytest.mark.parametrize("nested", [False, True])
def test_the_gradient_of_a_loop_runs_where_the_loop_does(nested: bool) -> None:
    x = gf.placeholder(gf.float32, [], name="x")

    def body(v: Any) -> Any:
        return gf.cond(v > 3.0, lambda: v * x, lambda: v * x * x) if nested else v * x

    with gf.device("/cpu:1"):
        power = gf.while_loop(lambda v: v < 10.0, body, [x])
    gradient = gf.gradients(power, x)[0]
    found = placed(gradient, ("While",))
    assert len(found) == 2 and {device for where in found.values() for device in where} == {"1"}
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 3})) as session:
        assert session.run(gradient, {x: 2.0}) == 32.0  # x to the fourth power, or to the fifth less one.


TASKS = [
    "/job:worker/replica:0/task:1",
    "/job:worker/replica:0/task:0",
    "/job:ps/replica:0/task:10",
    "/job:ps/replica:0/task:2",
]


def on_a_cluster(fetches: Any, gpus: tuple[str, ...] = ()) -> dict[str, str]:
    """The devices that a plan's instructions get in a session on the first of the tasks, by name."""
    names = [f"{task}/device:CPU:0" for task in TASKS] + [f"{task}/device:GPU:0" for task in gpus]
    plan = place(
        lower(fetches, [], []), PassContext(names, lambda op_type, kind: True, default_task=TASKS[0])
    )
    return {i.name: i.device for i in plan.instructions}


def test_what_all_clients_share_is_in_the_first_task_by_name() -> None:
    v = gf.Variable(1.0)
    local = gf.Variable(1.0, collections=[gf.GraphKeys.LOCAL_VARIABLES])
    with gf.device("/cpu:0"):
        w = gf.Variable(1.0)
    with gf.device("/job:worker/task:0"):
        u = gf.Variable(1.0)
    queue = gf.FIFOQueue(3, [gf.float32])
    element = queue.dequeue()
    y = gf.add_n([v + 0.0, w + 0.0, u + 0.0, local + 0.0, element])
    found = on_a_cluster([y])
    shared = (v.op, w.op, queue.queue_ref.op, element.op)
    assert [found[op.name] for op in shared] == ["/job:ps/replica:0/task:2/device:CPU:0"] * 4
    assert found[u.op.name] == "/job:worker/replica:0/task:0/device:CPU:0"
    assert found[local.op.name] == found[y.op.name] == "/job:worker/replica:0/task:1/device:CPU:0"


def test_of_the_tasks_that_have_the_device_it_is_the_first() -> None:
    with gf.device("/gpu:0"):
        v = gf.Variable(1.0, name="v")
    found = on_a_cluster([v + 0.0], gpus=(TASKS[0], TASKS[1]))
    assert found[v.op.name] == "/job:worker/replica:0/task:0/device:GPU:0"

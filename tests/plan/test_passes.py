"""Protects each pass over plans as a function of its own: what it changes, and what it must leave alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.kernels import registry
from graphflow._core.plan import partition, pipeline
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.plan.lower import lower
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.passes import fold, initializers, merge, order, placement, prune, simplify, snapshot
from graphflow._core.plan.verify import verify

DEVICES = tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(2))


def evaluate(instruction: Instruction, inputs: Sequence[Any]) -> Sequence[Any]:
    factory = registry.factory(instruction.type)
    assert factory is not None
    result = factory(instruction)(*inputs)
    return result if len(instruction.outputs) > 1 else (result,)


CONTEXT = PassContext(DEVICES, lambda op_type, device: op_type != "Nowhere", False, evaluate)


@pytest.fixture(autouse=True)
def graph() -> Any:
    registry.load()
    with gf.Graph().as_default() as made:
        yield made


def planned(*fetches: Any, feeds: Sequence[Any] = ()) -> Plan:
    tensors = [gf.get_default_graph().as_graph_element(f) for f in fetches]
    plan = lower(
        [t for t in tensors if isinstance(t, gf.Tensor)],
        [t for t in tensors if isinstance(t, gf.Operation)],
        feeds,
    )
    return placement.place(plan, CONTEXT)


def types(plan: Plan) -> list[str]:
    return [i.type for i in plan.instructions]


def names(plan: Plan) -> list[str]:
    return [i.name for i in plan.instructions]


# ---- lowering -----------------------------------------------------------------------------------------------------


def test_lowering_takes_what_is_needed_and_stops_at_what_is_fed() -> None:
    x = gf.placeholder(gf.float32, name="x")
    y = gf.exp(x, name="y")
    z = gf.add(y, 1.0, name="z")
    gf.sqrt(z, name="unused")
    assert names(planned(z)) == ["x", "y", "z/y", "z"]
    assert names(planned(z, feeds=[y])) == ["z/y", "z"]
    assert planned(z, feeds=[y]).feeds == ("y:0",)


def test_lowering_nests_branches_and_loops() -> None:
    p, x = gf.placeholder(gf.bool, [], name="p"), gf.placeholder(gf.float32, [], name="x")
    taken = gf.cond(p, lambda: x + 1.0, lambda: gf.while_loop(lambda i: i < 3.0, lambda i: i * x, [x]))
    plan = planned(taken, feeds=[p, x])
    (branch,) = [i for i in plan.instructions if i.type == "If"]
    assert types(branch.bodies[0])[-1] in ("Add", "AddV2")
    (loop,) = [i for i in branch.bodies[1].instructions if i.type == "While"]
    assert "Less" in types(loop.bodies[0]) and "Mul" in types(loop.bodies[1])
    assert not {i.type for i in walk(plan)} & {
        "Switch",
        "Merge",
        "Enter",
        "Exit",
        "NextIteration",
        "LoopCond",
    }
    verify(plan, "lower")


# ---- placement ----------------------------------------------------------------------------------------------------


def test_placement_completes_names_and_follows_variables() -> None:
    with gf.device("/cpu:1"):
        v = gf.Variable(1.0, name="v")
    far = v.assign_add(2.0)
    near = gf.constant(1.0, name="near")
    with gf.get_default_graph().colocate_with(v.op):
        beside = gf.identity(near, name="beside")
    devices = {i.name: i.device for i in planned(far, near, beside).instructions}
    assert devices["v"] == devices[far.op.name] == devices["beside"] == DEVICES[1]
    assert devices["near"] == DEVICES[0]


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("/cpu:7", ["no such device", "CPU:1", "allow_soft_placement"]),
        ("/gpu:0", ["no such device", "nearest"]),
        ("/job:ps/task:0", ["no such job or task", "localhost"]),
    ],
)
def test_a_device_that_is_not_there_is_explained(device: str, words: list[str]) -> None:
    with gf.device(device):
        x = gf.constant(1.0, name="lost")
    with pytest.raises(gf.errors.InvalidArgumentError) as caught:
        planned(x)
    for word in [*words, "lost", device.removeprefix("/").split(":")[0], "test_passes.py"]:
        assert word in str(caught.value) or word in str(caught.value).lower()


def test_what_hands_handles_to_each_other_goes_to_one_device() -> None:
    with gf.device("/cpu:1"):
        queue = gf.FIFOQueue(2, gf.float32, [[]])
    enqueue, size = queue.enqueue(gf.constant(2.0)), queue.size()
    with gf.device("/cpu:1"):
        iterator = gf.data.Dataset.range(3).batch(2).make_initializable_iterator()
    following = iterator.get_next()
    placed = {
        i.type: i.device[-1] for i in planned(enqueue, size, iterator.initializer, following).instructions
    }
    joined = ("FIFOQueueV2", "QueueEnqueueV2", "QueueSizeV2", "IteratorV2", "MakeIterator", "IteratorGetNext")
    assert [placed[kind] for kind in (*joined, "RangeDataset", "BatchDatasetV2")] == ["1"] * 8


def test_soft_placement_takes_another_device_of_the_task() -> None:
    with gf.device("/cpu:7"):
        x = gf.constant(1.0)
    soft = PassContext(DEVICES, CONTEXT.has_kernel, True, evaluate)
    (placed,) = placement.place(lower([x], [], []), soft).instructions
    assert placed.device == DEVICES[0]


def test_a_construct_goes_to_the_variable_that_it_changes() -> None:
    with gf.device("/cpu:1"):
        v = gf.Variable(1.0, name="v")
    with gf.device("/cpu:0"):
        w = gf.Variable(1.0, name="w")
    p = gf.placeholder(gf.bool, [], name="p")
    one = gf.cond(p, lambda: v.assign_add(1.0), lambda: gf.constant(0.0))
    (branch,) = [i for i in planned(one, feeds=[p]).instructions if i.type == "If"]
    assert branch.device == DEVICES[1]
    both = gf.cond(p, lambda: v.assign_add(1.0), lambda: w.assign_add(1.0))
    with pytest.raises(gf.errors.InvalidArgumentError, match="several devices"):
        planned(both, feeds=[p])


# ---- folding ------------------------------------------------------------------------------------------------------


def test_constants_are_folded_but_not_what_is_fed_or_waits() -> None:
    a, b = gf.constant(2.0, name="a"), gf.constant(3.0, name="b")
    product = gf.multiply(a, b, name="product")
    with gf.control_dependencies([gf.no_op(name="first")]):
        waits = gf.add(a, b, name="waits")
    plan = fold.fold(planned(product, waits), CONTEXT)
    found = {i.name: i for i in plan.instructions}
    assert found["product"].type == "Const" and found["product"].attrs["value"] == 6.0
    assert found["waits"].type != "Const"
    fed = fold.fold(planned(product, a.op, feeds=[a]), CONTEXT)
    assert {i.name: i.type for i in fed.instructions}["product"] == "Mul"


def test_what_fails_while_it_is_folded_is_left_to_the_run() -> None:
    bad = gf.floordiv(gf.constant(1), gf.constant(0), name="bad")
    assert {i.name: i.type for i in fold.fold(planned(bad), CONTEXT).instructions}["bad"] == "FloorDiv"


def test_large_results_are_not_folded() -> None:
    big = gf.fill([600, 600], 1.0, name="big")
    assert {i.name: i.type for i in fold.fold(planned(big), CONTEXT).instructions}["big"] == "Fill"


# ---- simplification -----------------------------------------------------------------------------------------------


def test_neutral_operations_become_their_operand() -> None:
    x = gf.placeholder(gf.float32, [3], name="x")
    for built in (x * 1.0, 1.0 * x, x / 1.0, x - 0.0, gf.negative(-x)):
        plan = simplify.simplify(planned(built), CONTEXT)
        last = next(i for i in plan.instructions if built.name in i.outputs)
        assert (last.type, last.inputs) == ("Identity", ("x:0",))
        assert last.definition is not None and last.definition.name == "Identity"


def test_adding_zero_is_kept_for_the_sign_of_zero() -> None:
    x = gf.placeholder(gf.float32, [3], name="x")
    plan = simplify.simplify(planned(x + 0.0), CONTEXT)
    assert plan.instructions[-1].type in ("Add", "AddV2")


def test_a_simplification_does_not_lose_what_came_first() -> None:
    x = gf.placeholder(gf.float32, [3], name="x")
    with gf.control_dependencies([gf.no_op()]):
        waiting_one = gf.constant(1.0)
        inner = -x
    for built in (x * waiting_one, -inner):
        plan = simplify.simplify(planned(built), CONTEXT)
        assert next(i for i in plan.instructions if built.name in i.outputs).type != "Identity"


def test_a_fed_value_is_not_looked_through() -> None:
    inner = gf.negative(gf.constant([1.0]), name="inner")
    plan = simplify.simplify(planned(-inner, inner.op, feeds=[inner]), CONTEXT)
    assert plan.instructions[-1].type == "Neg" and plan.instructions[-1].inputs == ("inner:0",)


def test_a_variable_is_not_renamed() -> None:
    v = gf.Variable([1.0])
    plan = simplify.simplify(planned(v * 1.0), CONTEXT)
    assert "Mul" in types(plan)


# ---- common subexpressions ----------------------------------------------------------------------------------------


def test_what_is_computed_twice_is_merged() -> None:
    x = gf.placeholder(gf.float32, [3])
    total = gf.exp(x) + gf.exp(x)
    plan = merge.merge_common(planned(total, feeds=[x]), CONTEXT)
    assert types(plan).count("Exp") == 1
    assert len(set(plan.instructions[-1].inputs)) == 1


def test_random_numbers_reads_and_fed_results_are_not_merged() -> None:
    v = gf.Variable([1.0])
    noise = gf.random_uniform([2]) + gf.random_uniform([2])
    reads = gf.identity(v) + gf.identity(v)
    one, twin = gf.constant(1.0), gf.constant(1.0)
    plan = merge.merge_common(planned(noise, reads, one + 7.0, one.op, twin * 3.0, feeds=[one]), CONTEXT)
    assert types(plan).count("RandomUniform") == 2
    assert types(plan).count("Identity") == 2
    assert not [i.name for i in plan.instructions if one.name in i.inputs and not i.name.startswith("add")]


# ---- pruning ------------------------------------------------------------------------------------------------------


def test_what_rewriting_left_behind_is_dropped() -> None:
    x = gf.placeholder(gf.float32, [3])
    plan = simplify.simplify(planned(gf.negative(-x), feeds=[x]), CONTEXT)
    assert types(prune.prune(plan, CONTEXT)) == ["Identity"]


def test_what_runs_for_its_effect_or_order_is_kept() -> None:
    x = gf.placeholder(gf.float32, [3])
    v = gf.Variable(1.0)
    with gf.control_dependencies([gf.exp(x, name="first")]):
        update = v.assign(2.0)
    plan = planned(update.op, feeds=[x])
    assert prune.prune(plan, CONTEXT) is plan


# ---- order --------------------------------------------------------------------------------------------------------


def test_reads_come_before_writes_whatever_was_built_or_fetched_first() -> None:
    v = gf.Variable(1.0, name="v")
    write = v.assign(5.0, name="write")
    later = v.assign_add(1.0, name="later")
    read = gf.exp(gf.negative(v, name="near"), name="read")
    for fetches in ([write, read, later], [later, read, write]):
        found = names(order.order(planned(*fetches), CONTEXT))
        assert found.index("read") < found.index("write") < found.index("later")


def test_control_dependencies_are_stronger_than_the_rule() -> None:
    v = gf.Variable(1.0, name="v")
    write = v.assign(5.0, name="write")
    with gf.control_dependencies([write]):
        read = gf.negative(v, name="read")
    found = names(order.order(planned(read, write), CONTEXT))
    assert found.index("write") < found.index("read")


def test_a_cycle_is_an_error_that_names_it() -> None:
    x = gf.placeholder(gf.float32, name="x")
    a = gf.negative(x, name="a")
    b = gf.negative(a, name="b")
    a.op.add_control_inputs([b.op])
    with pytest.raises(ValueError, match=r"cycle.*a, b"):
        order.order(planned(b, feeds=[x]), CONTEXT)


# ---- initialisers -------------------------------------------------------------------------------------------------


def test_initialisers_run_in_the_order_of_their_dependencies() -> None:
    last = gf.Variable(gf.constant(0.0), name="last")
    with gf.Graph().as_default():
        pass
    first = gf.Variable(gf.constant(3.0), name="first")
    middle = gf.Variable(gf.exp(first * 2.0), name="middle")
    end = gf.Variable(first + middle.read_value() + gf.identity(middle), name="end")
    init = gf.variables_initializer([end, middle, first, last])
    plan = initializers.order_initializers(planned(init), CONTEXT)
    found = names(order.order(plan, CONTEXT))
    assert found.index("first/Assign") < found.index("middle/Assign") < found.index("end/Assign")
    with gf.Session() as session:
        session.run(init)
        assert session.run(end) == pytest.approx(3.0 + 2.0 * np.exp(6.0))


def test_initialisers_that_read_through_a_branch() -> None:
    end = []
    first = gf.Variable(gf.random_uniform([]), name="first")
    end.append(gf.Variable(first.initialized_value() * 2.0, name="twice"))
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        one, two = session.run([first, end[0]])
    assert two == one * 2.0


def test_a_circle_of_initial_values_is_named() -> None:
    a = gf.Variable(1.0, name="a")
    b = gf.Variable(a + 1.0, name="b")
    a.initializer.update_input(1, gf.identity(b))
    with gf.Session() as session, pytest.raises(gf.errors.FailedPreconditionError) as caught:
        session.run(gf.global_variables_initializer())
    assert "circle" in str(caught.value) and "a:0 needs b:0" in str(caught.value)
    assert "test_passes.py" in str(caught.value)


def test_what_is_no_initial_value_still_reads_first() -> None:
    a = gf.Variable(1.0, name="a")
    b = gf.Variable(a + 1.0, name="b")
    other = gf.negative(a, name="other")
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(a.assign(9.0))
        assert session.run([other, a.initializer, b.initializer])[0] == -9.0
        assert session.run([a, b]) == [1.0, 2.0]


# ---- fetched variables --------------------------------------------------------------------------------------------


def test_a_fetched_variable_tells_the_state_after_the_write() -> None:
    v = gf.Variable(1.0, name="v")
    step = v.assign_add(1.0)
    plan = snapshot.snapshot_fetches(planned(v, step.op), CONTEXT)
    assert plan.fetches == ("v/fetched:0",)
    assert snapshot.snapshot_fetches(planned(v), CONTEXT).fetches == ("v:0",)
    with gf.Session() as session:
        session.run(v.initializer)
        assert session.run([step.op, v, v.value(), v * 1.0, step])[1:] == [2.0, 2.0, 1.0, 2.0]


def test_a_fetched_value_that_a_write_waits_for_is_that_before_it() -> None:
    v = gf.Variable(1.0, name="v")
    before = gf.identity(v)
    with gf.control_dependencies([before]):
        step = v.assign_add(1.0)
    with gf.control_dependencies([step]):
        between = v.read_value()
    with gf.control_dependencies([between]):
        last = v.assign_add(1.0)
    with gf.Session() as session:
        session.run(v.initializer)
        assert session.run([before, between, v, last]) == [1.0, 2.0, 3.0, 3.0]


def test_a_variable_that_a_branch_writes_is_fetched_after_it() -> None:
    v = gf.Variable(1.0, name="v")
    counted = gf.cond(v < 5.0, lambda: v.assign_add(1.0), lambda: gf.constant(0.0))
    other = v + 0.0
    with gf.Session() as session:
        session.run(v.initializer)
        assert session.run([v, counted.op, other]) == [2.0, None, 1.0]


def test_the_global_step_that_a_step_fetches_counts_that_step() -> None:
    v = gf.Variable(1.0, name="v")
    step = gf.train.get_or_create_global_step()
    train = gf.train.GradientDescentOptimizer(0.25).minimize(gf.square(v), step)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        for count in range(1, 4):
            assert session.run([step, train, v])[::2] == [count, 0.5**count]


# ---- partition ----------------------------------------------------------------------------------------------------


def test_each_device_gets_its_part() -> None:
    with gf.device("/cpu:0"):
        a = gf.negative(gf.placeholder(gf.float32, [2], name="x"), name="a")
    with gf.device("/cpu:1"):
        b = gf.exp(a, name="b")
    plan = order.order(planned(a, b, feeds=[a.op.inputs[0]]), CONTEXT)
    cut = partition.partition(plan, DEVICES[0])
    assert cut.fetch_devices == DEVICES
    assert types(cut.parts[DEVICES[0]]) == ["Neg", "Send"]
    assert types(cut.parts[DEVICES[1]]) == ["Recv", "Exp"]
    (send,) = [i for i in cut.parts[DEVICES[0]].instructions if i.type == "Send"]
    (recv,) = [i for i in cut.parts[DEVICES[1]].instructions if i.type == "Recv"]
    assert send.attrs["key"] == recv.attrs["key"]
    assert cut.parts[DEVICES[1]].instructions[1].inputs == recv.outputs
    assert partition.partition(planned(a, feeds=[a.op.inputs[0]]), DEVICES[0]).parts.keys() == {DEVICES[0]}


def test_each_state_of_a_variable_is_sent_for_itself() -> None:
    with gf.device("/cpu:0"):
        v = gf.Variable(1.0, name="v")
        write = v.assign(2.0)
    with gf.device("/cpu:1"):
        before = gf.exp(v)
        with gf.control_dependencies([write]):
            after = gf.negative(v)
    cut = partition.partition(order.order(planned(before, after), CONTEXT), DEVICES[0])
    sends = [i.attrs["key"][0] for i in cut.parts[DEVICES[0]].instructions if i.type == "Send"]
    assert sorted(sends) == sorted(["v:0", f"^{write.op.name}", "v:0#1"])


# ---- the whole ----------------------------------------------------------------------------------------------------


def test_every_pass_leaves_a_plan_that_can_be_right() -> None:
    x = gf.placeholder(gf.float32, [4, 3], name="x")
    w = gf.Variable(np.ones((3, 2), np.float32), name="w")
    hidden = gf.nn.relu(gf.matmul(x, w) * 1.0)
    kept = gf.cond(gf.reduce_sum(hidden) > 0.0, lambda: hidden * 2.0, lambda: gf.negative(-hidden))
    loop = gf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + kept * w[0, 0]), [0, kept])[1]
    loss = gf.reduce_mean(gf.square(loop))
    step = gf.train.AdamOptimizer().minimize(loss)
    seen: list[str] = []

    def watch(name: str, plan: Plan) -> None:
        seen.append(name)
        verify(plan, name)

    with gf.Session() as session:
        plan, _ = session.plan([loss, step, w], [x], watch)
        session.run(gf.global_variables_initializer())
        first = session.run([loss, step], {x: np.ones((4, 3))})[0]
        assert session.run(loss, {x: np.ones((4, 3))}) < first
    assert seen == ["lower", *[p.__name__ for p in pipeline.PASSES]]
    assert "While" in str(plan) and "return" in str(plan)

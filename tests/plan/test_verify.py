"""Protects verify(): it accepts what every pass makes, and tells what a wrong pass would have made."""

from collections.abc import Callable
from dataclasses import replace

import pytest

import graphflow as gf
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.verify import verify


def branches_and_loops() -> list[gf.Tensor | gf.Operation]:
    x = gf.placeholder_with_default(2.0, [])
    weight = gf.Variable(1.5)
    with gf.device("/cpu:1"):
        root = gf.cond(x > 0.0, lambda: gf.sqrt(x) * weight, lambda: -x)
    _, product = gf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * root), [0, 1.0])
    nested = gf.while_loop(
        lambda i: i < 3, lambda i: gf.cond(i > 1, lambda: i + 2, lambda: i + 1), [gf.constant(0)]
    )
    gradient = gf.gradients(product, weight)[0]
    with gf.control_dependencies([product]):
        step = weight.assign_sub(0.1 * gradient).op
    return [product, nested, gradient, step]


def training() -> list[gf.Tensor | gf.Operation]:
    gf.set_random_seed(1)
    images = gf.random_normal([4, 5])
    weights = gf.get_variable("weights", [5, 3])
    logits = gf.nn.dropout(gf.matmul(images * 1.0, weights), keep_prob=0.5)
    loss = gf.losses.softmax_cross_entropy(gf.one_hot([0, 1, 2, 0], 3), logits)
    parts = gf.split(gf.transpose(gf.transpose(logits)), 3, axis=1)
    return [loss, gf.train.AdamOptimizer().minimize(loss), parts[1], gf.global_variables_initializer()]


def fed_under_another_name() -> list[gf.Tensor | gf.Operation]:
    x, lengths = (
        gf.placeholder(gf.float32, [2, 5, 3], name="x"),
        gf.placeholder(gf.int32, [2], name="lengths"),
    )
    outputs, _ = gf.nn.dynamic_rnn(
        gf.nn.rnn_cell.GRUCell(4), x, sequence_length=gf.identity(lengths), dtype=gf.float32
    )
    root = gf.cond(gf.identity(lengths)[0] > 1, lambda: gf.identity(x) * 2.0, lambda: -gf.identity(x))
    return [outputs, *gf.gradients([outputs, root], x)]


@pytest.mark.parametrize("build", [branches_and_loops, training, fed_under_another_name])
def test_every_pass_makes_a_right_plan(build: Callable[[], list[gf.Tensor | gf.Operation]]) -> None:
    with gf.Graph().as_default():
        fetches = build()
        passes: list[str] = []

        def watch(name: str, plan: Plan) -> None:
            verify(plan, name)
            passes.append(name)

        with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
            fed = [
                op.outputs[0] for op in gf.get_default_graph().get_operations() if op.type == "Placeholder"
            ]
            session.plan(fetches, fed, watch)
    assert passes[0] == "lower"
    assert passes[-2:] == ["order", "share_reads"]


def without_its_maker(plan: Plan) -> Plan:
    return plan.with_instructions([i for i in plan.instructions if i.name != "product"])


def twice(plan: Plan) -> Plan:
    return plan.with_instructions([*plan.instructions, plan.instructions[-1]])


def backwards(plan: Plan) -> Plan:
    return plan.with_instructions(plan.instructions[::-1])


def without_a_shape(plan: Plan) -> Plan:
    return plan.with_instructions(
        [replace(i, shapes=()) if i.name == "product" else i for i in plan.instructions]
    )


def value_for_variable(plan: Plan) -> Plan:
    return plan.with_instructions(
        [replace(i, inputs=("x:0", i.inputs[1])) if i.name == "step" else i for i in plan.instructions]
    )


def lost_fetch(plan: Plan) -> Plan:
    return replace(plan, fetches=("nowhere:0",))


def input_beside_its_bodies(plan: Plan) -> Plan:
    return plan.with_instructions(
        [
            replace(i, inputs=tuple(n for n in i.inputs if n != "x:0")) if i.bodies else i
            for i in plan.instructions
        ]
    )


def one_branch_short(plan: Plan) -> Plan:
    return plan.with_instructions(
        [
            replace(i, bodies=(replace(i.bodies[0], fetches=()), i.bodies[1])) if i.type == "If" else i
            for i in plan.instructions
        ]
    )


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (without_its_maker, "takes 'product:0', which nothing makes"),
        (twice, "a second instruction has this name"),
        (backwards, "which is made later"),
        (without_a_shape, "1 outputs, 1 dtypes and 0 shapes"),
        (value_for_variable, "its input 'x:0' must be a variable"),
        (lost_fetch, "'nowhere:0' is fetched, but nothing makes it"),
        (input_beside_its_bodies, "its bodies use 'x:0', which is not among its inputs"),
        (one_branch_short, "each branch must hand out 1 values"),
    ],
)
def test_mistake_is_told(mistake: Callable[[Plan], Plan], message: str) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [], name="x")
        variable = gf.Variable(1.0)
        product = gf.multiply(x, variable, name="product")
        step = gf.assign_add(variable, gf.cond(product > 1.0, lambda: product, lambda: x), name="step")
        with gf.Session() as session:
            plan, _ = session.plan(step, [x])
    verify(plan, "order")
    with pytest.raises(gf.errors.InternalError, match=r"after the pass 'order'") as caught:
        verify(mistake(plan), "order")
    assert message in caught.value.message

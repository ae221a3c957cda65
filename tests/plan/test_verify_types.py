"""Protects what verify() infers again: dtypes and shapes after every pass, wherever a plan is made."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import lookup
from graphflow._core.ops import load_all
from graphflow._core.plan import inference, pipeline
from graphflow._core.plan.found_right import RIGHT
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.verify import VARIABLE, Verifier

load_all()  # The mistakes name ops that no test before may have used.


def changed(plan: Plan, name: str, change: dict[str, Any]) -> Plan:
    """The plan with another instruction of that name, in whichever body it is."""
    return plan.with_instructions(
        [
            replace(i, **{**change, "attrs": {**i.attrs, **change.get("attrs", {})}})
            if i.name == name
            else replace(i, bodies=tuple(changed(body, name, change) for body in i.bodies))
            for i in plan.instructions
        ]
    )


MISTAKES: list[tuple[str, dict[str, Any], str]] = [
    ("sum", {"dtypes": (dtypes.float64,)}, "'sum:0' is float64, and its definition float32"),
    ("sum", {"shapes": ((7, 3),)}, r"'sum:0' has the shape \(5, 3\), and now \(7, 3\)"),
    ("sum", {"shapes": ((5, None),)}, r"'sum:0' has the shape \(5, 3\), and now \(5, \?\)"),
    ("sum", {"shapes": (None,)}, r"'sum:0' has the shape \(5, 3\), and now <unknown>"),
    ("sum", {"inputs": ("count:0", "product:0")}, "its input 'y' is float32, which must be int32"),
    ("sum", {"inputs": ("wide:0", "wide:0")}, r"has the shape \(5, 3\), and its definition \(5, 7\)"),
    ("sum", {"inputs": ("wide:0", "product:0")}, "its definition refuses its inputs"),
    ("turned", {"inputs": ("wide:0", "turned/perm:0")}, r"shape \(5, 4\), and its definition \(7, 5\)"),
    ("product", {"attrs": {"transpose_a": True}}, "its definition refuses its inputs"),
    ("sum", {"inputs": ("product:0",)}, "cannot do with its 1 inputs and attributes: IndexError"),
    ("product", {"inputs": ()}, "its definition refuses its inputs: not enough values"),
    ("product", {"definition": lookup("Add")}, "its definition refuses its inputs"),
    ("sum", {"definition": lookup("Less")}, "'sum:0' is float32, and its definition bool"),
    ("cond", {"shapes": ((2,),)}, r"'cond/Merge:0' has the shape \(5, 3\), and now \(2,\)"),
    ("cond", {"dtypes": (dtypes.int32,)}, "is int32, and hands out 'cond/twice:0', float32"),
    ("cond/twice", {"definition": lookup("LogicalAnd")}, "its input 'x' is float32, which must be bool"),
    ("loop/step", {"dtypes": (dtypes.int64,)}, "'loop/step:0' is int64, and its definition int32"),
]


def program() -> tuple[list[gf.Tensor], list[gf.Tensor]]:
    """A graph with the instructions that the mistakes are made in; what is fetched and what is fed."""
    x = gf.placeholder(gf.float32, [4, 5], name="x")
    count = gf.placeholder(gf.int32, [], name="count")
    wide = gf.placeholder(gf.float32, [5, 7], name="wide")
    turned = gf.transpose(x, name="turned")
    product = gf.matmul(turned, gf.ones([4, 3]), name="product")
    total = gf.add(product, 1.0, name="sum")
    branch = gf.cond(count > 0, lambda: gf.multiply(total, 2.0, name="twice"), lambda: -total, name="cond")
    loop = gf.while_loop(lambda i: i < count, lambda i: gf.add(i, 1, name="step"), [0], name="loop")
    return [branch, loop, wide * 2.0], [x, count, wide]


@pytest.fixture
def by_itself(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody asks for verified plans but the test."""
    monkeypatch.delenv(VARIABLE, raising=False)
    with gf.Graph().as_default():
        yield


@pytest.mark.parametrize(("name", "change", "message"), MISTAKES, ids=range(len(MISTAKES)))
@pytest.mark.parametrize("after", ["place", "prune", "order"])
def test_a_pass_that_says_what_cannot_be_is_named(
    by_itself: None, after: str, name: str, change: dict[str, Any], message: str
) -> None:
    fetches, feeds = program()

    def broken(plan: Plan, ctx: PassContext) -> Plan:
        return changed(getattr(pipeline, after)(plan, ctx), name, change)

    broken.__name__ = after
    passes = tuple(broken if p.__name__ == after else p for p in pipeline.PASSES)
    with gf.Session() as session:
        session.plan(fetches, feeds, Verifier())
        with patch.object(pipeline, "PASSES", passes):
            session.plan(fetches, feeds)
            with pytest.raises(gf.errors.InternalError, match=f"after the pass '{after}'.*{message}"):
                session.plan(fetches, feeds, Verifier())


def test_a_pass_keeps_what_is_said_of_the_feeds(by_itself: None) -> None:
    fetches, feeds = program()
    with gf.Session() as session:
        plan, _ = session.plan(fetches, feeds)
    assert [(dtype.name, dims) for dtype, dims in plan.feed_types] == [
        ("float32", (4, 5)), ("int32", ()), ("float32", (5, 7)),
    ]  # fmt: skip
    verifier = Verifier()
    verifier("fold", plan)
    with pytest.raises(gf.errors.InternalError, match="after the pass 'mine': its feeds"):
        verifier("mine", replace(plan, feed_types=()))


def test_a_message_shows_the_neighbourhood(by_itself: None) -> None:
    fetches, feeds = program()
    with gf.Session() as session:
        plan, _ = session.plan(fetches, feeds)
    verifier = Verifier()
    verifier("fold", plan)
    with pytest.raises(gf.errors.InternalError) as caught:
        verifier("mine", changed(plan, "sum", {"dtypes": (dtypes.float64,)}))
    lines = caught.value.message.splitlines()
    assert "after the pass 'mine': Add 'sum': it says" in lines[0]
    assert f"Built at {__file__}:" in lines[0]
    assert [line for line in lines if line.startswith("  made by  product = MatMul(turned:0, ones")]
    assert [line for line in lines if line.startswith("  it is    sum = ")]
    assert [line for line in lines if line.startswith("  used by  cond = If(")]


def test_what_the_program_does_wrong_is_no_fault_of_a_pass(by_itself: None) -> None:
    """Folding finds out that what is asked for cannot be; it is the run that says so, with the user's line."""
    x = gf.placeholder(gf.float32, [None], name="x")
    size = gf.constant([2, 3]) * gf.cast(gf.constant([1.5, 1.5]) * 2.0, gf.int32)
    shaped = gf.reshape(gf.constant(np.arange(5.0)), size, name="shaped")
    with gf.Session(config=gf.ConfigProto(verify_plans=True, compiled="never")) as session:
        assert list(session.run(x, {x: [1.0]})) == [1.0]
        with pytest.raises(gf.errors.InvalidArgumentError, match="shaped"):
            session.run(shaped)


def worse(plan: Plan, ctx: PassContext) -> Plan:
    """A pass that is wrong about every product."""
    return plan.with_instructions(
        [replace(i, dtypes=(dtypes.float64,)) if i.type == "Mul" else i for i in plan.instructions]
    )


def run_product(**options: Any) -> Any:
    x = gf.placeholder(gf.float32, [2], name="x")
    with gf.Session(config=gf.ConfigProto(compiled="never", **options)) as session:
        return session.run(x * 3.0, {x: [1.0, 2.0]})


def run_dataset(**options: Any) -> Any:
    numbers = gf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * 3.0)
    element = numbers.make_one_shot_iterator().get_next()
    with gf.Session(config=gf.ConfigProto(compiled="never", **options)) as session:
        return [session.run(element) for _ in range(2)]


@pytest.mark.parametrize("run", [run_product, run_dataset])
def test_a_session_verifies_its_plans_where_it_is_asked_to(by_itself: None, run: Callable[..., Any]) -> None:
    assert list(run(verify_plans=True)) == [3.0, 6.0]
    with patch.object(pipeline, "PASSES", (*pipeline.PASSES, worse)):
        run()
        with pytest.raises(gf.errors.InternalError, match="after the pass 'worse': Mul"):
            run(verify_plans=True)


def test_the_environment_asks_for_all_plans_of_a_process(
    by_itself: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with patch.object(pipeline, "PASSES", (*pipeline.PASSES, worse)):
        monkeypatch.setenv(VARIABLE, "0")
        run_product()
        monkeypatch.setenv(VARIABLE, "1")
        with pytest.raises(gf.errors.InternalError, match="after the pass 'worse': Mul"):
            run_product()


def test_a_cluster_verifies_plans_on_its_tasks_and_in_functions_there(by_itself: None) -> None:
    """A session asks the tasks too: what they make of a dataset's function is verified there."""
    server = gf.train.Server.create_local_server()
    numbers = gf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(lambda x: x * 3.0)
    iterator = numbers.make_initializable_iterator()
    element = iterator.get_next()
    asked = gf.ConfigProto(compiled="never", verify_plans=True)
    with gf.Session(server.target) as session, patch.object(pipeline, "PASSES", (*pipeline.PASSES, worse)):
        session.run(iterator.initializer)
        session.run(element)
    with gf.Session(server.target, config=asked) as session:
        session.run(iterator.initializer)
        assert session.run(element) == 3.0
        wrong = pytest.raises(gf.errors.InternalError, match="after the pass 'worse': Mul")
        with patch.object(pipeline, "PASSES", (*pipeline.PASSES, worse)), wrong:
            session.run(iterator.initializer)
            session.run(element)


def test_what_a_derivative_takes_from_a_nested_branch_is_handed_out(by_itself: None) -> None:
    """A value may be taken under the name that a cond inside its branch gave it; its branch must hand it out then."""
    x, predicate = gf.placeholder(gf.float64, [2], name="x"), gf.placeholder(gf.bool, [], name="predicate")
    y = gf.cond(
        predicate,
        lambda: gf.cond(gf.logical_not(predicate), lambda: gf.exp(x), lambda: x**3) * gf.sin(x),
        lambda: x**4,
    )
    derivatives = [y]
    for _ in range(3):
        derivatives += gf.gradients(derivatives[-1] * x, x)
    with gf.Session() as session:
        session.plan(derivatives, [x, predicate], Verifier())


def test_branches_of_a_second_derivative_hand_out_one_shape(by_itself: None) -> None:
    x = gf.placeholder(gf.float64, [2], name="x")
    y = gf.cond(gf.reduce_sum(x) > 0.0, lambda: x**4, lambda: gf.exp(x))
    (first,) = gf.gradients(y, x)
    (second,) = gf.gradients(first * first, x)
    with gf.Session() as session:
        session.plan(second, [x], Verifier())
        for start in ([1.0, 2.0], [-1.0, -2.0]):
            found = session.run(second, {x: start})
            at = np.array(start)
            expected = 2 * 4 * at**3 * 12 * at**2 if start[0] > 0 else 2 * np.exp(2 * at)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_a_pass_leaves_alone_is_not_inferred_again(by_itself: None) -> None:
    fetches, feeds = program()
    inferred: dict[str, int] = {}
    verifier, infer = Verifier(), inference.inferred

    def counting(op: inference.DescribedOperation, inputs: Sequence[gf.Tensor]) -> Any:
        inferred[passed[-1]] += 1
        return infer(op, inputs)

    def watch(name: str, plan: Plan) -> None:
        passed.append(name)
        inferred[name] = 0
        verifier(name, plan)

    passed: list[str] = []
    RIGHT.forget()
    with gf.Session() as session, patch.object(inference, "inferred", counting):
        plan, _ = session.plan(fetches, feeds, watch)
    assert inferred["lower"] >= len({(i.type, i.dtypes, i.shapes) for i in plan.instructions if not i.bodies})
    assert {name: count for name, count in inferred.items() if name in ("place", "prune", "order")} == {
        "place": 0, "prune": 0, "order": 0,
    }  # fmt: skip


def test_a_body_is_looked_at_again_if_what_it_takes_from_around_is_another(by_itself: None) -> None:
    around = gf.placeholder(gf.float32, [], name="around")
    fetch = gf.while_loop(
        lambda v: v < 9.0,
        lambda v: gf.cond(v > 1.0, lambda: gf.add(v, around * 1.0, name="inside"), lambda: v),
        [gf.constant(2.0)],
    )
    with gf.Session() as session:
        plan, _ = session.plan(fetch, [])
    verifier = Verifier()
    verifier("fold", plan)
    verifier("order", plan.with_instructions([replace(i) for i in plan.instructions]))
    value = np.array(1.0)
    other = {"type": "Const", "attrs": {"value": value, "dtype": gf.float64}, "dtypes": (gf.float64,)}
    with pytest.raises(gf.errors.InternalError, match=r"after the pass 'mine': Mul '.*must be float64"):
        verifier("mine", changed(plan, "around", {**other, "definition": lookup("Const")}))
    for gone in ("around", "while/cond/inside"):
        verifier = Verifier()
        verifier("fold", plan)
        without = [without_instruction(i, gone) for i in plan.instructions if i.name != gone]
        with pytest.raises(gf.errors.InternalError, match=f"after the pass 'mine': .*'{gone}:0'"):
            verifier("mine", plan.with_instructions(without))


def without_instruction(i: Instruction, name: str) -> Instruction:
    """The instruction without one that is inside its bodies."""
    bodies = tuple(
        body.with_instructions([without_instruction(b, name) for b in body.instructions if b.name != name])
        for body in i.bodies
    )
    return replace(i, bodies=bodies) if bodies else i

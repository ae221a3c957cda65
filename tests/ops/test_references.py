"""Protects references: what a write of a variable gives may be written again, whatever op takes it, on every tier and
device, through branches and loops; and what is no variable is refused when the graph is built.

What TensorFlow 1.15 answers stands in tests/oracle/cases/variables.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.graph.op_def import lookup, registry, variables_of
from graphflow._core.ops.core import apply
from tests.cluster.serving import serve_all, spec_of
from tests.ops import op_samples
from tests.ops.op_samples import samples

TAKE_REFS = sorted(n for n, d in registry().items() if d.takes_refs and n in op_samples.TABLE)
GIVE_REFS = sorted(n for n, d in registry().items() if d.gives_ref is not None and n in op_samples.TABLE)
"""Walked: an op that is added is tested."""
TIERS = ("never", "always")


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def built(op_type: str, passed_on: bool) -> tuple[Any, list[Any]]:
    """An op from its first sample, on variables or on what assigning them gives; and the variables."""
    sample, variables, values = samples(op_type, 1)[0], [], []
    for spec, value in zip(lookup(op_type).inputs, sample.inputs, strict=True):
        if spec.ref:
            start = value if not passed_on else np.zeros_like(value)
            variables.append(gf.Variable(start, trainable=False, dtype=gf.as_dtype(value.dtype)))
            values.append(gf.assign(variables[-1], value) if passed_on else variables[-1])
        else:
            values.append([gf.constant(v) for v in value] if spec.variadic else gf.constant(value))
    return apply(lookup(op_type), values, dict(sample.attrs)), variables


@pytest.mark.parametrize("op_type", TAKE_REFS)
def test_every_op_that_needs_a_variable_takes_what_a_write_gives(op_type: str) -> None:
    results = []
    for passed_on in (False, True):
        with gf.Graph().as_default():
            op, variables = built(op_type, passed_on)
            with gf.Session() as session:
                session.run(gf.global_variables_initializer())
                outputs = session.run(list(op.outputs) or op)
                results.append([outputs, session.run(variables)])
    for found, expected in zip(results[1], results[0], strict=True):
        for one, other in zip(found or (), expected or (), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("op_type", GIVE_REFS)
def test_what_every_write_gives_is_the_variable(op_type: str) -> None:
    op, variables = built(op_type, passed_on=False)
    again = gf.assign(op.outputs[0], gf.zeros_like(op.outputs[0]), validate_shape=False)
    assert variables_of(op.outputs[0]) == variables_of(again) == [variables[0]._ref()]
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        session.run(again)
        assert not np.any(session.run(variables[0]))


@contextmanager
def one_machine(tier: str) -> Iterator[tuple[gf.Session, Sequence[str]]]:
    config = gf.ConfigProto(compiled=tier, device_count={"CPU": 2})
    with gf.Session(config=config) as session:
        yield session, ("/cpu:0", "/cpu:1")


@contextmanager
def a_cluster(tier: str) -> Iterator[tuple[gf.Session, Sequence[str]]]:
    with ExitStack() as stack:
        spec = spec_of(stack, ps=2, worker=1)
        *_, worker = serve_all(stack, spec)
        session = stack.enter_context(gf.Session(worker.target, config=gf.ConfigProto(compiled=tier)))
        yield session, ("/job:ps/task:0", "/job:ps/task:1")


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("world", [one_machine, a_cluster])
def test_a_chain_of_writes_runs_in_order_where_its_variable_is(world: Any, tier: str) -> None:
    """Each write is asked to be where the variable is not, and takes what is computed there."""
    with gf.Graph().as_default(), world(tier) as (session, (home, elsewhere)):
        with gf.device(home):
            v = gf.Variable([2.0, 4.0, 6.0])
        with gf.device(elsewhere):
            u, factor = gf.Variable([1.0, 1.0, 1.0]), gf.placeholder(gf.float32, [])
            numbers = gf.exp(gf.assign_add(u, [0.0, 0.0, 0.0]) - 1.0) * factor
        first = gf.assign_add(v, numbers)
        chain = gf.scatter_max(gf.scatter_mul(gf.assign_sub(first, u), [0], [3.0]), [1, 2], [5.0, 5.0])
        beside = first * 100.0
        session.run(gf.global_variables_initializer())
        expected = np.array([2.0, 4.0, 6.0], np.float32)
        for turn in range(6):
            added = expected + turn
            expected = np.maximum((added - 1) * [3, 1, 1], [-np.inf, 5, 5]).astype(np.float32)
            result, seen = session.run([chain, beside], {factor: float(turn)})
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(seen, added * 100)
            np.testing.assert_array_equal(session.run(v), expected)


@pytest.mark.parametrize("tier", TIERS)
def test_a_reference_goes_into_a_branch_and_a_loop_and_out_of_a_branch(tier: str) -> None:
    v, decision = gf.Variable([2.0, 4.0]), gf.placeholder(gf.bool, [])
    x = gf.assign_add(v, [1.0, 1.0])
    inside = gf.cond(decision, lambda: gf.scatter_mul(x, [0], [3.0]), lambda: gf.scatter_mul(x, [1], [3.0]))
    after = gf.assign_sub(inside, [0.5, 0.5])
    y = gf.assign(v, [1.0, 1.0])

    def body(i: Any) -> Any:
        deeper = gf.cond(i < 2, lambda: gf.scatter_mul(y, [0], [2.0]), lambda: gf.scatter_mul(y, [1], [3.0]))
        return i + gf.cast(gf.reduce_sum(deeper) > 0.0, gf.int32)

    turns = gf.while_loop(lambda i: i < 4, body, [0])
    with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        for _ in range(4):
            session.run(v.initializer)
            np.testing.assert_array_equal(session.run(after, {decision: True}), [8.5, 4.5])
            session.run(v.initializer)
            np.testing.assert_array_equal(session.run(after, {decision: False}), [2.5, 14.5])
            assert session.run(turns) == 4
            np.testing.assert_array_equal(session.run(v), [4.0, 9.0])


def test_a_graph_with_passed_references_is_read_back_and_says_them_as_tensorflow_does() -> None:
    v, decision = gf.Variable([2.0, 4.0], name="v"), gf.placeholder(gf.bool, [], name="decision")
    x = gf.assign_add(v, [1.0, 1.0])
    inside = gf.cond(decision, lambda: gf.scatter_mul(x, [0], [3.0]), lambda: gf.scatter_mul(x, [1], [3.0]))
    gf.assign_sub(inside, [0.5, 0.5], name="after")
    gf.cond(decision, lambda: gf.reduce_sum(x) * 2.0, lambda: 0.0, name="values")
    written = gf.get_default_graph().as_graph_def()
    kinds = {node.name: node.op for node in written.node}
    assert kinds["cond/ScatterMul/Switch"] == "RefSwitch" and kinds["cond/Merge"] == "RefMerge"
    assert kinds["values/Merge"] == "Merge"
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(written, name="")
        session.run("v/Assign")
        np.testing.assert_array_equal(session.run("after:0", {"decision:0": True}), [8.5, 4.5])


@pytest.mark.parametrize("of", ["constant", "read", "computed", "counted", "fed"])
def test_a_value_is_no_variable(of: str) -> None:
    v = gf.Variable(1)
    value = {
        "constant": lambda: gf.constant(1),
        "read": v.read_value,
        "computed": lambda: gf.assign_add(v, 1) + 1,
        "counted": lambda: gf.count_up_to(v, 5),
        "fed": lambda: gf.placeholder(gf.int32, []),
    }[of]()
    for write in (gf.assign, gf.assign_add, gf.is_variable_initialized):
        with pytest.raises(TypeError, match=rf"Input 'ref' of .*must be a gf\.Variable.*{value.op.name}"):
            write(value, *([1] if write is not gf.is_variable_initialized else []))


def test_one_of_two_variables_is_refused_with_their_names() -> None:
    u, v, decision = gf.Variable(1.0, name="u"), gf.Variable(1.0, name="v"), gf.placeholder(gf.bool, [])
    one = gf.cond(decision, lambda: gf.assign(u, 2.0), lambda: gf.assign(v, 2.0))
    with pytest.raises(TypeError, match="must be one variable, but 'cond/Merge:0' is one of 'u', 'v'"):
        gf.assign_add(one, 1.0)


def test_a_reference_that_is_fed_cannot_be_written() -> None:
    v = gf.Variable(1.0, name="v")
    x = gf.assign_add(v, 1.0)
    y = gf.assign_add(x, 1.0)
    with gf.Session() as session:
        session.run(v.initializer)
        with pytest.raises(errors.InvalidArgumentError, match="writes the variable 'v', which is fed"):
            session.run(y, {x: 5.0})
        assert session.run(y) == 3.0

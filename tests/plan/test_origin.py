"""Protects that a plan is data alone: it keeps no graph, survives a file, and its errors still name the operation."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.plan import files
from graphflow._core.plan.encode import PlanReader, PlanWriter
from graphflow._core.plan.ir import LOCAL, Instruction, Plan, walk
from graphflow._core.session_graph import operation_of


def _layers() -> Any:
    h = gf.layers.dense(gf.ones([2, 3]), 4, activation=gf.nn.relu)
    return gf.train.AdamOptimizer().minimize(gf.reduce_mean(gf.square(h)))


def _branch_in_a_loop() -> Any:
    start = gf.placeholder_with_default(1.0, [])
    step = lambda v: gf.cond(v > 3.0, lambda: v + 1.0, lambda: v * 2.0)  # noqa: E731
    found = gf.while_loop(lambda v: v < 9.0, step, [start])
    return [found, gf.gradients(found, start)[0]]


def _functions() -> Any:
    offset = gf.constant(2, gf.int64) + 1
    data = gf.data.Dataset.range(9).flat_map(lambda n: gf.data.Dataset.range(n).map(lambda m: m + offset))
    iterator = data.make_initializable_iterator()
    one_shot = gf.data.Dataset.range(5).map(lambda n: n * 2).make_one_shot_iterator()
    return [iterator.initializer, iterator.get_next(), one_shot.get_next()]


def _own_gradient() -> Any:
    around = gf.constant(3.0)

    @gf.custom_gradient
    def scaled(x: Any) -> Any:
        return x * 2.0, lambda g: g * around

    x = gf.placeholder_with_default(1.0, [])
    return [scaled(x), gf.gradients(scaled(x), x)[0]]


def _queue() -> Any:
    queue = gf.train.input_producer(gf.constant([1.0, 2.0]), num_epochs=2, shuffle=False)
    return [queue.dequeue(), gf.local_variables_initializer()]


def _metric() -> Any:
    return [*gf.metrics.mean(gf.constant([1.0, 2.0])), gf.local_variables_initializer()]


GRAPHS: list[Callable[[], Any]] = [
    _layers,
    _branch_in_a_loop,
    _functions,
    _own_gradient,
    _queue,
    _metric,
]


def _planned(build: Callable[[], Any]) -> tuple[Plan, weakref.ref[Graph]]:
    with gf.Graph().as_default() as graph, gf.Session() as session:
        plan, _ = session.plan(build(), [])
        return plan, weakref.ref(graph)


@pytest.mark.parametrize("build", GRAPHS)
def test_a_plan_keeps_no_graph(build: Callable[[], Any]) -> None:
    plan, graph = _planned(build)
    gc.collect()
    assert graph() is None
    assert plan.instructions


def _live(value: Any, seen: set[int]) -> bool:
    """Whether there is a way from a value of a plan to something of a graph."""
    if isinstance(value, Operation | Tensor | Graph):
        return True
    if id(value) in seen or isinstance(value, type):
        return False
    seen.add(id(value))
    return any(_live(item, seen) for item in gc.get_referents(value) if not callable(item))


@pytest.mark.parametrize("build", GRAPHS)
def test_there_is_no_way_from_an_instruction_to_the_graph(build: Callable[[], Any]) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        plan, _ = session.plan(build(), [])
        for i in walk(plan):
            values = [getattr(i, field.name) for field in fields(i) if field.name != "definition"]
            assert not any(_live(value, set()) for value in values if not isinstance(value, str)), i


def _same(one: Any, other: Any) -> bool:
    """Whether two plans, or what stands in them, are equal in every field."""
    if isinstance(one, Plan | Instruction) or hasattr(one, "plan"):
        return type(one) is type(other) and all(
            _same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one)
        )
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(value, other[name]) for name, value in one.items())
    if isinstance(one, tuple | list):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(_same(*pair) for pair in zip(one, other, strict=True))
        )
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


@pytest.mark.parametrize("build", GRAPHS)
def test_a_plan_from_text_is_equal(build: Callable[[], Any]) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        plan, _ = session.plan(build(), [])
    text = files.to_text(plan)
    found = files.from_text(text)
    assert _same(plan, found)
    assert files.to_text(found) == text
    writer = PlanWriter()
    tree = writer.plan(plan)
    assert _same(plan, PlanReader(writer.arrays).plan(tree))
    assert all(
        i.origin is not None and i.origin.line[0] == __file__ for i in walk(found) if i.attrs.get(LOCAL)
    )


def test_local_variables_are_told_from_others() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        gf.Variable(1.0, name="shared")
        gf.Variable(1.0, name="own", collections=[gf.GraphKeys.LOCAL_VARIABLES])
        fetches = [gf.global_variables_initializer(), gf.local_variables_initializer()]
        plan, _ = session.plan(fetches, [])
    assert {name.split(":")[0]: LOCAL in i.attrs for name, i in plan.variables().items()} == {
        "shared": False,
        "own": True,
    }


def test_errors_name_the_operation_of_the_graph() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        bad = gf.check_numerics(gf.log(gf.constant(-1.0)), "of the loss")
        for run in (lambda: session.run(bad), session.make_callable(bad)):
            with pytest.raises(gf.errors.InvalidArgumentError) as caught:
                run()
            assert caught.value.op is bad.op
            assert caught.value.node_def.name == bad.op.name
        x = gf.placeholder_with_default(1.0, [])
        with gf.device("/gpu:9"):
            nowhere = gf.sqrt(x)
        for run in (lambda: session.run(nowhere), lambda: session.explain(nowhere)):
            with pytest.raises(gf.errors.InvalidArgumentError, match="no such device") as caught:
                run()
            assert caught.value.op is nowhere.op


def test_errors_of_a_function_name_its_operation_and_not_its_namesake() -> None:
    with gf.Graph().as_default() as graph, gf.Session() as session:
        namesake = gf.add(1, 2, name="bad")
        made: list[Any] = []

        def function(n: Any) -> Any:
            made.append(gf.floordiv(gf.constant(1, gf.int64), n, name="bad"))
            return made[-1]

        data = gf.data.Dataset.range(3).map(function)
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(data.make_one_shot_iterator().get_next())
        assert made[-1].op.name == namesake.op.name
        assert caught.value.op is made[-1].op
        plan, _ = session.plan(namesake, [])
        origins = [i.origin for i in plan.instructions if i.origin is not None]
        assert operation_of(origins[-1], graph) is namesake.op
        assert all(operation_of(origin, gf.Graph()) is None for origin in origins)


def test_causes_name_their_operations_too() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        data = gf.data.Dataset.range(3).map(lambda n: gf.floordiv(gf.constant(1, gf.int64), n))
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(data.make_one_shot_iterator().get_next())
    cause: BaseException | None = caught.value
    while cause is not None:
        if isinstance(cause, gf.errors.OpError):
            assert cause.op is None or isinstance(cause.op, gf.Operation)
        cause = cause.__cause__


def test_a_fresh_process_reads_a_plan_of_any_op(tmp_path: Path) -> None:
    path = str(tmp_path / "plan.json")
    with gf.Graph().as_default(), gf.Session() as session:
        plan, _ = session.plan(gf.nn.softplus(gf.placeholder_with_default(1.0, [])), [])
    files.save(path, plan)
    program = "import sys\nfrom graphflow._core.plan import files\nprint(files.load(sys.argv[1]))"
    found = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True, check=True)
    assert found.stdout == f"{plan}\n"

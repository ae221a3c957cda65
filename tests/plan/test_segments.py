"""Protects the cut into segments: nothing waits inside one, parts never wait for each other, numbers stay the same."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan.encode import BadPlan, PlanReader, PlanWriter
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.partition import partition
from graphflow._core.plan.segments import Segment, segments
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.planner import ExecutionOptions
from graphflow._core.transport.frames.message import Kind, Message

CONFIG = gf.ConfigProto(device_count={"CPU": 3}, compiled="never")


def _build(seed: int, draws: bool = False) -> tuple[Any, list[Any]]:
    """A random graph over three devices with variables, writes, control dependencies and branches, and datasets."""
    chance = random.Random(seed)

    def anywhere() -> Any:
        return gf.device(f"/cpu:{chance.randrange(3)}")

    x = gf.placeholder(gf.float32, [3])
    tensors, variables, writes = [x], [], []
    for number in range(3):
        with anywhere():
            variables.append(gf.Variable(np.arange(3, dtype=np.float32) + number))
            tensors.append(variables[-1] + 0.0)
    iterators = []
    for number in range(3 * draws):
        data = np.arange(300, dtype=np.float32).reshape(100, 3) * (number + 1)
        with anywhere():
            iterators.append(gf.data.Dataset.from_tensor_slices(data).make_one_shot_iterator())
    for _ in range(chance.randrange(5, 25)):
        before = [chance.choice(writes)] if writes and chance.random() < 0.3 else []
        with anywhere(), gf.control_dependencies(before):
            kind = chance.randrange(6 if draws else 5)
            if kind < 3:
                one, other = (chance.choice(tensors + variables) for _ in range(2))
                tensors.append(one * 0.5 + other * 0.25)
            elif kind == 3:
                written = gf.assign_add(chance.choice(variables), chance.choice(tensors))
                writes.append(written.op)
                tensors.append(written * 0.1)
            elif kind == 5:
                tensors.append(chance.choice(iterators).get_next() * 0.5)
            else:
                variable, flag = chance.choice(variables), gf.reduce_sum(chance.choice(tensors)) > 1.0
                tensors.append(gf.cond(flag, lambda v=variable: v + 1.0, lambda: x * 2.0))
    return x, [chance.choice(tensors), chance.choice(tensors), *writes, *variables]


def _run_segments(session: gf.Session, fetches: Any, feed: dict[Any, Any], chance: random.Random) -> Any:
    """Runs the segments in any order in which they can: each knows only what it received and what its part has."""
    plan, structure = session.plan(fetches, list(feed))
    cut = partition(plan, session.list_devices()[0].name)
    cut_segments = segments(cut)
    fed = {t.name: np.asarray(value, t.dtype.as_numpy_dtype) for t, value in feed.items()}
    values = {device: dict(fed) for device in cut_segments}
    sent: dict[Any, Any] = {}
    left = {device: list(found) for device, found in cut_segments.items()}
    while any(left.values()):
        ready = [d for d, found in left.items() if found and sent.keys() >= found[0].receives.keys()]
        assert ready, "parts wait for each other"
        device = chance.choice(ready)
        segment = left[device].pop(0)
        _run_segment(session, segment, values[device], sent)
    return structure.rebuild(
        tuple(values[device][name] for name, device in zip(plan.fetches, cut.fetch_devices, strict=True))
    )


def _run_segment(session: gf.Session, segment: Segment, values: dict[str, Any], sent: dict[Any, Any]) -> None:
    values.update({name: sent.pop(key) for key, name in segment.receives.items()})
    executable = session.store.planner.executable(segment.plan, session.store, ExecutionOptions(seeded=True))
    results = executable.run(RunContext(session.store), [values[name] for name in segment.plan.feeds])
    values.update(zip(segment.plan.fetches, results, strict=True))
    for key, name in segment.sends.items():
        sent[key] = True if name is None else values[name]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("draws", [False, True])
def test_segments_give_what_a_session_gives(seed: int, draws: bool) -> None:
    found: list[Any] = []
    for staged in (False, True):
        with gf.Graph().as_default():
            x, fetches = _build(seed, draws)
            feed = {x: np.ones(3, np.float32)}
            with gf.Session(config=CONFIG) as session:
                session.run(gf.global_variables_initializer())
                for _ in range(2):
                    if staged:
                        found.append(_run_segments(session, fetches, feed, random.Random(seed)))
                    else:
                        found.append(session.run(fetches, feed))
                found.append(session.run(gf.global_variables()))
    for one, other in zip(found[:3], found[3:], strict=True):
        assert [None if v is None else v.tolist() for v in one] == [
            None if v is None else v.tolist() for v in other
        ]


def _segments_of(fetches: Any, feeds: Sequence[Any] = ()) -> dict[str, list[Segment]]:
    with gf.Session(config=CONFIG) as session:
        plan, _ = session.plan(fetches, list(feeds))
        found = segments(partition(plan, session.list_devices()[0].name))
    return {device[-5:]: each for device, each in found.items()}


def test_a_training_step_is_two_segments_where_the_variables_are_and_one_where_it_computes() -> None:
    with gf.Graph().as_default():
        with gf.device("/cpu:1"):
            weights = [gf.Variable(np.ones((4, 4), np.float32)) for _ in range(3)]
        with gf.device("/cpu:0"):
            x = gf.placeholder(gf.float32, [None, 4])
            hidden = x
            for weight in weights:
                hidden = gf.tanh(gf.matmul(hidden, weight))
            step = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_sum(hidden))
        found = _segments_of(step, [x])
    assert [len(found["CPU:1"]), len(found["CPU:0"])] == [2, 1]
    assert [len(s.receives) for s in found["CPU:1"]] == [0, 3] and len(found["CPU:0"][0].receives) == 3


@pytest.mark.parametrize(("shape", "sent"), [([None, 1], 2), ([None], 1)])
def test_the_rows_of_a_sparse_gradient_go_with_it_where_they_are_not_just_what_is_fed(
    shape: list[Any], sent: int
) -> None:
    with gf.Graph().as_default():
        ids = gf.placeholder(gf.int32, shape)
        with gf.device("/cpu:0"):
            table = gf.Variable(gf.zeros([100, 4]))
        with gf.device("/cpu:1"):
            loss = gf.reduce_sum(gf.square(gf.nn.embedding_lookup(table, ids)))
            train = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with gf.Session(config=CONFIG) as session:
            plan, _ = session.plan(train, [ids])
            rows, computing = segments(partition(plan, session.list_devices()[0].name)).values()
            session.run(gf.global_variables_initializer())
            session.run(train, {ids: np.reshape([3, 3, 5], [-1, *shape[1:]])})
    assert [len(segment.sends) for segment in rows] == [1, 0]
    assert [len(segment.sends) for segment in computing if segment.sends] == [sent]


def test_what_may_wait_is_a_segment_of_its_own() -> None:
    with gf.Graph().as_default():
        queue = gf.FIFOQueue(2, gf.float32, [[]])
        first, second = queue.dequeue(), queue.dequeue()
        found = _segments_of([first + 1.0, second * 2.0])["CPU:0"]
    assert [s.blocks for s in found if s.blocks] == [True, True]
    assert all(len([i for i in s.plan.instructions if i.blocks]) == s.blocks for s in found)


def test_elements_for_other_devices_are_drawn_and_sent_before_a_device_computes() -> None:
    """Towers on three devices whose elements come of one dataset compute at the same time."""
    with gf.Graph().as_default():
        with gf.device("/cpu:0"):
            iterator = (
                gf.data.Dataset.from_tensors(np.ones((4, 4), np.float32)).repeat().make_one_shot_iterator()
            )
            elements = [iterator.get_next() for _ in range(3)]
            before = gf.reduce_sum(elements[0]) * 0.0  # What is sent with an element is not put off.
        towers = []
        for number, element in enumerate(elements):
            with gf.device(f"/cpu:{number}"):
                towers.append(gf.reduce_sum(gf.matmul(element, element) + before))
        found = _segments_of(gf.add_n(towers))["CPU:0"]
    assert sum(len(s.plan.instructions) > 0 and s.blocks for s in found) == 3
    (computes,) = [n for n, s in enumerate(found) if any(i.type == "MatMul" for i in s.plan.instructions)]
    assert not any(s.sends for s in found[computes:])
    assert {key[2][-5:] for s in found[:computes] for key in s.sends} == {"CPU:1", "CPU:2"}


def test_a_draw_that_waits_for_what_is_computed_comes_after_it() -> None:
    with gf.Graph().as_default():
        with gf.device("/cpu:0"):
            iterator = (
                gf.data.Dataset.from_tensors(np.ones((4, 4), np.float32)).repeat().make_one_shot_iterator()
            )
            product = gf.matmul(iterator.get_next(), np.ones((4, 4), np.float32))
            with gf.control_dependencies([product]):
                element = iterator.get_next()
        with gf.device("/cpu:1"):
            total = gf.reduce_sum(element)
        found = _segments_of([total, product])["CPU:0"]
        with gf.Session(config=CONFIG) as session:
            assert session.run(total) == 16.0
    types = [i.type for s in found for i in s.plan.instructions]
    assert (
        types.index("IteratorGetNext")
        < types.index("MatMul")
        < len(types) - types[::-1].index("IteratorGetNext")
    )


def _travelled(plan: Plan, **trust: Any) -> Plan:
    writer = PlanWriter()
    message = Message(Kind.REGISTER, details={"plan": writer.plan(plan)}, tensors=writer.arrays)
    arrived = Message.of([bytes(frame) for frame in message.frames()])
    return PlanReader(arrived.tensors, **trust).plan(arrived.details["plan"])


@pytest.mark.parametrize("seed", range(10))
def test_a_plan_that_has_travelled_is_the_same(seed: int) -> None:
    with gf.Graph().as_default():
        x, fetches = _build(seed)
        with gf.Session(config=CONFIG) as session:
            plan, _ = session.plan(fetches, [x])
    found = _travelled(plan)
    assert str(found) == str(plan)
    sites = [(i.origin.name, i.origin.line) for i in plan.instructions if i.origin is not None]
    assert [(i.origin.name, i.origin.line) for i in found.instructions if i.origin is not None] == sites


def test_python_functions_travel_only_to_who_trusts_the_sender() -> None:
    import cloudpickle

    with gf.Graph().as_default():
        doubled = gf.py_func(lambda a: a * 2, [gf.constant([1.0])], gf.float32)
        with gf.Session(config=CONFIG) as session:
            plan, _ = session.plan(doubled, [])
            with pytest.raises(BadPlan, match="not authenticated"):
                _travelled(plan)
            found = _travelled(plan, unpickle=cloudpickle.loads)
            executable = session.store.planner.executable(found, session.store, ExecutionOptions(seeded=True))
            assert executable.run(RunContext(session.store), [])[0].tolist() == [2.0]


@pytest.mark.parametrize(
    "tree",
    [
        None,
        [],
        [1, 2, 3, 4],
        [[["a"]], [], [], []],
        [[], [1], [], []],
        [[[["a"] * 14]], [], [], []],
        {"a": 1},
    ],
    ids=range(7),
)
def test_what_is_no_plan_is_refused(tree: Any) -> None:
    with pytest.raises(BadPlan):
        PlanReader([]).plan(tree)

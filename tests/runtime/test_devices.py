"""Protects runs over several devices of a process: the same numbers as on one, parts that run at the same time,
uses of a variable in their order, and errors that reach the caller from any part.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import graphflow as gf

TWO = {"CPU": 2}


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def test_two_devices_compute_what_one_does() -> None:
    random = np.random.default_rng(0)
    data = random.standard_normal((5, 4)).astype(np.float32)
    results = []
    for count in (1, 2):
        with gf.Graph().as_default():
            x = gf.placeholder(gf.float32, [5, 4])
            with gf.device("/cpu:0"):
                w = gf.Variable(np.ones((4, 3), np.float32))
            with gf.device(f"/cpu:{count - 1}"):
                b = gf.Variable(np.zeros(3, np.float32))
                hidden = gf.tanh(gf.matmul(x, w) + b)
            with gf.device("/cpu:0"):
                loss = gf.reduce_sum(gf.square(hidden))
            step = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
            with gf.Session(config=gf.ConfigProto(device_count={"CPU": count}, compiled="never")) as session:
                session.run(gf.global_variables_initializer())
                losses = [session.run([loss, step], {x: data})[0] for _ in range(5)]
                results.append([losses, *[v.tolist() for v in session.run([w, b])]])
    assert results[0] == results[1]
    assert results[0][0][-1] < results[0][0][0]


def test_parts_run_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=20)

    def meet() -> Any:
        meeting.wait()
        return np.float32(1.0)

    parts = []
    for number in range(2):
        with gf.device(f"/cpu:{number}"):
            parts.append(gf.py_func(meet, [], gf.float32))
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        assert session.run(gf.add_n(parts)) == 2.0


def test_a_value_used_often_is_sent_once() -> None:
    x = gf.placeholder(gf.float32, [2])
    with gf.device("/cpu:0"):
        a = gf.multiply(x, 2.0, name="a")
    with gf.device("/cpu:1"):
        b = gf.add_n([a, a, a * a])
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        text = session.explain(b, [x])
        assert text.count("= Send(") == 1 and text.count("= Recv(") == 1
        assert session.run(b, {x: [1.0, 2.0]}).tolist() == [8.0, 24.0]


def test_a_variable_read_elsewhere_before_and_after_a_write() -> None:
    with gf.device("/cpu:0"):
        v = gf.Variable(1.0, name="v")
        update = v.assign_add(10.0)
    with gf.device("/cpu:1"):
        before = v * 1.5
        with gf.control_dependencies([update]):
            after = v * 2.0
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        session.run(v.initializer)
        for round_ in range(3):
            start = 1.0 + 10.0 * round_
            assert session.run([after, before]) == [(start + 10.0) * 2.0, start * 1.5]


def test_control_dependencies_hold_between_devices() -> None:
    order: list[str] = []

    def note(name: str) -> gf.Operation:
        gf.py_func(lambda: order.append(name), [], [], name=name)
        return gf.get_default_graph().get_operation_by_name(name)

    with gf.device("/cpu:1"):
        first = note("first")
    with gf.control_dependencies([first]), gf.device("/cpu:0"):
        second = note("second")
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        for _ in range(5):
            session.run(second)
    assert order == ["first", "second"] * 5


@pytest.mark.parametrize("failing", [0, 1])
def test_an_error_of_either_part_reaches_the_caller(failing: int) -> None:
    x = gf.placeholder(gf.int32, [], name="x")
    parts = []
    for number in range(2):
        with gf.device(f"/cpu:{number}"):
            parts.append(
                gf.floordiv(6, x, name="bad") if number == failing else gf.identity(gf.constant([1, 2]) + x)
            )
    with gf.device("/cpu:0"):
        total = gf.reduce_sum(parts[0]) + gf.reduce_sum(parts[1])
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        with pytest.raises(gf.errors.InvalidArgumentError, match="bad") as caught:
            session.run(total, {x: 0})
        assert caught.value.op.name == "bad"
        assert session.run(total, {x: 2}) == 3 + 7


def test_branches_and_loops_on_another_device() -> None:
    x = gf.placeholder(gf.float32, [])
    with gf.device("/cpu:1"):
        v = gf.Variable(1.0)
        far = x * 3.0
    with gf.device("/cpu:0"):
        taken = gf.cond(x > 0.0, lambda: gf.identity(v.assign_add(far)), lambda: far * v)
        loop = gf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + far), [0, 0.0])[1]
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        session.run(v.initializer)
        assert session.run([taken, loop], {x: 2.0}) == [7.0, 18.0]
        assert session.run([taken, loop], {x: -1.0}) == [-21.0, -9.0]
        assert session.run(v) == 7.0


def test_uninitialised_variables_of_all_parts_are_named() -> None:
    with gf.device("/cpu:0"):
        a = gf.Variable(1.0, name="a")
    with gf.device("/cpu:1"):
        b = gf.Variable(1.0, name="b")
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        with pytest.raises(gf.errors.FailedPreconditionError) as caught:
            session.run([a + 1.0, b + 1.0])
        assert "a (built at" in str(caught.value) and "b (built at" in str(caught.value)

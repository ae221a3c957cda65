"""Protects runs over several devices of a process: the same numbers as on one, parts that run at the same time,
uses of a variable in their order, and errors that reach the caller from any part.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.session import executables

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
    meeting = threading.Barrier(2, timeout=60)

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


def on_device(session: gf.Session, device: str) -> list[Any]:
    """What runs the stages of one device in the session's last plan."""
    staged: Any = executables(session)[-1]
    (runners,) = [each for name, each in staged.runners.items() if name.endswith(device)]
    return [runner.executable for runner in runners]


def test_each_device_becomes_compiled() -> None:
    x = gf.placeholder(gf.float32, [8, 8])
    towers = []
    for number in range(2):
        with gf.device(f"/cpu:{number}"):
            w = gf.Variable(np.ones((8, 8), np.float32))
            towers.append((w, gf.gradients(gf.reduce_sum(gf.square(gf.matmul(x, w))), w)[0]))
    steps = []
    for number, (w, _) in enumerate(towers):
        with gf.device(f"/cpu:{number}"):
            steps.append(w.assign_sub(0.01 * gf.add_n([g for _, g in towers])))
    train = gf.group(*steps)
    feed = {x: np.ones((8, 8), np.float32)}
    with gf.Session(config=gf.ConfigProto(device_count=TWO, compiled="always")) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(3):
            session.run(train, feed)
        for device in ("CPU:0", "CPU:1"):
            assert all(e.describe() for e in on_device(session, device))
        assert "compiled for" in session.explain(train, [x])
        one, other = session.run([w for w, _ in towers])
        assert one.tobytes() == other.tobytes() and one[0, 0] != 1.0


@pytest.mark.parametrize("tier", ["never", "always"])
def test_a_variable_is_lent_to_another_device_and_changed_afterwards(tier: str) -> None:
    """Its reader has no copy, what is fetched is the caller's own, and a later write goes where nobody reads."""
    size = 1 << 16
    with gf.device("/cpu:0"):
        v = gf.Variable(np.zeros(size, np.float32))
        update = v.assign_add(np.ones(size, np.float32))
    with gf.device("/cpu:1"):
        held = gf.py_func(lambda a: kept.append(a) or np.float32(a[0]), [v], gf.float32)
        with gf.control_dependencies([held]):
            after = gf.identity(update)
    kept: list[Any] = []
    with gf.Session(config=gf.ConfigProto(device_count=TWO, compiled=tier)) as session:
        session.run(v.initializer)
        for number in range(4):
            first, written = session.run([held, update])
            assert first == number and written.min() == written.max() == number + 1
            written[:] = -1.0
            fetched = session.run(v)
            assert fetched.flags.writeable and fetched[0] == fetched[-1] == number + 1
            fetched[:] = -2.0
        assert [a[0] for a in kept] == [0.0, 1.0, 2.0, 3.0] and [a[-1] for a in kept] == [0.0, 1.0, 2.0, 3.0]
        session.run([after, held])
        reader = on_device(session, "CPU:1")[0]
        assert reader is not None and session.run(v)[0] == 5.0


def test_reading_a_variable_on_another_device_does_not_copy_it() -> None:
    seen: list[int] = []
    with gf.device("/cpu:0"):
        v = gf.Variable(np.ones(1 << 16, np.float32))
    with gf.device("/cpu:1"):
        total = gf.reduce_sum(v)
    with gf.Session(config=gf.ConfigProto(device_count=TWO, compiled="never")) as session:
        session.run(v.initializer)
        session.run(total)
        reader = on_device(session, "CPU:1")[0]
        call = reader.run

        def run(context: Any, feeds: Any) -> Any:
            seen.extend(np.asarray(f).ctypes.data for f in feeds)
            return call(context, feeds)

        reader.run = run
        session.run(total)
        (cell,) = session.store.variables()
        assert seen == [cell.value.ctypes.data]


def test_a_queue_holds_up_one_device_while_the_other_computes() -> None:
    computed = threading.Event()
    with gf.device("/cpu:0"):
        queue = gf.FIFOQueue(1, gf.float32, [[]])
        taken = queue.dequeue() * 2.0
    with gf.device("/cpu:1"):
        other = gf.py_func(lambda: computed.set() or np.float32(1.0), [], gf.float32) + 1.0
    with gf.device("/cpu:0"):
        result = taken + other
    put = queue.enqueue(5.0)
    with gf.Session(config=gf.ConfigProto(device_count=TWO)) as session:
        for _ in range(3):
            computed.clear()
            found: list[Any] = []
            thread = threading.Thread(target=lambda to=found: to.append(session.run(result)))
            thread.start()
            assert computed.wait(60)
            session.run(put)
            thread.join(60)
            assert found == [12.0]


def test_closing_a_session_ends_a_run_on_both_devices() -> None:
    with gf.device("/cpu:0"):
        taken = gf.FIFOQueue(1, gf.float32, [[]]).dequeue()
    with gf.device("/cpu:1"):
        loop = gf.while_loop(lambda i: i >= 0.0, lambda i: i * 1.0, [1.0], name="endless")
    found: list[Any] = []

    def run() -> None:
        try:
            session.run([taken, loop])
        except Exception as error:
            found.append(error)

    for tier in ("never", "always"):
        session = gf.Session(config=gf.ConfigProto(device_count=TWO, compiled=tier))
        thread = threading.Thread(target=run)
        thread.start()
        while not session.store.waiting():
            threading.Event().wait(0.01)
        session.close()
        thread.join(30)
        assert not thread.is_alive()
    assert [type(error) for error in found] == [gf.errors.CancelledError] * 2


@pytest.mark.parametrize("tier", ["never", "always"])
def test_a_loop_of_one_device_ends_when_the_other_fails(tier: str) -> None:
    end = gf.placeholder(gf.float32, [])
    with gf.device("/cpu:0"):
        loop = gf.while_loop(lambda i: i < end, lambda i: i + 1.0, [0.0], name="loop")
    with gf.device("/cpu:1"):
        x = gf.placeholder(gf.float32, [])
        bad = gf.check_numerics(gf.log(x), "not a number", name="bad")
    with gf.Session(config=gf.ConfigProto(device_count=TWO, compiled=tier)) as session:
        for _ in range(3):
            assert session.run([loop, bad], {x: 1.0, end: 3.0}) == [3.0, 0.0]
            with pytest.raises(gf.errors.InvalidArgumentError, match="bad") as caught:
                session.run([loop, bad], {x: -1.0, end: 1e30})  # A float stops growing long before.
            assert caught.value.op.name == "bad"


def test_a_device_that_only_waits_leaves_the_matrix_products_of_others_all_cores() -> None:
    from graphflow._core.codegen.cpu.blas import blas_threads

    before = blas_threads()

    def waiting() -> Any:
        limit = time.monotonic() + 60
        while blas_threads() != before and time.monotonic() < limit:  # the other device may be at work yet
            time.sleep(0.001)
        return np.int32(blas_threads())

    x = gf.placeholder(gf.float32, [8, 8])
    with gf.device("/cpu:1"):
        threads = gf.py_func(waiting, [], gf.int32)
    with gf.device("/cpu:0"):
        fetches = [gf.matmul(x, x), threads + 0]
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        for _ in range(3):
            assert session.run(fetches, {x: np.ones((8, 8))})[1] == before
        assert blas_threads() == before

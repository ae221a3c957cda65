"""Protects that operations of one run that wait, and do not depend on one another, wait at the same time: one of them
may be what ends another's wait, as TensorFlow's programs rely on; and that short waits keep the order of building.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.ops.distributed.barriers import Barrier
from graphflow._core.plan.waits import independent_waits
from graphflow.contrib.staging.map_area import MapStagingArea
from tests.cluster.serving import serve_all, spec_of

LIMIT = 60.0
TIERS = ("auto", "never", "always")


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as found:
        yield found


def within_limit(function: Callable[[], Any], seconds: float = LIMIT) -> Any:
    """What a function returns in a thread of its own; AssertionError if it takes too long."""
    found: list[Any] = []

    def call() -> None:
        try:
            found.append((function(), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(seconds)
    assert found, "It hangs."
    result, error = found[0]
    if error is not None:
        raise error
    return result


def run(fetches: Any, feeds: Any = None, **config: Any) -> Any:
    """What a session of its own gives, variables initialized."""
    with gf.Session(config=gf.ConfigProto(**config)) as session:
        session.run(gf.global_variables_initializer())
        return within_limit(lambda: session.run(fetches, feeds))


def int_queue(capacity: int = 10, name: str = "queue") -> Any:
    return gf.FIFOQueue(capacity, gf.int32, [[]], name=name)


def call(function: Callable[..., Any], *inputs: Any, name: str | None = None) -> Any:
    """A py_func that gives an int32 scalar."""

    def found(*values: Any) -> Any:
        return np.int32(function(*values))

    return gf.py_func(found, list(inputs), gf.int32, name=name)


# ---- queues ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", TIERS)
def test_a_dequeue_waits_for_an_enqueue_of_the_same_run(compiled: str) -> None:
    box = int_queue()
    taken = box.dequeue()
    put = box.enqueue(7)
    assert run([taken, put], compiled=compiled)[0] == 7


def test_it_does_in_every_run_of_a_session() -> None:
    box, x = int_queue(), gf.placeholder(gf.int32, [])
    taken, put = box.dequeue() * 2, box.enqueue(x)
    with gf.Session() as session:
        for number in range(6):
            assert within_limit(lambda number=number: session.run([taken, put], {x: number}))[0] == 2 * number


def test_an_enqueue_waits_for_the_room_that_a_dequeue_makes() -> None:
    box = int_queue(1)
    fill = box.enqueue(1)
    put = box.enqueue(2)
    taken = box.dequeue()
    with gf.Session() as session:
        session.run(fill)
        assert within_limit(lambda: session.run([put, taken]))[1] == 1
        assert session.run(box.size()) == 1


@pytest.mark.parametrize("many", ["dequeue_many", "dequeue_up_to"])
def test_a_batch_waits_for_several_enqueues_of_the_same_run(many: str) -> None:
    box = int_queue()
    batch = getattr(box, many)(3)
    puts = [box.enqueue(n) for n in (5, 6)] + [box.enqueue_many([[7, 8]])]
    if many == "dequeue_up_to":
        with gf.control_dependencies(puts):
            puts = [box.close()]
    assert sorted(run([batch, *puts])[0].tolist())[:2] == [5, 6]


@pytest.mark.parametrize("kind", ["fifo", "random", "priority", "padding"])
def test_all_kinds_of_queues_do(kind: str) -> None:
    made: Any = {
        "fifo": lambda: gf.FIFOQueue(10, gf.int64, [[]]),
        "random": lambda: gf.RandomShuffleQueue(10, 0, gf.int64, [[]]),
        "priority": lambda: gf.PriorityQueue(10, gf.int64, [[]]),
        "padding": lambda: gf.PaddingFIFOQueue(10, gf.int64, [[]]),
    }[kind]()
    value = gf.constant(3, gf.int64)
    taken = made.dequeue()
    put = made.enqueue((value, value) if kind == "priority" else value)
    assert np.all(np.asarray(run([taken, put])[0]) == 3)


def _chain(order: tuple[int, ...]) -> list[Any]:
    """From one queue to the next, the parts built in any order."""
    first, second = int_queue(name="first"), int_queue(name="second")
    made: dict[int, Any] = {}
    for part in order:
        if part == 0:
            made[0] = second.dequeue()
        elif part == 1:
            made[1] = second.enqueue(first.dequeue() + 1)
        else:
            made[2] = first.enqueue(41)
    return [made[0], made[1], made[2]]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("compiled", ["auto", "never"])
def test_a_chain_of_queues_in_any_order_of_building(order: tuple[int, ...], compiled: str) -> None:
    assert run(_chain(order), compiled=compiled)[0] == 42


def test_a_chain_of_six_queues_built_from_its_end() -> None:
    queues = [int_queue(name=f"queue_{k}") for k in range(6)]
    taken = queues[5].dequeue()
    moves = [queues[k + 1].enqueue(queues[k].dequeue() + 1) for k in reversed(range(5))]
    begin = queues[0].enqueue(0)
    assert run([taken, *moves, begin])[0] == 5


def test_what_is_computed_with_one_element_does_not_wait_for_another() -> None:
    first, second = int_queue(name="first"), int_queue(name="second")
    shown = second.dequeue() * 3
    moved = second.enqueue(gf.reduce_sum(gf.fill([100], first.dequeue())))
    begin = first.enqueue(2)
    assert run([shown, moved, begin])[0] == 600


def test_a_queue_through_a_control_dependency() -> None:
    box, other = int_queue(name="box"), int_queue(name="other")
    taken = box.dequeue()
    with gf.control_dependencies([other.dequeue()]):
        put = box.enqueue(4)
    begin = other.enqueue(0)
    assert run([taken, put, begin])[0] == 4


def test_a_variable_that_is_written_before_what_is_waited_for() -> None:
    box = int_queue()
    count = gf.Variable(1)
    taken = box.dequeue()
    with gf.control_dependencies([count.assign_add(4)]):
        put = box.enqueue(count.read_value())
    assert run([taken, put])[0] == 5


def test_what_trains_comes_after_the_waits_and_not_at_all_if_one_fails() -> None:
    box, other = int_queue(name="box"), int_queue(name="other")
    count = gf.Variable(0)
    step = count.assign_add(box.dequeue()).op
    more = count.assign_add(100).op
    taken = other.dequeue()
    puts = [box.enqueue(1), other.enqueue(2)]
    close = other.close()
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        assert within_limit(lambda: session.run([step, more, taken, puts]))[2] == 2
        assert session.run(count) == 101
        session.run([close, puts[0]])
        with pytest.raises(errors.OutOfRangeError):
            within_limit(lambda: session.run([step, more, taken]))
        assert session.run(count) == 101


def test_a_closing_ends_a_dequeue_of_the_same_run() -> None:
    box = int_queue()
    taken, close = box.dequeue(), box.close()
    with pytest.raises(errors.OutOfRangeError, match="is closed and has insufficient elements"):
        run([taken, close])


def test_a_reader_waits_for_the_name_of_its_file(tmp_path: Any) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one\ntwo\n")
    names = gf.FIFOQueue(10, gf.string, [[]])
    value = gf.TextLineReader().read(names)[1]
    put = names.enqueue(str(path))
    assert run([value, put])[0] == b"one"


# ---- Python functions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", TIERS)
@pytest.mark.parametrize("swapped", [False, True])
def test_two_functions_wait_for_each_other(compiled: str, swapped: bool) -> None:
    events = [threading.Event(), threading.Event()]

    def meet(own: int) -> int:
        events[own].set()
        assert events[1 - own].wait(LIMIT / 2)
        return own

    found = [call(lambda own=own: meet(own)) for own in (0, 1)]
    wanted = [1, 0] if swapped else [0, 1]
    assert run([found[k] for k in wanted], compiled=compiled) == wanted


def test_functions_meet_at_a_barrier() -> None:
    barrier = threading.Barrier(4)
    assert sorted(run([call(lambda: barrier.wait(LIMIT / 2)) for _ in range(4)])) == [0, 1, 2, 3]


@pytest.mark.parametrize("first", ["get", "put"])
def test_one_function_gets_what_another_puts(first: str) -> None:
    box: queue.Queue[int] = queue.Queue()
    made = {}
    for what in [first, "put" if first == "get" else "get"]:
        made[what] = (
            call(lambda: box.get(timeout=LIMIT / 2)) if what == "get" else call(lambda: box.put(9) or 0)
        )
    assert run([made["get"], made["put"]])[0] == 9


def test_what_a_function_waits_for_may_stand_behind_what_is_computed() -> None:
    event = threading.Event()
    x = gf.placeholder(gf.float32, [None])
    waits = call(lambda: event.wait(LIMIT / 2))
    total = gf.cast(gf.reduce_sum(gf.tanh(x) + gf.square(x)), gf.int32)
    sets = call(lambda total: event.set() or total, total)
    assert run([waits, sets], {x: np.zeros(10)}) == [1, 0]


def test_a_function_waits_for_a_dequeue_and_a_dequeue_for_a_function() -> None:
    event = threading.Event()
    box, other = int_queue(name="box"), int_queue(name="other")
    waits = call(lambda: event.wait(LIMIT / 2))
    taken = box.dequeue()
    sets = call(lambda value: event.set() or value, taken)
    put = box.enqueue(call(lambda: 5))
    last = other.dequeue()
    answer = other.enqueue(sets)
    assert run([waits, sets, put, last, answer])[:2] == [1, 5]


def test_functions_without_state_wait_for_each_other_too() -> None:
    barrier = threading.Barrier(2)

    def meet(value: Any) -> Any:
        barrier.wait(LIMIT / 2)
        return value

    found = [
        gf.py_func(meet, [n], gf.int32, stateful=False)
        for n in (gf.placeholder_with_default(k, []) for k in (1, 2))
    ]
    assert run(found) == [1, 2]


def test_a_function_runs_the_session_for_what_another_waits_for() -> None:
    box = int_queue()
    put = box.enqueue(6)
    holder: list[gf.Session] = []
    taken = box.dequeue()
    puts = call(lambda: holder[0].run(put) or 0)
    with gf.Session() as session:
        holder.append(session)
        assert within_limit(lambda: session.run([taken, puts])) == [6, 0]


# ---- what else waits ------------------------------------------------------------------------------------------------


def test_a_staging_area() -> None:
    area = gf.contrib.staging.StagingArea([gf.int32])
    taken = area.get()
    put = area.put([3])
    assert np.all(np.asarray(run([taken, put])[0]) == 3)


def test_a_staging_area_with_room_for_one() -> None:
    area = gf.contrib.staging.StagingArea([gf.int32], capacity=1)
    fill, put, taken = area.put([1]), area.put([2]), area.get()
    with gf.Session() as session:
        session.run(fill)
        assert np.all(np.asarray(within_limit(lambda: session.run([put, taken]))[1]) == 1)


def test_a_map_staging_area() -> None:
    area = MapStagingArea([gf.int32])
    key = gf.constant(1, gf.int64)
    taken = area.get(key)
    put = area.put(key, [3], [0])
    assert "3" in str(run([taken, put])[0])


def test_a_barrier() -> None:
    barrier = Barrier([gf.float32], shapes=[[]])
    taken = barrier.take_many(2)
    puts = [barrier.insert_many(0, ["a"], [1.0]), barrier.insert_many(0, ["b"], [2.0])]
    _, keys, values = run([taken, *puts])[0]
    assert dict(zip(keys.tolist(), np.ravel(values).tolist(), strict=True)) == {b"a": 1.0, b"b": 2.0}


@pytest.mark.parametrize("after_write", [False, True])
def test_an_accumulator(after_write: bool) -> None:
    total = gf.ConditionalAccumulator(gf.float32, [2])
    count = gf.Variable(0)
    mean = total.take_grad(2)
    with gf.control_dependencies([count.assign_add(1)] if after_write else []):
        puts = [total.apply_grad(gf.constant([1.0, 3.0]) * gf.identity(float(k))) for k in (1, 3)]
    assert run([mean, *puts])[0].tolist() == [2.0, 6.0]


@pytest.mark.parametrize("construct", ["cond", "while_loop"])
def test_what_waits_inside_a_branch_or_loop(construct: str) -> None:
    box = int_queue()
    flag = gf.placeholder_with_default(True, [])
    if construct == "cond":
        taken = gf.cond(flag, box.dequeue, lambda: 0)
    else:
        taken = gf.while_loop(lambda i, _: i < 2, lambda i, total: (i + 1, total + box.dequeue()), [0, 0])[1]
    puts = [box.enqueue(8), box.enqueue(1)]
    assert run([taken, *puts])[0] == (8 if construct == "cond" else 9)


def test_two_loops_hand_elements_to_and_fro() -> None:
    first, second = int_queue(1, "first"), int_queue(1, "second")

    def ping(i: Any, total: Any) -> Any:
        with gf.control_dependencies([first.enqueue(i)]):
            return i + 1, total + second.dequeue()

    def pong(i: Any) -> Any:
        with gf.control_dependencies([second.enqueue(first.dequeue() * 10)]):
            return gf.identity(i + 1)

    total = gf.while_loop(lambda i, _: i < 3, ping, [0, 0], parallel_iterations=1)[1]
    answers = gf.while_loop(lambda i: i < 3, pong, [0], parallel_iterations=1)
    assert run([total, answers])[0] == 30


@pytest.mark.parametrize("compiled", TIERS)
@pytest.mark.parametrize("first", ["take", "put"])
def test_what_waits_for_another_in_the_body_of_a_loop(first: str, compiled: str) -> None:
    box = int_queue()
    scale = gf.Variable(10)
    offset = gf.placeholder_with_default(1, [])

    def body(i: Any, total: Any) -> Any:
        made: dict[str, Any] = {}
        for what in [first, "put" if first == "take" else "take"]:
            made[what] = box.dequeue() if what == "take" else box.enqueue(i * scale + offset)
        with gf.control_dependencies([made["put"]]):
            return i + 1, total + made["take"]

    result = gf.while_loop(lambda i, _: i < 3, body, [0, 0])
    assert run(result, compiled=compiled) == [3, 33]


def test_it_does_in_loops_in_loops_that_write_variables() -> None:
    box = int_queue()
    count = gf.Variable(0)

    def inner(i: Any) -> Any:
        taken = box.dequeue()
        with gf.control_dependencies([box.enqueue(2), count.assign_add(taken)]):
            return i + 1

    def outer(i: Any) -> Any:
        with gf.control_dependencies([gf.while_loop(lambda k: k < 2, inner, [0])]):
            return gf.identity(i + 1)

    with gf.Session() as session:
        session.run(count.initializer)
        loop = gf.while_loop(lambda i: i < 3, outer, [0])
        assert within_limit(lambda: session.run(loop)) == 3
        assert session.run(count) == 12


@pytest.mark.parametrize("taken", [True, False])
def test_what_waits_for_another_in_a_branch(taken: bool) -> None:
    box, flag = int_queue(), gf.placeholder(gf.bool, [])

    def both() -> Any:
        found = box.dequeue()
        with gf.control_dependencies([box.enqueue(5)]):
            return gf.identity(found)

    assert run(gf.cond(flag, both, lambda: 7), {flag: taken}) == (5 if taken else 7)


def test_functions_in_a_body_wait_for_each_other_and_the_first_failure_ends_them() -> None:
    barrier = threading.Barrier(2)
    box = int_queue()

    def meets(i: Any) -> Any:
        found = [call(lambda: 0 * barrier.wait(LIMIT / 2)) for _ in range(2)]
        return i + 1 + gf.reshape(gf.add_n(found), [])

    def fails(i: Any) -> Any:
        return i + box.dequeue() + gf.reshape(call(lambda: 1 // 0, name="fails"), [])

    assert run(gf.while_loop(lambda i: i < 2, meets, [0])) == 2
    with pytest.raises(errors.OpError, match="ZeroDivisionError"):
        run(gf.while_loop(lambda i: i < 2, fails, [0]))


def test_a_generator_waits_for_an_operation_of_the_same_run() -> None:
    event = threading.Event()

    def elements() -> Iterator[int]:
        assert event.wait(LIMIT / 2)
        yield 4

    data = gf.data.Dataset.from_generator(elements, gf.int32, [])
    drawn = data.make_one_shot_iterator().get_next()
    sets = call(lambda: event.set() or 1)
    assert run([drawn, sets]) == [4, 1]


def test_a_function_of_a_dataset_waits_for_a_dequeue_beside_it() -> None:
    box: queue.Queue[int] = queue.Queue()

    def wait(value: Any) -> Any:
        return np.int32(box.get(timeout=LIMIT / 2) + value)

    data = gf.data.Dataset.from_tensors(1).map(lambda x: gf.py_func(wait, [x], gf.int32))
    drawn = data.make_one_shot_iterator().get_next()
    made = int_queue()
    gives = call(lambda value: box.put(int(value)) or 0, made.dequeue())
    put = made.enqueue(20)
    assert run([drawn, gives, put])[0] == 21


# ---- devices, tasks, parts ------------------------------------------------------------------------------------------


def test_on_two_devices() -> None:
    with gf.device("/cpu:1"):
        first = int_queue(name="first")
        begin_later = first.dequeue() + 1
    with gf.device("/cpu:0"):
        second = int_queue(name="second")
        shown = second.dequeue() * 2
        moved = second.enqueue(begin_later)
        begin = first.enqueue(call(lambda: 4))
    assert run([shown, moved, begin], device_count={"CPU": 2})[0] == 10


def test_functions_of_two_devices_and_one_of_the_first_behind() -> None:
    barrier = threading.Barrier(3)
    found = []
    for device in ("/cpu:0", "/cpu:1", "/cpu:0"):
        with gf.device(device):
            found.append(call(lambda: barrier.wait(LIMIT / 2)))
    assert sorted(run(found, device_count={"CPU": 2})) == [0, 1, 2]


def _on_tasks(session: gf.Session) -> None:
    with gf.device("/job:ps/task:0"):
        first, second = int_queue(name="first"), int_queue(name="second")
        count = gf.Variable(1)
    with gf.device("/job:worker/task:0"):
        third = int_queue(name="third")
        shown = second.dequeue() * 2
        last = third.dequeue()
        moved = second.enqueue(first.dequeue() + count)
        passed = third.enqueue(shown)
        begin = first.enqueue(4)
    session.run(gf.global_variables_initializer())
    for _ in range(3):
        found = within_limit(lambda: session.run([shown, last, moved, passed, begin]))
        assert found[:2] == [10, 10]


@pytest.mark.parametrize("master", [0, 1])
def test_on_the_tasks_of_a_cluster(master: int) -> None:
    with ExitStack() as stack:
        servers = serve_all(stack, spec_of(stack, ps=1, worker=1))
        with gf.Session(servers[master].target) as session:
            _on_tasks(session)


@pytest.mark.parametrize("master", [0, 1])
def test_a_task_that_waits_for_nothing_itself_goes_on_with_what_another_waits_for(master: int) -> None:
    """What it computes first waits for a dequeue of the other task, which waits for what it computes next."""
    with ExitStack() as stack:
        servers = serve_all(stack, spec_of(stack, ps=1, worker=1))
        with gf.device("/job:ps/task:0"):
            late, early = int_queue(name="late"), int_queue(name="early")
            last, first = late.dequeue(), early.dequeue()
        with gf.device("/job:worker/task:0"):
            shown, moved = last * 2, first + 1
        with gf.device("/job:ps/task:0"):
            begin, put = early.enqueue(4), late.enqueue(moved)
        with gf.Session(servers[master].target) as session:
            session.run(begin)
            assert within_limit(lambda: session.run([shown, put]), 20.0)[0] == 10


def test_functions_of_one_task_wait_for_each_other() -> None:
    with ExitStack() as stack:
        servers = serve_all(stack, spec_of(stack, ps=1, worker=1))
        with gf.device("/job:worker/task:0"):
            boxes = [int_queue(name=f"box_{k}") for k in range(3)]
            taken = [box.dequeue() for box in boxes]
            puts = [box.enqueue(value) for box, value in zip(reversed(boxes), [*taken[:2], 1], strict=False)]
        with gf.device("/job:ps/task:0"):
            begin = boxes[0].enqueue(3)
        del puts
        with gf.device("/job:worker/task:0"):
            puts = [boxes[1].enqueue(taken[0]), boxes[2].enqueue(taken[1])]
        with gf.Session(servers[0].target) as session:
            assert within_limit(lambda: session.run([*reversed(taken), *puts, begin]))[:3] == [3, 3, 3]


def test_a_cluster_of_one_process() -> None:
    server = gf.train.Server.create_local_server()
    try:
        with gf.Session(server.target) as session:
            chain = _chain((0, 1, 2))
            assert within_limit(lambda: session.run(chain))[0] == 42
    finally:
        server.stop()


def test_in_a_partial_run() -> None:
    box, x = int_queue(), gf.placeholder(gf.int32, [])
    taken, put = box.dequeue(), box.enqueue(x)
    more = taken + 1
    with gf.Session() as session:
        handle = session.partial_run_setup([taken, put, more], [x])
        assert within_limit(lambda: session.partial_run(handle, [taken, put], {x: 3}))[0] == 3
        assert session.partial_run(handle, more) == 4


def test_with_make_callable() -> None:
    box = int_queue()
    taken, put = box.dequeue(), box.enqueue(2)
    with gf.Session() as session:
        function = session.make_callable([taken, put])
        assert within_limit(function)[0] == 2


# ---- ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", ["auto", "never"])
def test_a_deadline_is_no_hindrance(compiled: str) -> None:
    with gf.Session(config=gf.ConfigProto(operation_timeout_in_ms=20_000, compiled=compiled)) as session:
        chain = _chain((0, 1, 2))
        assert within_limit(lambda: session.run(chain))[0] == 42


def test_a_deadline_names_all_that_wait() -> None:
    first, second = int_queue(name="first"), int_queue(name="second")
    fetches = [first.dequeue(name="take_first"), second.dequeue(name="take_second")]
    options = gf.RunOptions(timeout_in_ms=500)
    with gf.Session() as session:
        with pytest.raises(errors.DeadlineExceededError) as found:
            within_limit(lambda: session.run(fetches, options=options))
        for name in ("take_first", "take_second", "FIFOQueue 'first'", "FIFOQueue 'second'"):
            assert name in found.value.message


def test_the_first_failure_ends_the_others() -> None:
    box = int_queue()
    taken = box.dequeue()
    fails = call(lambda: 1 // 0, name="fails")
    with pytest.raises(errors.OpError, match=r"'fails'(.|\n)*ZeroDivisionError"):
        run([taken, fails])


def test_closing_the_session_ends_all() -> None:
    first, second = int_queue(name="first"), int_queue(name="second")
    waiting = threading.Event()
    fetches = [first.dequeue(), call(lambda: waiting.set() or 0), second.dequeue()]
    session = gf.Session()
    closer = threading.Thread(target=lambda: (waiting.wait(LIMIT), session.close()))
    closer.start()
    with pytest.raises(errors.CancelledError):
        within_limit(lambda: session.run(fetches))
    closer.join(LIMIT)


@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals come to the main thread"
)
def test_control_c_ends_a_run_in_which_two_wait() -> None:
    first, second = int_queue(name="first"), int_queue(name="second")
    fetches = [first.dequeue(), call(lambda: timer.start() or 0), second.dequeue()]
    timer = threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT))
    puts = [first.enqueue(1), second.enqueue(2)]
    takes = [first.dequeue(), second.dequeue()]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with gf.Session() as session:
            with pytest.raises(KeyboardInterrupt):
                session.run(fetches)
            session.run(puts)
            assert within_limit(lambda: session.run(takes)) == [
                1,
                2,
            ]  # The run that has ended has taken neither.
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)


# ---- order ----------------------------------------------------------------------------------------------------------


def test_short_waits_end_in_the_order_of_building() -> None:
    box = int_queue(100)
    taken = [box.dequeue() for _ in range(10)]
    put = box.enqueue_many([list(range(10))])
    with gf.Session() as session:
        for _ in range(5):
            session.run(put)
            assert session.run(taken) == list(range(10))


def test_dequeues_that_wait_get_elements_in_the_order_of_building() -> None:
    box = int_queue(100)
    taken = [box.dequeue() for _ in range(5)]
    started = call(lambda: 0)
    with gf.control_dependencies([started]):
        put = box.enqueue_many([list(range(5))])
    for _ in range(3):
        assert run([taken, put])[0] == list(range(5))


def test_python_functions_that_compute_are_called_one_after_the_other() -> None:
    at_work, most, calls = [0], [0], []

    def compute(number: int) -> int:
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        time.sleep(0.03)
        calls.append(number)
        at_work[0] -= 1
        return number

    found = [call(lambda number=number: compute(number)) for number in range(4)]
    assert run(found) == [0, 1, 2, 3]
    assert (most, calls) == ([1], [0, 1, 2, 3])


def test_no_thread_is_woken_for_short_waits() -> None:
    box = int_queue(100)
    threads: list[int] = []
    found = [call(lambda: threads.append(threading.get_ident()) or 0) for _ in range(3)]
    taken = [box.dequeue(), box.dequeue()]
    put = box.enqueue_many([[1, 2]])
    with gf.Session() as session:
        session.run(put)
        session.run([found, taken])
    assert set(threads) == {threading.get_ident()}


def test_a_plan_with_one_wait_is_left_alone() -> None:
    x = gf.placeholder(gf.float32, [3])
    weights = gf.Variable(gf.ones([3]))
    box = gf.FIFOQueue(10, gf.float32, [[3]])
    loss = gf.reduce_sum(box.dequeue() * weights)
    step = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with gf.Session() as session:
        for fetches, apart in [
            (step, False),
            ([step, box.enqueue(x)], True),
            ([loss, call(lambda: 1)], True),
        ]:
            plan = session.plan(fetches, [x])[0]
            assert independent_waits.may_hold_up(plan) == apart


def test_waits_that_need_one_another_are_left_alone() -> None:
    box, other = int_queue(name="box"), int_queue(name="other")
    moved = other.enqueue(call(lambda value: value, box.dequeue()))
    with gf.Session() as session:
        assert not independent_waits.may_hold_up(session.plan(moved, [])[0])


def test_what_is_shown_of_a_plan_says_nothing_of_it() -> None:
    box = int_queue()
    fetches = [box.dequeue(), box.enqueue(1)]
    with gf.Session() as session:
        text = session.explain(fetches, [])
        assert "part" not in text and text.count("Queue") >= 3
        metadata = gf.RunMetadata()
        options = gf.RunOptions(trace_level=gf.RunOptions.FULL_TRACE)
        within_limit(lambda: session.run(fetches, options=options, run_metadata=metadata))
        devices = {stats.device for stats in metadata.step_stats.dev_stats}
        assert len(devices) == 1 and all(device.endswith("/device:CPU:0") for device in devices)

"""Protects what a task remembers of runs that are repeated, and what a plan is without what was done already."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import errors
from graphflow._core.checkpoint.saved_runs import unpack_runs
from graphflow._core.cluster.server.deduplicator import Changes, Deduplicator
from graphflow._core.common.last_runs import MOST_LINES, LastRuns
from graphflow._core.common.request_ids import MOST_RUNS, RequestId, RunId
from graphflow._core.plan.passes.repeated import changes, without
from graphflow._core.plan.verify import verify
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.devices import device_names
from graphflow._core.runtime.planner import ExecutionOptions, Planner
from graphflow.train.sessions.step_functions import Calls
from tests.cluster.serving import serve_all, spec_of

LOCAL = "/job:localhost/replica:0/task:0"


@pytest.fixture(autouse=True)
def graph() -> Iterator[Any]:
    with gf.Graph().as_default() as found:
        yield found


# ---- plans ----------------------------------------------------------------------------------------------------------


def _executable(plan: Any, store: Any) -> Any:
    config = gf.ConfigProto()
    planner = Planner(config, device_names(LOCAL, config), LOCAL)
    return planner.executable(plan, store, ExecutionOptions())


def _plan(session: Any, fetches: Any) -> Any:
    return session.plan(fetches, [])[0]


def test_what_a_plan_changes_is_found_also_in_branches() -> None:
    v, w = gf.Variable(1.0, name="v"), gf.Variable([1.0, 2.0], name="w")
    add = gf.assign_add(v, 2.0)
    rows = gf.cond(v > 0.0, lambda: gf.scatter_add(w, [0], [5.0]), lambda: w + 0.0)
    count = gf.Variable(0, name="count")
    with gf.Session() as session:
        found = changes(_plan(session, [add, rows, count.count_up_to(5)]))
    assert sorted(variable for _, variable in found) == ["count", "v", "w"]


def test_what_is_left_out_gives_the_value_that_is_there() -> None:
    v, w = gf.Variable(1.0, name="v"), gf.Variable([1.0, 2.0], name="w")
    add = gf.assign_add(v, 2.0)
    count = gf.Variable(0, name="count")
    counted = count.count_up_to(2)
    rows = gf.cond(gf.constant(3.0) * add > 0.0, lambda: gf.scatter_add(w, [0], [5.0]), lambda: w + 0.0)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        plan = _plan(session, [add, rows, counted])
        for names, expected in (
            ([add.op.name], (1.0, 6.0, 0)),
            ([n for n, variable in changes(plan) if variable == "w"], (3.0, 6.0, 1)),
            (
                [n for n, _ in changes(plan)],
                (3.0, 6.0, 1),
            ),  # And the limit is no error, as nothing is counted.
        ):
            left = without(plan, names)
            verify(left)
            executable = _executable(left, session.store)
            results = executable.run(RunContext(session.store), ())
            assert (results[0], results[1][0], results[2]) == expected


def test_the_changes_of_a_round_are_the_rounds_own_affair() -> None:
    step = gf.train.get_or_create_global_step()
    v = gf.Variable(1.0, name="v")
    optimizer = gf.train.SyncReplicasOptimizer(gf.train.AdamOptimizer(1.0), 1)
    train_op = optimizer.minimize(gf.square(v), step)
    with gf.Session() as session:
        assert changes(_plan(session, [train_op])) == []


# ---- what a task remembers ------------------------------------------------------------------------------------------


class Task:
    """A store with one variable, and a stage that counts it up."""

    def __init__(self) -> None:
        self.v = gf.Variable(0.0, name="v")
        add = gf.assign_add(self.v, 1.0)
        self.session = gf.Session()
        self.session.run(gf.global_variables_initializer())
        self.store = self.session.store
        self.runs = Deduplicator()
        plan = _plan(self.session, [add])

        def make(plan: Any) -> Any:
            return _executable(plan, self.store)

        self.changes = Changes(self.store, plan, make)
        self.executable: Any = make(plan)

    def seen(self) -> tuple[float, dict[str, list[RunId]]]:
        """The value, and by variable the runs that are known to have changed it."""
        found = unpack_runs(self.runs.get_state())
        value = float(self.store.cells(["v"])["v"].get())
        return value, {name: [run for run, _ in changes] for name, changes in found.items()}

    def run(self, call: int, attempt: int = 0, line: str = "t", index: int = 0) -> float:
        context = RunContext(self.store)
        context.request_id = RequestId(line, call, index, attempt)
        self.runs.begin(context.request_id, (call, attempt))
        return float(self.runs.carry_out(self.executable, self.changes, context, ())[0])


def test_a_repeated_run_changes_nothing_again() -> None:
    task = Task()
    assert [task.run(1), task.run(1, 1), task.run(1, 2), task.run(2), task.run(2, 1)] == [1, 1, 1, 2, 2]
    assert task.run(2, line="other") == 3
    assert task.runs.repeated == 3


def test_what_was_restored_since_is_changed_again() -> None:
    task = Task()
    assert task.run(1) == 1
    task.session.run(task.v.assign(10.0))
    assert task.run(1, 1) == 11
    assert task.run(1, 2) == 11


def test_a_run_that_failed_is_not_taken_for_done() -> None:
    task = Task()
    whole = task.executable

    class Fails:
        def run(self, context: Any, values: Any) -> Any:
            raise ValueError

    task.executable = Fails()
    with pytest.raises(ValueError):
        task.run(1)
    task.executable = whole
    assert task.run(1, 1) == 1


def test_an_earlier_attempt_ends_where_a_later_one_begins() -> None:
    runs = Deduplicator()
    assert runs.begin(RequestId("t", 5, 0, 0), "first") is None
    assert runs.begin(RequestId("t", 5, 0, 0), "first") is None
    assert runs.begin(RequestId("t", 5, 0, 2), "second") == "first"
    with pytest.raises(errors.AbortedError, match="A later attempt"):
        runs.begin(RequestId("t", 5, 0, 1), "late")
    assert runs.begin(RequestId("t", 6, 0, 0), "third") is None


def test_an_attempt_waits_for_one_that_is_in_the_middle_of_a_change() -> None:
    task = Task()
    begun, go = threading.Event(), threading.Event()
    whole = task.executable

    class Slow:
        def run(self, context: Any, values: Any) -> Any:
            begun.set()
            go.wait(60)
            return whole.run(context, values)

    task.executable = Slow()
    first = threading.Thread(target=task.run, args=[1])
    first.start()
    begun.wait(60)
    again, other = RequestId("t", 1, 0, 0), RequestId("other", 2, 0, 0)
    for attempt in (again, other):
        task.runs.begin(attempt, (attempt.call, 0))
    assert task.runs.is_busy(again) and not task.runs.is_busy(other)
    task.executable = whole
    found: list[float] = []
    second = threading.Thread(target=lambda: found.append(task.run(1, 1)))
    second.start()
    go.set()
    first.join(60)
    second.join(60)
    assert found == [1]


class Slow:
    """A stage that is held while it changes something."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole
        self.begun, self.go = threading.Event(), threading.Event()

    def run(self, context: Any, values: Any) -> Any:
        found = self.whole.run(context, values)
        self.begun.set()
        self.go.wait(60)
        return found


def test_a_snapshot_waits_for_a_change_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    task = Task()
    slow = task.executable = Slow(task.executable)
    change = threading.Thread(target=task.run, args=[1])
    change.start()
    assert slow.begun.wait(60)
    found: list[Any] = []

    def look(context: Any, values: Any) -> None:
        found.append(task.seen())

    def snapshot() -> None:
        task.runs.undisturbed(look, RunContext(task.store), ())

    reader = threading.Thread(target=snapshot)
    reader.start()
    reader.join(0.3)
    assert reader.is_alive() and not found  # The value is changed, and that is not remembered yet.
    slow.go.set()
    reader.join(60)
    change.join(60)
    assert found == [(1.0, {"v": [RunId("t", 1, 0)]})]

    slow.begun.clear()
    slow.go.clear()
    change = threading.Thread(target=task.run, args=[2])
    change.start()
    assert slow.begun.wait(60)
    monkeypatch.setattr("graphflow._core.cluster.server.deduplicator.UNDISTURBED_SECONDS", 0.1)
    snapshot()
    assert "may count again" in caplog.text
    slow.go.set()
    change.join(60)
    task.changes.blocks = True  # It may wait for who is to come after the snapshot.
    slow.begun.clear()
    slow.go.clear()
    caplog.clear()
    change = threading.Thread(target=task.run, args=[3])
    change.start()
    assert slow.begun.wait(60)
    snapshot()
    assert not caplog.text
    slow.go.set()
    change.join(60)


def test_a_change_waits_for_a_snapshot_until_that_has_what_it_needs() -> None:
    task = Task()
    done: list[None] = []

    def look(context: Any, values: Any) -> None:
        assert task.runs.is_busy(RequestId("t", 1, 0, 0))
        before = task.seen()
        change.start()
        change.join(0.3)
        assert change.is_alive() and task.seen() == before == (0.0, {})
        context.others_may_change()
        change.join(60)
        assert not change.is_alive() and not task.runs.is_busy(RequestId("t", 2, 0, 0))
        done.append(None)

    change = threading.Thread(target=task.run, args=[1])
    task.runs.undisturbed(look, RunContext(task.store), ())
    assert done


def test_who_waits_for_a_snapshot_or_for_a_change_before_it_ends_when_it_has_to() -> None:
    task = Task()
    context = RunContext(task.store)
    context.request_id = RequestId("t", 1, 0, 0)
    task.runs.begin(context.request_id, "step")

    def look(_: Any, values: Any) -> None:
        context.cancel()
        with pytest.raises(errors.CancelledError):
            task.runs.carry_out(task.executable, task.changes, context, ())

    task.runs.undisturbed(look, RunContext(task.store), ())
    task.runs.at_work += 1
    with pytest.raises(errors.CancelledError):
        task.runs.undisturbed(look, context, ())
    task.runs.at_work -= 1
    assert task.run(2) == 1


def test_what_was_changed_is_known_again_when_the_value_that_has_it_is_restored() -> None:
    task = Task()
    task.run(1)
    saved = task.runs.get_state()
    task.run(1, line="later")
    for runs in (task.runs, Deduplicator()):  # Of the task itself, and of one that was started again.
        task.runs = task.store.runs = runs
        runs.set_state(saved, ["v", "elsewhere"], ["v"])
        assert list(runs.restoring) == ["v"]
        task.session.run(task.v.assign(1.0))
        assert not runs.restoring
        assert task.run(1, 1) == 1
        assert task.run(1, 1, line="later") == 2
    task.runs.set_state(saved, ["v"], ["v"])
    task.run(2)
    task.session.run(task.v.assign(1.0))
    with pytest.raises(errors.AbortedError):  # A later call has begun since.
        task.run(1, 2)


def test_a_restore_that_leaves_a_variable_out_leaves_its_changes_as_they_are() -> None:
    task = Task()
    task.store.runs = task.runs
    saved = task.runs.get_state()
    task.run(1)
    task.runs.set_state(saved, ["w"], ["v"])
    assert task.run(1, 1) == 1


def test_what_a_checkpoint_says_of_runs_may_be_anything() -> None:
    runs = Deduplicator()
    for text in (
        b"", b"[]", b"{}", b"[" * 100_000, b'{"runs": [["t", 1, 0, 0]], "changes": []}', b"\xff",
        b'{"runs": [["t", -1, 0, 0]], "changes": [[]]}', b'{"runs": [], "changes": [[1]]}',
        b'{"runs": 1, "changes": 2}',
    ):  # fmt: skip
        with pytest.raises(ValueError, match="makes no sense"):
            runs.set_state({"json": np.frombuffer(text, np.uint8)}, ["v"], [])
    with pytest.raises(ValueError, match="makes no sense"):
        runs.set_state({"other": np.zeros(1)}, ["v"], [])
    runs.set_state({}, ["v"], [])
    assert not runs.restoring and len(runs.machine.runs) == 0


@pytest.mark.parametrize("count", [17, 1000])
def test_all_runs_of_a_call_are_remembered(count: int) -> None:
    task = Task()
    runs = range(count)
    assert [task.run(1, index=n) for n in runs] == [n + 1 for n in runs]
    assert [task.run(1, 1, index=n) for n in runs] == [count] * count
    assert task.run(2) == count + 1
    assert len(task.runs.machine.runs) == 1  # The call before is not repeated any more.
    with pytest.raises(errors.AbortedError, match="A later run"):
        task.run(1, 2)


def test_what_was_forgotten_is_an_error_and_never_changed_again() -> None:
    task, lines = Task(), 40
    task.runs = Deduplicator(LastRuns(most_lines=lines))
    for line in range(lines + 1):
        for index in range(2):
            task.run(1, line=f"line {line}", index=index)
    assert task.run(1, 1, "line 1") == 2 * (lines + 1)
    for index in range(2):
        with pytest.raises(errors.DataLossError, match="has forgotten"):
            task.run(1, 1, "line 0", index)
    task.run(1, 0, "line 0", 2)  # It goes on with the same call: what it had before is forgotten still.
    with pytest.raises(errors.DataLossError, match="has forgotten"):
        task.run(1, 1, "line 0")
    count = task.run(2, 0, "line 0")
    assert task.run(2, 1, "line 0") == count
    assert task.run(1, 1, "new") == count + 1  # Its first attempt did not come to this task.


def test_what_is_remembered_is_bounded() -> None:
    found: LastRuns[int] = LastRuns()
    for number in range(MOST_LINES + 5):
        found.put(RunId(f"line {number}", 1, 0), number)
    assert len(found) == MOST_LINES and found.get(RunId("line 4", 1, 0)) is None and found.get(None) is None
    few: LastRuns[int] = LastRuns(most_values=10)
    for line in "abc":
        for index in range(6):
            few.put(RunId(line, 1, index), index)
    assert len(few) == 6 and few.get(RunId("c", 1, 0, True)) == 0
    with pytest.raises(errors.DataLossError):
        few.get(RunId("b", 1, 0, True))
    few.clear()
    assert not len(few)


def test_what_a_reset_has_cleared_is_changed_again() -> None:
    task = Task()
    assert task.run(1) == 1
    task.store.reset(None)
    task.session.run(task.v.initializer)
    task.changes = Changes(task.store, task.changes.plan, task.changes.make)
    task.executable = task.changes.make(task.changes.plan)
    assert task.run(1, 1) == 1


@pytest.mark.parametrize(
    "details",
    [
        ["t"],
        [1, 2, 3, 4],
        ["t", -1, 0, 0],
        ["t" * 100, 1, 0, 0],
        ["t", True, 0, 0],
        ["t", 1, MOST_RUNS, 0],
        "t",
        7,
    ],
)
def test_what_is_no_attempt_is_refused(details: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        RequestId.of(details)


def test_the_runs_of_a_call_keep_their_numbers() -> None:
    calls = Calls()
    one, other = calls.begin(), calls.begin()
    first = [RequestId.of(one.next_run()) for _ in range(2)]
    one.again()
    again = [RequestId.of(one.next_run()) for _ in range(3)]
    assert [(a.call, a.index) for a in first] == [(1, 0), (1, 1)]
    assert [(a.call, a.index) for a in again] == [(1, 0), (1, 1), (1, 2)]
    assert {a.attempt for a in first} == {0} and {a.attempt for a in again} == {1}
    assert first[0].run == again[0].run and again[0].run.repeated and not first[0].run.repeated
    assert RequestId.of(first[0].details()) == first[0]
    assert RequestId.of(other.next_run()).line != first[0].line  # Another thread's.
    calls.end(one)
    after = calls.begin()
    assert RequestId.of(after.next_run()).run == RunId(first[0].line, 2, 0)


def test_more_runs_than_are_remembered_are_refused_before_they_begin() -> None:
    attempts = Calls().begin()
    for _ in range(MOST_RUNS):
        attempts.next_run()
    with pytest.raises(errors.ResourceExhaustedError, match=f"at most {MOST_RUNS} runs"):
        attempts.next_run()


# ---- on a cluster ---------------------------------------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[tuple[dict[str, list[str]], list[gf.train.Server]]]:
    with ExitStack() as stack:
        spec = spec_of(stack, ps=2, worker=1)
        yield spec, serve_all(stack, spec)


def test_on_a_cluster_what_one_ps_has_done_is_left_and_the_other_does_it(cluster: Any) -> None:
    _, (*_, worker) = cluster
    variables = []
    for index in range(2):
        with gf.device(f"/job:ps/task:{index}"):
            variables.append(gf.Variable(0.0, name=f"v{index}"))
    one = [gf.assign_add(v, 1.0) for v in variables]
    both = gf.group(*one)
    attempts = Calls().begin()
    with gf.Session(worker.target) as session:
        session.run(gf.global_variables_initializer())
        session.numbered(attempts.next_run())
        session.run(one[0])  # As if the step had been cut off.
        session.numbered(None)
    attempts.again()
    with gf.Session(worker.target) as session:
        session.numbered(attempts.next_run())
        _, first, second = session.run([both, *one])
        session.numbered(None)
        assert (first, second) == (1.0, 1.0)
        np.testing.assert_array_equal(session.run(variables), [1.0, 1.0])
        session.run(both)
        np.testing.assert_array_equal(session.run(variables), [2.0, 2.0])
    tasks = gf.train.cluster_status(worker.target)
    assert sorted(t["recovery"]["runs_repeated"] for t in tasks) == [0, 0, 1]


def test_a_run_that_waits_does_not_keep_others_from_changing_variables_in_place(cluster: Any) -> None:
    _, (ps, _, worker) = cluster
    with gf.device("/job:ps/task:0"):
        queue = gf.FIFOQueue(1, [gf.float32], [[]])
        taken, put = queue.dequeue(), queue.enqueue([1.0])
        v = gf.Variable(np.zeros(3, np.float32))
        more = gf.assign_add(v, [1.0, 1.0, 1.0]).op
    store = ps._service.store
    with ThreadPoolExecutor(1) as pool, gf.Session(worker.target) as session:
        session.run(v.initializer)
        waits = pool.submit(session.run, taken)
        while not store.waiting():
            time.sleep(0.001)
        (cell,) = [c for c in store.variables() if c.value is not None]
        before = cell.value
        session.run(more)
        assert cell.value is before
        session.run(put)
        assert waits.result(60) == 1.0


def test_hooks_cost_no_message_in_a_step(cluster: Any) -> None:
    spec, servers = cluster
    with gf.device(gf.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")):
        step = gf.train.get_or_create_global_step()
        v = gf.get_variable("v", [4], initializer=gf.zeros_initializer())
        train_op = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_sum(gf.square(v - 1.0)), step)
    logged: list[Any] = []
    hooks = [
        gf.train.StopAtStepHook(last_step=1000),
        gf.train.LoggingTensorHook({"v": v}, every_n_iter=1000, formatter=logged.append),
        gf.train.StepCounterHook(every_n_steps=1000),
    ]

    def messages(run: Any) -> float:
        before = sum(s._service.sockets.messages_in for s in servers)
        for _ in range(200):
            run(train_op)
        return (sum(s._service.sockets.messages_in for s in servers) - before) / 200

    with gf.train.MonitoredSession(gf.train.ChiefSessionCreator(master=servers[-1].target), hooks) as session:
        for _ in range(3):
            session.run(train_op)
        with_hooks, bare = messages(session.run), messages(session._session.run)
        assert with_hooks < bare + 0.3
        assert session.run(step) == 403


def test_a_training_stops_at_its_step_on_a_cluster(cluster: Any) -> None:
    spec, servers = cluster
    with gf.device(gf.train.replica_device_setter(cluster=spec, worker_device="/job:worker/task:0")):
        step = gf.train.get_or_create_global_step()
        more = gf.assign_add(step, 1)
        look = gf.identity(step)
    hooks = [gf.train.StopAtStepHook(last_step=20)]
    runs = 0
    with gf.train.MonitoredSession(gf.train.ChiefSessionCreator(master=servers[-1].target), hooks) as session:
        while not session.should_stop():
            session.run(look if runs % 3 == 2 else more)  # Not every run moves the step.
            runs += 1
    assert runs in (29, 30)
    with gf.Session(servers[-1].target) as session:
        assert session.run(step) == 20

"""Protects who computes the stages of a run: one stage of a device at a time, devices at the same time, no thread woken
for nothing, and ends that reach all that is at work.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from graphflow import errors
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime import scheduler as scheduler_module
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.inline_scheduler import InlineScheduler
from graphflow._core.runtime.progress import Parts, PartStage
from graphflow._core.runtime.scheduler import Scheduler, StageRunner
from graphflow._core.runtime.threads import ThreadPool
from tests.common.clock import Clock

LIMIT = 60.0


class Stage(Executable):
    """What computes a stage: a function of its values, which gives the results."""

    uses_variables = False

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        self.function = function
        self.threads: list[int] = []

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        self.threads.append(threading.get_ident())
        return tuple(self.function(*feeds))

    call = run
    part: Any = None


class CountingPool(ThreadPool):
    """A pool that counts what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.submitted = 0

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.submitted += 1
        super().submit(function, *arguments)


@pytest.fixture
def pool() -> Any:
    made = CountingPool()
    yield made
    made.close()


def stage(
    function: Callable[..., Any], feeds: str = "", fetches: str = "", receives: Any = None, sends: Any = (),
    unbounded: bool = False, seconds: float = 0.0,
) -> PartStage:  # fmt: skip
    code = Stage(function)
    runner = StageRunner(code, code, unbounded, seconds)
    return PartStage(runner, tuple(feeds), tuple(fetches), receives or {}, [(e, n, "") for e, n in sends])


def scheduler(parts: Parts, pool: ThreadPool, run: RunContext | None = None) -> Scheduler:
    context = run or RunContext(ResourceStore())
    return Scheduler(parts, context, list(range(len(parts.feeds))), lambda: pool, (), False)


def ping_pong(rounds: int, seconds: float) -> Parts:
    """Two devices that hand a number to each other and add one."""
    one, other = [], []
    for k in range(rounds):
        receives = {2 * k - 1: "x"} if k else {}
        one.append(stage(lambda x: [x + 1], "x", "y", receives, [(2 * k, "y")], seconds=seconds))
        other.append(stage(lambda x: [x + 1], "x", "y", {2 * k: "x"}, [(2 * k + 1, "y")], seconds=seconds))
    return Parts({"a": one, "b": other[:-1] + [stage(lambda x: [x + 1], "x", "z", {2 * rounds - 2: "x"})]},
                 ("x",), [("b", "z")])  # fmt: skip


@pytest.mark.parametrize("seconds", [0.0, 1.0], ids=["quick", "slow"])
def test_where_one_device_is_ready_no_thread_is_woken(pool: CountingPool, seconds: float) -> None:
    parts = ping_pong(5, seconds)
    assert scheduler(parts, pool).run() == [10]
    assert pool.submitted == 0
    used = {t for stages in parts.stages.values() for s in stages for t in s.run.executable.threads}
    assert used == {threading.get_ident()}


def test_quick_stages_that_are_ready_at_once_share_a_thread(pool: CountingPool) -> None:
    parts = Parts({d: [stage(lambda: [1], "", "v")] for d in "abc"}, (), [(d, "v") for d in "abc"])
    assert scheduler(parts, pool).run() == [1, 1, 1]
    assert pool.submitted == 0


@pytest.mark.parametrize("kind", [{"seconds": 1.0}, {"unbounded": True}], ids=["slow", "unbounded"])
def test_what_is_slow_or_waits_is_computed_at_the_same_time(pool: CountingPool, kind: dict[str, Any]) -> None:
    meeting = threading.Barrier(3, timeout=LIMIT)
    devices = {d: [stage(lambda: [meeting.wait() >= 0], "", "v", **kind)] for d in "abc"}
    assert scheduler(Parts(devices, (), [(d, "v") for d in "abc"]), pool).run() == [True] * 3
    assert pool.submitted == 2


def test_the_caller_goes_on_with_what_another_thread_makes_ready(pool: CountingPool) -> None:
    """Two devices compute, exchange, and compute again: the second time both threads are there already."""
    made: list[Scheduler] = []
    meeting = threading.Barrier(2, timeout=LIMIT)
    begun = threading.Event()

    def first() -> list[int]:
        assert begun.wait(LIMIT)
        return [1]

    def second() -> list[int]:
        """Ends when the calling thread is through with the other and waits."""
        begun.set()
        for _ in range(50_000):
            if made[0]._idle:
                break
            threading.Event().wait(0.001)
        return [1]

    def part(own: int, other: int, function: Callable[..., Any]) -> list[PartStage]:
        first = stage(function, "", "x", None, [(own, "x")], seconds=1.0)
        return [first, stage(lambda y: [meeting.wait() >= 0], "y", "z", {other: "y"}, seconds=1.0)]

    stages = {"a": part(0, 1, first), "b": part(1, 0, second)}
    made.append(scheduler(Parts(stages, (), [("a", "z"), ("b", "z")]), pool))
    assert made[0].run() == [True, True]
    assert pool.submitted == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_device_computes_one_stage_at_a_time_and_all_get_what_they_need(
    pool: CountingPool, seed: int
) -> None:
    chance = random.Random(seed)
    busy = {d: threading.Lock() for d in "abc"}
    values: list[tuple[str, int]] = []
    stages: dict[str, list[PartStage]] = {d: [] for d in "abc"}

    def compute(device: str) -> Callable[..., Any]:
        def function(*given: int) -> Any:
            assert busy[device].acquire(blocking=False)
            threading.Event().wait(chance.random() / 1000)
            busy[device].release()
            return [sum(given) + 1]

        return function

    totals: dict[tuple[str, int], int] = {}
    edges = 0
    for _ in range(30):
        device = chance.choice("abc")
        number = len(stages[device])
        sources = [v for v in values if v[0] != device and chance.random() < 0.2]
        receives = {}
        for k, source in enumerate(sources):
            receives[edges] = f"r{number}.{k}"
            sender = stages[source[0]][source[1]]
            sender.sends.append((edges, sender.fetches[0], ""))
            edges += 1
        code = Stage(compute(device))
        runner = StageRunner(code, code, False, chance.choice([0.0, 1.0]))
        stages[device].append(PartStage(runner, tuple(receives.values()), (f"v{number}",), receives, []))
        totals[device, number] = sum(totals[s] for s in sources) + 1
        values.append((device, number))
    fetches = [(device, f"v{number}") for device, number in values]
    expected = [totals[v] for v in values]
    parts = Parts(stages, (), fetches)
    parts.check()
    assert scheduler(parts, pool).run() == expected
    assert InlineScheduler(parts, False).run(RunContext(ResourceStore()), []) == expected


def test_an_error_lets_nothing_more_begin_and_is_raised_when_nothing_is_at_work(pool: CountingPool) -> None:
    store = ResourceStore()
    run = RunContext(store)
    order: list[str] = []
    waits = threading.Event()

    def fail() -> Any:
        waits.wait(LIMIT)
        raise errors.InvalidArgumentError(None, None, "the first")

    def waiting() -> Any:
        """Ends when the run is cancelled, and then fails in its turn."""
        waits.set()
        condition = threading.Condition()
        try:
            store.wait(condition, lambda: None, run, lambda: "for ever")
        finally:
            order.append("ended")

    parts = Parts(
        {"a": [stage(fail, unbounded=True), stage(lambda: order.append("begun") or [])],
         "b": [stage(waiting, unbounded=True)]}, (), [],
    )  # fmt: skip
    with pytest.raises(errors.InvalidArgumentError, match="the first"):
        scheduler(parts, pool, run).run()
    assert order == ["ended"]


def test_what_a_helper_raises_ends_the_run_whatever_it_is(pool: CountingPool) -> None:
    """A Python function may call sys.exit(), or raise what test frameworks and asyncio do."""
    begun = threading.Event()

    def leaving() -> Any:
        begun.set()
        raise SystemExit(3)

    parts = Parts(
        {
            "a": [stage(lambda: [begun.wait(LIMIT)][1:], unbounded=True)],
            "b": [stage(leaving, unbounded=True)],
        },
        (),
        [],
    )
    run = RunContext(ResourceStore())
    with pytest.raises(SystemExit):
        Scheduler(parts, run, [], lambda: pool, (), False).run()


def test_an_interrupted_caller_leaves_helpers_to_themselves_and_they_leave_the_store(
    pool: CountingPool,
) -> None:
    """As long as a helper is at work the run counts as active: nobody changes in place what it may be reading."""
    store = ResourceStore()
    store.enter()
    begun, go = threading.Event(), threading.Event()

    def interrupted() -> Any:
        begun.wait(LIMIT)
        raise KeyboardInterrupt

    def working() -> Any:
        begun.set()
        go.wait(LIMIT)
        return []

    parts = Parts({"a": [stage(interrupted, unbounded=True)], "b": [stage(working, unbounded=True)]}, (), [])
    run = RunContext(store)
    with pytest.raises(KeyboardInterrupt):
        Scheduler(parts, run, [], lambda: pool, (), True).run()
    store.leave()  # As the session does.
    store.enter()
    assert not store.begin_in_place()
    go.set()
    limit = threading.Event()
    for _ in range(6000):
        if store.begin_in_place():
            break
        limit.wait(0.01)
    else:
        pytest.fail("the helper did not leave")
    store.end_in_place()


class _GivenUp(Exception):
    """The run was given up."""


def test_what_looks_at_the_deadline_itself_has_a_moment_to_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run is given up some milliseconds after its deadline, so that a loop or a wait is heard first."""
    clock = Clock()
    monkeypatch.setattr(scheduler_module, "time", clock)
    deadline = clock.now + 3.0

    def give_up() -> None:
        raise _GivenUp

    held: Any = SimpleNamespace(
        _run=SimpleNamespace(deadline=deadline), _watched=True, _give_up=give_up,
        _changed=SimpleNamespace(wait=clock.sleep),
    )  # fmt: skip
    with pytest.raises(_GivenUp):
        while clock.now < deadline + 100:
            Scheduler._wait(held)
    assert 0.002 <= clock.now - deadline <= 0.5

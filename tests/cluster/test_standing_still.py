"""Protects synchronous training from workers that stand still: the others wait, say for whom, and go on with them.

Promise 43. A ps and some workers, each a process; workers are stopped with SIGSTOP for longer than others wait for a
sign of life. In the quick tests that is a second; the slow ones take the times of the promise. A healthy worker may not
need a recovery because another one is gone.
"""

from __future__ import annotations

import json
import random
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.processes import Processes
from tests.machine_clock import MachineClock

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the processes are looked after as Linux does"
)

PROMISED_SECONDS = 2.0
"""Within which all go on; beside other programs, which share the processors, the time of some rounds more."""
ROUNDS_MORE = 10
QUICK_STOP_SECONDS = 2.0


class Training:
    """The processes of one training, some of which are made to stand still."""

    def __init__(self, run: Processes, workers: int, **arguments: Any) -> None:
        self.run = run
        self.workers = workers
        self.arguments = {"needed": workers, "quick": True, **arguments}
        run.start("ps", 0, quick=self.arguments["quick"])

    def start(self, index: int, **arguments: Any) -> None:
        self.run.start("worker", index, **self.arguments | arguments)

    def start_all(self, **arguments: dict[str, Any]) -> None:
        """Starts the workers; who is in `arguments` as worker_0 and so on has more of them."""
        for index in range(self.workers):
            self.start(index, **arguments.get(f"worker_{index}", {}))

    def returned(self, index: int) -> list[tuple[float, int]]:
        """When runs of a worker have returned, and the global step then."""
        files = self.run.folder.glob(f"times_worker_{index}_*")
        lines = [line.split() for file in files for line in file.read_text().split("\n")[:-1]]
        return sorted((float(at), int(step)) for at, step in lines)

    def times(self, index: int) -> list[float]:
        """When runs of a worker have returned."""
        return [at for at, _ in self.returned(index)]

    def all_train(self, since: float, who: Sequence[int] | None = None, seconds: float = 60) -> float:
        """Waits until each has had three runs since a time; when the last one had its first."""
        limit = time.monotonic() + seconds
        who = range(self.workers) if who is None else who
        while True:
            later = [[t for t in self.times(index) if t > since] for index in who]
            if all(len(found) >= 3 for found in later):
                return max(found[0] for found in later)
            ended = [i for i in who if self.run.latest("worker", i) in self.run._ends]
            assert not ended, f"worker {ended} has ended\n{self.run.text()}"
            assert time.monotonic() < limit, f"since {since}: {list(map(len, later))}\n{self.run.text()}"
            time.sleep(0.02)

    def allowed(self) -> float:
        """Within how many seconds all go on, by how long a round takes just now."""
        since = time.monotonic()
        return PROMISED_SECONDS + ROUNDS_MORE * (self.all_train(since) - since)

    @contextmanager
    def promptly(self) -> Iterator[Callable[[float], float]]:
        """Has a function that waits until all go on again since a time, which must not last longer than promised.

        It returns how long that lasted, by a clock that goes as fast as the machine.
        """
        allowed = self.allowed()
        with MachineClock() as clock:

            def goes_on(since: float) -> float:
                begun = clock.seconds
                self.all_train(since)
                lasted = clock.seconds - begun
                assert lasted < allowed, f"{lasted} s, not {allowed}\n{self.run.text()}"
                return lasted

            yield goes_on

    def stop(self, who: Sequence[int], seconds: float, says: int | None = None) -> float:
        """Has workers stand still for a while, and until worker `says` has said that it waits for them; when they go
        on.
        """
        before = self.waits(says)
        for index in who:
            self.run.signal("worker", index, signal.SIGSTOP)
        time.sleep(seconds)
        limit = time.monotonic() + 60
        while says is not None and not any(_says(line, who) for line in self.waits(says)[len(before) :]):
            assert time.monotonic() < limit, self.run.text()
            time.sleep(0.05)
        for index in who:
            self.run.signal("worker", index, signal.SIGCONT)
        return time.monotonic()

    def waits(self, index: int | None = None) -> list[str]:
        """What a worker has said to wait for in a round."""
        if index is None:
            return []
        return [line for line in self.log(index).splitlines() if "Still waiting for step" in line]

    def end(self) -> None:
        """All end well, and each acknowledged gradient was applied once."""
        self.set_end()
        for index in range(self.workers):
            assert self.run.ended("worker", index) == 0, self.run.text()
        applied = {int(k): v for k, v in json.loads((self.run.folder / "result").read_text()).items()}
        assert set(applied.values()) == {1.0}, "a gradient was applied twice"
        assert set(self.run.acknowledged()) <= applied.keys(), "what was acknowledged was not applied"

    def set_end(self) -> None:
        """All are to end some steps from now."""
        reached = max(step for index in range(self.workers) for _, step in self.returned(index))
        (self.run.folder / "part_of_finish").write_text(str(reached + 40))
        (self.run.folder / "part_of_finish").rename(self.run.folder / "finish")

    def was_patient(self, *who: int) -> None:
        """These workers have had no error, and no recovery, because others were gone."""
        for index in who:
            assert "replicas for a step, and these are gone" not in self.log(index), self.run.text()

    def log(self, index: int) -> str:
        return self.run.log(self.run.latest("worker", index))


def _says(line: str, who: Sequence[int]) -> bool:
    """Whether a worker waits for some of these alone, and takes each to be gone.

    Not for all of them, in any case: who stands still may have given its gradient for the step before.
    """
    awaited = re.findall(r"task:(\d+)( \(gone for)?", line.partition("awaited:")[2])
    return bool(awaited) and all(gone and int(index) in who for index, gone in awaited)


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[..., Training]]:
    with ExitStack() as stack:

        def start(workers: int, **arguments: Any) -> Training:
            run = stack.enter_context(
                Processes(tmp_path / "run", "tests.cluster.standing_role", {"ps": 1, "worker": workers})
            )
            return Training(run, workers, **arguments)

        yield start


@pytest.mark.parametrize("times", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("stopped", [0, 1], ids=["chief", "worker"])
def test_promise_43_the_others_wait_for_who_stands_still_and_go_on_with_it(
    stopped: int, times: int, begin: Callable[..., Training]
) -> None:
    training = begin(2)
    other = 1 - stopped
    training.start_all()
    training.all_train(0.0)
    for _ in range(times):
        with training.promptly() as goes_on:
            goes_on(training.stop([stopped], QUICK_STOP_SECONDS, says=other))
    training.end()
    training.was_patient(other)


def test_promise_43_three_of_eight_stand_still(begin: Callable[..., Training]) -> None:
    training = begin(8)
    training.start_all()
    training.all_train(0.0)
    with training.promptly() as goes_on:
        goes_on(training.stop([1, 3, 5], QUICK_STOP_SECONDS, says=0))
    training.end()
    training.was_patient(0, 2, 4, 6, 7)


def test_a_chief_that_is_killed_goes_on_with_the_others_though_its_session_does_not_see_them(
    begin: Callable[..., Training],
) -> None:
    """Its device filters, as those of nearly every program, name the ps tasks and itself."""
    training = begin(2)
    training.start_all()
    training.all_train(time.monotonic() + 5.0)  # Until each has told the ps that it has a client.
    training.run.signal("worker", 0, signal.SIGKILL)
    training.start(0)
    training.all_train(time.monotonic())
    training.end()
    assert "steps are lost" not in training.log(0)


def test_with_backup_replicas_nobody_waits(begin: Callable[..., Training]) -> None:
    training = begin(3, needed=2)
    training.start_all()
    training.all_train(0.0)
    training.run.signal("worker", 2, signal.SIGSTOP)
    stopped = time.monotonic()
    training.all_train(stopped + 0.1, [0, 1])
    training.all_train(stopped + 1.5, [0, 1])
    training.run.signal("worker", 2, signal.SIGCONT)
    training.all_train(time.monotonic())
    training.end()
    training.was_patient(0, 1)


@pytest.mark.slow
def test_one_after_the_other_stands_still_each_before_the_last_one_is_back(
    begin: Callable[..., Training],
) -> None:
    training = begin(3)
    training.start_all()
    training.all_train(0.0)
    before: int | None = None
    for index in (0, 1, 2, 0):
        training.run.signal("worker", index, signal.SIGSTOP)
        time.sleep(1.2)
        if before is not None:
            training.run.signal("worker", before, signal.SIGCONT)
        before = index
    training.run.signal("worker", 0, signal.SIGCONT)
    training.all_train(time.monotonic())
    training.end()


def test_a_ps_that_stands_still_costs_a_recovery_and_no_more(begin: Callable[..., Training]) -> None:
    training = begin(2, recoveries=3)
    training.start_all()
    training.all_train(0.0)
    with training.promptly() as goes_on:
        training.run.signal("ps", 0, signal.SIGSTOP)
        time.sleep(QUICK_STOP_SECONDS)
        training.run.signal("ps", 0, signal.SIGCONT)
        goes_on(time.monotonic())
    training.end()


def test_a_worker_that_stands_still_as_it_starts_is_awaited_by_name(begin: Callable[..., Training]) -> None:
    training = begin(2)
    training.start(1, pause_at="start")
    while not (training.run.folder / "paused").exists():
        time.sleep(0.01)
    training.run.signal("worker", 1, signal.SIGSTOP)
    (training.run.folder / "go").touch()
    training.start(0)
    while "Still waiting for step" not in training.log(0):
        time.sleep(0.05)
    (line, *_) = [x for x in training.log(0).splitlines() if "Still waiting for step" in x]
    assert "task:1 (gone for" in line
    training.run.signal("worker", 1, signal.SIGCONT)
    training.all_train(time.monotonic())
    training.end()


@pytest.mark.slow
def test_a_worker_that_stands_still_as_it_closes_holds_nobody_up(begin: Callable[..., Training]) -> None:
    training = begin(2)
    training.start(0)
    training.start(1, pause_at="close")
    training.all_train(0.0)
    training.set_end()
    while not (training.run.folder / "paused").exists():
        time.sleep(0.01)
    training.run.signal("worker", 1, signal.SIGSTOP)
    while not (training.run.folder / "done_0").exists():
        time.sleep(0.01)
    (training.run.folder / "go").touch()
    time.sleep(2.0)
    training.run.signal("worker", 1, signal.SIGCONT)
    for index in (0, 1):
        assert training.run.ended("worker", index) == 0, training.run.text()


@pytest.mark.parametrize(
    "comes_back",
    [pytest.param(True, marks=pytest.mark.slow, id="started-again"), pytest.param(False, id="gone-for-good")],
)
def test_a_worker_that_stands_still_and_is_killed(comes_back: bool, begin: Callable[..., Training]) -> None:
    training = begin(2, wait_ms=0 if comes_back else 4000)
    training.start_all()
    training.all_train(0.0)
    training.run.signal("worker", 1, signal.SIGSTOP)
    time.sleep(2.0)
    if not comes_back:
        with MachineClock() as clock:
            training.run.signal("worker", 1, signal.SIGKILL)
            killed = clock.seconds
            assert training.run.ended("worker", 0) != 0
            assert clock.seconds < killed + 4.0 + PROMISED_SECONDS
        (line,) = [x for x in training.log(0).splitlines() if "DeadlineExceededError" in x and "gone" in x]
        assert "/job:worker/replica:0/task:1" in line and "replica_wait_in_ms" in line
        return
    training.run.signal("worker", 1, signal.SIGKILL)
    time.sleep(1.0)
    training.start(1)
    training.all_train(time.monotonic())
    training.end()
    training.was_patient(0)


@pytest.mark.parametrize(
    "stopped", [pytest.param(0, marks=pytest.mark.slow, id="chief"), pytest.param(1, id="worker")]
)
def test_promise_43_under_a_supervisor_the_others_wait_too(
    stopped: int, begin: Callable[..., Training]
) -> None:
    """Who stood still has lost its session, as a Supervisor makes none anew; started again it takes part again."""
    training = begin(2, kind="supervised")
    training.start_all()
    training.all_train(0.0)
    back = training.stop([stopped], QUICK_STOP_SECONDS)
    other = 1 - stopped
    while training.run.latest("worker", stopped) not in training.run._ends:
        if all(any(t > back for t in training.times(index)) for index in (0, 1)):
            break
        time.sleep(0.02)
    else:
        training.start(stopped)
    training.all_train(back, [other])
    training.all_train(back)
    training.end()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("workers", "stopped", "seconds"),
    [(2, [1], 60), (2, [0], 60), (2, [1], 20), (2, [0], 20), (8, [1, 3, 5], 60), (8, [0, 2, 4], 20)],
)
def test_promise_43_with_the_times_of_the_promise(
    workers: int, stopped: list[int], seconds: float, begin: Callable[..., Training]
) -> None:
    training = begin(workers, quick=False)
    healthy = [index for index in range(workers) if index not in stopped]
    training.start_all()
    training.all_train(0.0)
    with training.promptly() as goes_on:
        resumed = goes_on(training.stop(stopped, seconds))
    print(f"{workers} workers, {stopped} for {seconds:g} s: all go on after {resumed:.2f} s")
    training.end()
    training.was_patient(*healthy)


@pytest.mark.parametrize("needed", [3, 2], ids=["all", "with-a-backup"])
@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[pytest.mark.slow, pytest.mark.timeout(240)]) for n in range(30)]
)
def test_whoever_stops_goes_on_or_dies_all_come_to_their_end(
    seed: int, needed: int, begin: Callable[..., Training]
) -> None:
    """Stops, some of which overlap, of the ps as well; who is killed is started again, at once or after a while."""
    chance = random.Random(seed)
    training = begin(3, needed=needed, recoveries=30)
    training.start_all()
    training.all_train(0.0)
    stopped: set[tuple[str, int]] = set()
    story: list[str] = []
    for _ in range(6):
        role, index = chance.choice([("ps", 0), *(("worker", i) for i in range(3))])
        act = chance.choice(["stop", "stop", "kill", "go on", "flicker"])
        if act == "kill" and role == "ps":
            act = "stop"  # What it had is gone then: see test_sync_replicas.py.
        story.append(f"{act} {role} {index}")
        if act == "stop":
            training.run.signal(role, index, signal.SIGSTOP)
            stopped.add((role, index))
        elif act == "kill":
            training.run.signal(role, index, signal.SIGKILL)
            stopped.discard((role, index))
            time.sleep(chance.choice([0.0, 0.5, 2.0]))
            training.start(index)
        elif act == "flicker":
            for _ in range(10):
                training.run.signal(role, index, signal.SIGSTOP)
                time.sleep(chance.random() * 0.1)
                training.run.signal(role, index, signal.SIGCONT)
                time.sleep(chance.random() * 0.02)
            stopped.discard((role, index))
        elif stopped:
            who = stopped.pop()
            training.run.signal(*who, signal.SIGCONT)
        time.sleep(chance.choice([0.05, 0.5, 1.5, 3.0]))
    for who in stopped:
        training.run.signal(*who, signal.SIGCONT)
    print(story)
    training.all_train(time.monotonic())
    training.end()

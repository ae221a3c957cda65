"""The launcher: all tasks of a cluster on this machine, as processes that begin and end together.

One thread watches the processes, their output and the signals that it gets itself; it forks before there is another,
and the kernel ties the children to it. The chief's end is the end of the job: what is left is stopped in order, then
asked to end, then killed. A worker that fails is reported and the others go on, as asynchronous training can; without
the chief or a ps nothing can.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import IO

import graphflow.errors as errors
from graphflow._core.cluster.client.control import stop_task
from graphflow._core.cluster.environment import VARIABLE
from graphflow._core.cluster.launch.children import Child, Ending, FarChild
from graphflow._core.cluster.launch.guard import Guard
from graphflow._core.cluster.resolvers.base import INCARNATION_VARIABLE
from graphflow._core.cluster.server.task_output import Lines, last_words, prefix
from graphflow._core.common.records import dataclass
from graphflow._core.common.timeouts import (
    LAUNCHER_BREAK_SECONDS,
    LAUNCHER_CHIEF_SECONDS,
    LAUNCHER_DRAIN_SECONDS,
    LAUNCHER_POLL_SECONDS,
    LAUNCHER_RESTART_SECONDS,
    LAUNCHER_STOP_SECONDS,
)


@dataclass
class Role:
    """A task and what runs it; `serves` if that is a server alone, which ends when it is told to.

    order: for a task on another machine, what goes to the standard input of the command, by what the environment of
    this life of the task has more.
    """

    job: str
    index: int
    command: Sequence[str]
    environment: Mapping[str, str]
    serves: bool = False
    order: Callable[[Mapping[str, str]], bytes] | None = None

    @property
    def name(self) -> str:
        """The task in words."""
        return f"{self.job} {self.index}"


@dataclass
class Task:
    role: Role
    out: Lines
    err: Lines
    child: Child | None = None
    open: int = 0
    """How many of its two streams are not at their end."""
    restarts: int = 0
    again_at: float | None = None
    """When it is started again."""
    ended_at: float | None = None


@dataclass
class _Failure:
    name: str
    ending: Ending
    words: Sequence[str]
    after: float
    """Seconds since the start of the job."""


def roles(
    addresses: Mapping[str, Sequence[str]],
    command: Sequence[str],
    serve: Sequence[str] | None,
    environment: Mapping[str, str],
    local_devices: int = 1,
) -> list[Role]:
    """The roles of a job: `addresses` by job, ps first. `serve` is what runs a ps, None if it is `command` too.

    Each gets TF_CONFIG, and JOB_NAME, TASK_INDEX, PS_HOSTS, WORKER_HOSTS, CHIEF_HOSTS, which may also stand in the
    arguments as {job_name}, {task_index}, {ps_hosts} and so on.
    """
    hosts = {f"{job}_hosts": ",".join(addresses.get(job, ())) for job in ("ps", "worker", "chief")}
    found = []
    for job, tasks in addresses.items():
        for index in range(len(tasks)):
            config: dict[str, object] = {"cluster": addresses, "task": {"type": job, "index": index}}
            if local_devices > 1:
                config["local_devices"] = local_devices
            values = {"job_name": job, "task_index": str(index), **hosts}
            more = {name.upper(): value for name, value in values.items()}
            serves = job == "ps" and serve is not None
            words = list(serve or ()) if serves else [_filled(word, values) for word in command]
            found.append(
                Role(job, index, words, {**environment, **more, VARIABLE: json.dumps(config)}, serves)
            )
    return found


def _filled(word: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        word = word.replace("{" + name + "}", value)
    return word


class Launcher:
    """Runs the roles of a job until its chief ends. For the main thread of a process that has no other.

    addresses: the tasks' addresses by job. chief: the name of the role whose end is the job's. restarts: how often a
    task that fails is started again. grace: seconds that the others have to end by themselves after the chief. life:
    what the tasks' incarnations begin with. passes_on: whether the first signal goes to the chief, which is not so if
    who sends it to this process sends it to all that it has started. guard: clears up if this process is killed; by
    default one for this run.

    The chief may be elsewhere, where an engine starts a launcher for each task: SIGUSR1 then says that it has ended
    well, and a server that is asked to end waits for the chief, which may save.
    """

    def __init__(
        self,
        roles: Sequence[Role],
        addresses: Mapping[str, Sequence[str]],
        chief: str,
        restarts: int = 0,
        grace: float = 2.0,
        out: IO[str] = sys.stdout,
        err: IO[str] = sys.stderr,
        coloured: bool | None = None,
        life: str = "",
        passes_on: bool = True,
        guard: Guard | None = None,
    ) -> None:
        self._guard = guard
        self._passes_on = passes_on
        self._life = life
        self._chief_elsewhere = all(role.name != chief for role in roles)
        self._addresses = addresses
        self._chief = chief
        self._restarts = restarts
        self._grace = grace
        self._err = err
        width = max(len(name) for name in ("launch", *(role.name for role in roles)))

        def lines(name: str, place: int, to: IO[str]) -> Lines:
            return Lines(prefix(name, place, width, to.isatty() if coloured is None else coloured), to)

        self._tasks = [
            Task(role, lines(role.name, place, out), lines(role.name, place, err))
            for place, role in enumerate(roles)
        ]
        self._own = lines("launch", len(roles), err)
        self._selector = selectors.DefaultSelector()
        self._failures: list[_Failure] = []
        self._lost = 0
        self._begun = time.monotonic()
        self._status: int | None = None
        """That of the job, once it is known: from then on it ends."""
        self._stop_at: float | None = None
        """Until when the others may end by themselves after the chief."""
        self._due: list[tuple[float, int]] = []
        """The signals that what is left then will get, and when."""
        self._signals: list[int] = []
        self._interrupts = 0
        self._saving: tuple[float, int] | None = None
        """Until when the chief may save, and the signal that the others get then."""

    def run(self) -> int:
        """Runs them all; returns the exit status of the job, 128 + n if signal n ended it."""
        caught = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD]
        caught += [signal.SIGUSR1] * self._chief_elsewhere
        handlers = {number: signal.signal(number, self._signal) for number in caught}
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        # Any signal ends the wait for output, a child's end among them.
        woken = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._selector.register(reader, selectors.EVENT_READ, None)
        guard = None if self._guard is not None else Guard()
        self._guard = self._guard or guard
        try:
            places = [f"{t.role.name} at {self._address(t)}" for t in self._tasks]
            self._tell(f"{', '.join(places)}; the chief is {self._chief}")
            for task in self._tasks:
                self._start(task)
            while any(task.child is not None or task.again_at is not None for task in self._tasks):
                self._turn(reader)
        finally:
            self._kill_all()
            if guard is not None:
                guard.close()
                self._guard = None
            signal.set_wakeup_fd(woken)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            self._selector.close()
            os.close(reader)
            os.close(writer)
        self._report()
        return self._status or 0

    @property
    def failure(self) -> int:
        """The exit status of the first task that failed and was not begun again, even if the job went on; else 0."""
        return self._lost

    # ---- one turn -------------------------------------------------------------------------------------------------

    def _signal(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self._signals.append(number)

    def _turn(self, reader: int) -> None:
        """Passes on what was printed, and looks at who has ended and what is due."""
        for key, _ in self._selector.select(LAUNCHER_POLL_SECONDS):
            if key.data is None:
                with suppress(BlockingIOError):
                    os.read(reader, 4096)
            elif isinstance(key.data, FarChild):
                if not key.data.feed():
                    self._selector.unregister(key.fileobj)
            else:
                task, lines = key.data
                data = os.read(key.fd, 65536)
                lines.feed(data)
                if not data:
                    self._selector.unregister(key.fileobj)
                    task.open -= 1
        while self._signals:
            self._interrupted(self._signals.pop(0))
        now = time.monotonic()
        ended = []
        for task in self._tasks:
            if task.child is not None and task.child.look() is not None:
                # What it printed last is still read, unless a process it has left behind holds the pipe.
                task.ended_at = task.ended_at or now
                if not task.open or now - task.ended_at > LAUNCHER_DRAIN_SECONDS:
                    ended.append(task)
            elif task.again_at is not None and now >= task.again_at:
                self._start(task)
        # Of those that end together the chief comes last: its end is the more likely to be a consequence.
        for task in sorted(ended, key=lambda task: task.role.name == self._chief):
            self._ended(task)
        if self._saving is not None and (
            now >= self._saving[0] or (self._chief_is_gone() and not self._chief_elsewhere)
        ):
            self._break_off(128 + self._saving[1], self._saving[1])
        if self._stop_at is not None:
            busy = any(t.child is not None and not t.role.serves for t in self._tasks)
            if now >= self._stop_at or not busy:
                self._stop()
        while self._due and now >= self._due[0][0]:
            self._send(self._due.pop(0)[1])
        self._look_around()

    def _look_around(self) -> None:
        """Called in each turn, where a launcher is one of several."""

    def _start(self, task: Task) -> None:
        task.again_at = task.ended_at = None
        life = {INCARNATION_VARIABLE: f"{self._life}{task.restarts}"}
        # A server waits for the chief, which may save, also where an engine sends its signals to all processes.
        waits = (signal.SIGTERM,) if task.role.serves and self._chief_elsewhere else ()
        if task.role.order is None:
            child = Child(task.role.command, {**task.role.environment, **life}, waits, guard=self._guard)
        else:
            child = far = FarChild(
                task.role.command, task.role.environment, task.role.order(life), self._guard
            )
            self._selector.register(far, selectors.EVENT_WRITE, far)
        task.child = child
        for file, lines in ((child.stdout, task.out), (child.stderr, task.err)):
            self._selector.register(file, selectors.EVENT_READ, (task, lines))
        task.open = 2

    def _ended(self, task: Task) -> None:
        """A task has ended: the job goes on, ends well, or is broken off."""
        assert task.child is not None and task.child.ending is not None
        child, ending, name = task.child, task.child.ending, task.role.name
        files: list[IO[bytes] | FarChild] = [child.stdout, child.stderr]
        for file in [*files, child] if isinstance(child, FarChild) else files:
            if file.fileno() in self._selector.get_map():
                self._selector.unregister(file)
        child.close()
        task.child = None
        for lines in (task.out, task.err):
            lines.feed(b"")
        late = self._stop_at is not None
        if self._status is not None and not (late and ending.status):
            return
        if not ending.status:
            if name == self._chief:
                self._end_well()
            return
        self._failures.append(_Failure(name, ending, last_words(list(task.err.kept)), self._seconds()))
        if late:
            self._tell(f"{name} failed ({ending.reason}), after {self._chief} had ended well")
        else:
            self._failed(task, ending)

    def _failed(self, task: Task, ending: Ending) -> None:
        """What follows from the failure of a task."""
        name = task.role.name
        if task.restarts < self._restarts:
            task.restarts += 1
            task.again_at = time.monotonic() + LAUNCHER_RESTART_SECONDS
            self._tell(
                f"{name} failed ({ending.reason}) and is started again, {task.restarts} of {self._restarts}"
            )
            return
        self._lost = self._lost or ending.status
        if name == self._chief or task.role.job == "ps":
            self._tell(f"{name} failed ({ending.reason}): the job cannot go on without it")
            self._break_off(ending.status, signal.SIGTERM)
        else:
            self._tell(f"{name} failed ({ending.reason}); the others go on")

    # ---- the end --------------------------------------------------------------------------------------------------

    def _end_well(self) -> None:
        """The chief has ended well: the others have a while to end by themselves."""
        self._status = 0
        self._stop_at = time.monotonic() + self._grace

    def _stop(self) -> None:
        """Asks what serves to stop; what is there after that is ended by signals."""
        self._stop_at = None
        now = time.monotonic()
        self._due = [
            (now + 1.5 * LAUNCHER_STOP_SECONDS, signal.SIGTERM),
            (now + 2.5 * LAUNCHER_STOP_SECONDS, signal.SIGKILL),
        ]
        for task in self._tasks:
            if task.child is not None:
                if not task.role.serves:
                    self._tell(f"{task.role.name} is still at work, and is stopped")
                # In a thread each: no child is started any more, and none may wait for another.
                threading.Thread(target=_stop_task, args=(self._address(task),), daemon=True).start()

    def _interrupted(self, number: int) -> None:
        """The first signal is the chief's, which may save as long as the others are there; the second kills all."""
        if number == signal.SIGUSR1:
            if self._status is None:
                self._status = 0
                self._tell(f"{self._chief} has ended well")
                self._stop()
            return
        again = self._interrupts > 0
        self._interrupts += 1
        if self._chief_elsewhere and not again and all(task.role.serves for task in self._tasks):
            self._saving = time.monotonic() + LAUNCHER_CHIEF_SECONDS, number
            return
        name = signal.Signals(number).name
        if again or self._chief_is_gone():
            self._tell(f"{name}: {'killing' if again else 'ending'} all tasks")
            self._break_off(128 + number, signal.SIGKILL if again else number)
            return
        passes_on = self._passes_on or number == signal.SIGINT
        self._tell(f"{name}: ending all tasks, {self._chief} first")
        self._status = 128 + number
        self._stop_at = None
        self._due = []
        self._saving = time.monotonic() + LAUNCHER_CHIEF_SECONDS, number
        for task in self._tasks:
            task.again_at = None
            if task.role.name == self._chief and task.child is not None and passes_on:
                task.child.send(number)

    def _chief_is_gone(self) -> bool:
        return not any(t.child is not None and t.role.name == self._chief for t in self._tasks)

    def _break_off(self, status: int, number: int) -> None:
        self._status = status
        self._stop_at = self._saving = None
        for task in self._tasks:
            task.again_at = None
        self._send(number)
        self._due = [(time.monotonic() + LAUNCHER_BREAK_SECONDS, signal.SIGKILL)]

    def _send(self, number: int) -> None:
        for task in self._tasks:
            if task.child is not None:
                task.child.send(number)

    def _kill_all(self) -> None:
        children = [task.child for task in self._tasks if task.child is not None]
        for child in children:
            child.send(signal.SIGKILL)
        for child in children:
            while child.look() is None:
                time.sleep(LAUNCHER_POLL_SECONDS)
            child.close()

    # ---- what it says itself --------------------------------------------------------------------------------------

    def _report(self) -> None:
        """The failures, the first one last and with its traceback: that is where the cause is."""
        if not self._failures:
            return
        first, *others = self._failures
        for failure in others:
            self._tell(f"{failure.name} failed after {failure.after:.1f} s: {failure.ending.reason}")
        which = "failed first," if others else "failed"
        self._tell(f"{first.name} {which} after {first.after:.1f} s: {first.ending.reason}")
        self._err.write("".join(f"{line}\n" for line in first.words))
        self._err.flush()

    def _tell(self, text: str) -> None:
        self._own.feed(f"{text}\n".encode())

    def _seconds(self) -> float:
        return time.monotonic() - self._begun

    def _address(self, task: Task) -> str:
        return self._addresses[task.role.job][task.role.index]


def stop_others(addresses: Mapping[str, Sequence[str]], job: str, index: int) -> None:
    """Stops the servers of all tasks but one, all at once; those that do not answer in time are left."""
    threads = [
        threading.Thread(target=_stop_task, args=(address,), daemon=True)
        for other, tasks in addresses.items()
        for at, address in enumerate(tasks)
        if (other, at) != (job, index)
    ]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 2 * LAUNCHER_STOP_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))


def _stop_task(address: str) -> None:
    with suppress(errors.OpError, OSError, ValueError):  # It has no server, or is gone, or the key is.
        stop_task(f"zmq://{address}", LAUNCHER_STOP_SECONDS)


def task_command(program: str) -> list[str]:
    """What runs a program: this Python if it is a Python file, itself otherwise."""
    return [sys.executable, program] if program.endswith(".py") or os.path.isdir(program) else [program]

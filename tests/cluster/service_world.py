"""Tasks of a cluster and their clients in one thread, without sockets: what they say is delivered at random.

Everything of a task is real but its sockets, its threads and its clock. Messages of one way stay in order; ways,
threads and ticks take turns by chance. A way may be cut: what is on it is lost, and who sends on it hears of that some
time later, maybe when other messages have gone through already.
"""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import pytest

import graphflow as gf
from graphflow._core.cluster.client import remote
from graphflow._core.cluster.protocol.journal import Journal
from graphflow._core.cluster.protocol.replay import replay_data
from graphflow._core.cluster.protocol.step_record import StepRecord, replay_steps
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.server.service import Service
from graphflow._core.common.machine import Event, Instruction, StepEvent
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.devices import device_names
from graphflow._core.runtime.planner import Planner
from graphflow._core.runtime.progress import Progress
from graphflow._core.transport.dropped import Dropped
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.keys import Access
from graphflow._core.transport.sockets import MOST_STRANGER_BYTES, Sockets

TASKS = tuple(f"/job:{job}/replica:0/task:{i}" for job, i in (("ps", 0), ("worker", 0), ("worker", 1)))
ACCESS = Access("secret", None)
CONFIG = gf.ConfigProto(compiled="never")
Way = tuple[bytes, str]
Plan = tuple[Mapping[str, Any], Sequence[Any]]


@dataclass
class _Link:
    """What goes one way. stood: whether something has come through. gone: whether its sender is to hear of an end."""

    queue: deque[list[bytes]] = field(default_factory=deque)
    stood: bool = False
    gone: bool = False


class CheckedJournal(Journal):
    """Checks all machines after each event, which it keeps, as all others."""

    def __init__(self, protocol: TaskProtocol) -> None:
        super().__init__(None)
        self._protocol = protocol

    def add(self, event: Event, instructions: Sequence[Instruction]) -> None:
        super().add(event, instructions)
        self._protocol.check()


class CheckedRecord(StepRecord):
    """Checks the machines of steps after each event, which it keeps."""

    def __init__(self, protocol: TaskProtocol) -> None:
        super().__init__()
        self._protocol = protocol

    def add(self, event: StepEvent, instructions: Sequence[Any]) -> None:
        super().add(event, instructions)
        self._protocol.check_steps()


def shown(task: str) -> str:
    """What a hello to a task has to show."""
    return ACCESS.shown_at(task)


class Node:
    """One life of a task; it is its service's sockets and thread pool as well."""

    def __init__(self, world: World, task: str, incarnation: int) -> None:
        self.world = world
        self.task = task
        self.dropped = Dropped(task)
        self.gate = SimpleNamespace(count=0, refused=Dropped(task))
        self.messages_in = self.bytes_in = self.messages_out = self.bytes_out = 0
        self.identity = incarnation.to_bytes(8, "little")
        self.calls: deque[Callable[[], None]] = deque()
        self.work: list[Callable[[], None]] = []
        self.channels_closed: list[bytes] = []
        self.channels = SimpleNamespace(name="", open=lambda *_: None, close=self.channels_closed.append)
        store = ResourceStore()
        planner = store.planner = Planner(CONFIG, device_names(task, CONFIG), task)
        self.service = Service(
            task, device_names(task, CONFIG), dict(zip(TASKS, TASKS, strict=True)), incarnation, store,
            lambda plan, options: planner.executable(plan, store, options, borrows=True),
            ACCESS, lambda: None, True, cast(Sockets, self), self, lambda: world.now,
        )  # fmt: skip
        self.store = store
        self.service.protocol.journal = CheckedJournal(self.service.protocol)
        self.service.protocol.step_record = CheckedRecord(self.service.protocol)
        self.service.serves_at(task)

    def replay(self) -> None:
        """Plays again what this life of the task has heard of, as from a file: it comes to the same state."""
        protocol = self.service.protocol
        again = replay_data(json.loads(json.dumps(protocol.journal_data(self.world.now))))
        assert again.sessions.sockets == protocol.sessions.sockets
        assert again.sessions.sessions.keys() == protocol.sessions.sessions.keys()
        assert again.queries.open == protocol.queries.open
        assert again.welcomes.waiting == protocol.welcomes.waiting
        states = [
            (m.task, m.state, m.incarnation, m.greeted, m.asked) for m in again.membership.members.values()
        ]
        assert states == [
            (m.task, m.state, m.incarnation, m.greeted, m.asked) for m in protocol.membership.members.values()
        ]
        assert again.registrations.open == protocol.registrations.open
        assert again.subgraphs.registered == protocol.subgraphs.registered
        assert again.subgraphs.members == protocol.subgraphs.members
        assert protocol.step_record is not None
        again = TaskProtocol(self.task, "1", {}, 0.0, begin=Progress)
        replay_steps(protocol.step_record, again)
        assert again.master.steps.keys() == protocol.master.steps.keys()
        assert again.master.executables == protocol.master.executables
        assert again.master.begun == protocol.master.begun and again.worker.begun == protocol.worker.begun
        assert list(again.worker.active) == list(protocol.worker.active)

    # ---- as sockets -----------------------------------------------------------------------------------------------

    def call(self, function: Callable[[], None]) -> None:
        self.calls.append(function)

    def send_to_peer(self, address: str, frames: Sequence[Any]) -> None:
        self.world.link((self.identity, address)).queue.append([bytes(f) for f in frames])

    def reply(self, identity: bytes, frames: Sequence[Any]) -> bool:
        self.world.answer(identity, [bytes(f) for f in frames])
        return True

    def disconnect(self, address: str, linger_ms: int = 0) -> None:
        self.world.cut((self.identity, address), heard=False)

    def trouble(self, address: str) -> str:
        return ""

    # ---- as a thread pool -----------------------------------------------------------------------------------------

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.work.append(lambda: function(*arguments))


class World:
    """The tasks and the ways between them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 1000.0
        self.numbers = count(1 << 32, 1 << 33)
        self.links: dict[Way, _Link] = {}
        self.nodes: dict[str, Node] = {}
        self.clients: dict[bytes, Client] = {}
        for task in TASKS:
            self.start(task)

    def start(self, task: str) -> None:
        """Starts a task, anew where it was killed."""
        self.nodes[task] = Node(self, task, next(self.numbers))

    def kill(self, task: str) -> None:
        """Kills a task: of what it has said last some comes, and of what was on its way to it nothing."""
        node = self.nodes.pop(task)
        for way, link in sorted(self.links.items(), key=lambda item: item[0]):
            if way[0] == node.identity:
                self._drop(link)
            elif way[1] == task and link.stood:
                link.queue.clear()
                link.gone, link.stood = True, False
        node.store.close()

    def link(self, way: Way) -> _Link:
        return self.links.setdefault(way, _Link())

    def _drop(self, link: _Link) -> None:
        """Drops what is on a way from some message on."""
        for _ in range(self.random.randrange(len(link.queue) + 1)):
            link.queue.pop()

    def cut(self, way: Way, heard: bool = True) -> None:
        """Cuts a way; `heard`: its sender is to hear of it."""
        link = self.link(way)
        before = len(link.queue)
        self._drop(link)
        link.gone = heard and (link.gone or link.stood or len(link.queue) < before)
        link.stood = False

    def lose(self, sender: str, to: str) -> None:
        """What is on the way from one task to another is lost, and the sender hears of it."""
        way = self.nodes[sender].identity, to
        self.link(way).queue.clear()
        self._lose(way)

    def answer(self, identity: bytes, frames: list[bytes]) -> None:
        if identity in self.clients:
            self.clients[identity].answers.append(Message.of(frames))

    # ---- what happens ---------------------------------------------------------------------------------------------

    def steps(self) -> list[Callable[[], None]]:
        """What may happen next."""
        found: list[Callable[[], None]] = []
        for way, link in sorted(self.links.items(), key=lambda item: item[0]):
            if link.queue and way[1] in self.nodes:
                found.append(partial(self._deliver, way))
            if link.gone:
                found.append(partial(self._lose, way))
        for node in self.nodes.values():
            if node.calls:
                found.append(partial(self._call, node))
            if node.work:
                found.append(partial(self._work, node))
        return found

    def step(self) -> bool:
        """Something happens, if anything can."""
        found = self.steps()
        if found:
            self.random.choice(found)()
        return bool(found)

    def settle(self, *clients: Client) -> None:
        """Everything happens that can; clients that are given go on."""
        while self.step() or sum(client.go_on() for client in clients):
            pass

    def _call(self, node: Node) -> None:
        node.calls.popleft()()

    def _work(self, node: Node) -> None:
        node.work.pop(self.random.randrange(len(node.work)))()

    def _deliver(self, way: Way) -> None:
        link, handler = self.links[way], self.nodes[way[1]].service
        frames = link.queue.popleft()
        link.stood = True
        if handler.knows(way[0]) or (len(frames) == 1 and len(frames[0]) <= MOST_STRANGER_BYTES):
            handler.received(way[0], frames)

    def _lose(self, way: Way) -> None:
        """Who sends on a way hears that it had ended."""
        self.links[way].gone = False
        sender = next((n for n in self.nodes.values() if n.identity == way[0]), None)
        if sender is not None:
            sender.service.lost(way[1])
        elif way[0] in self.clients:
            self.clients[way[0]].lost()

    def pass_time(self, seconds: float) -> None:
        """Time passes, and all tasks look at it."""
        self.now += seconds
        for node in list(self.nodes.values()):
            node.service.tick()


class Client:
    """A program with one session at a time, which counts a variable up again and again, each time once.

    A run whose outcome it does not know it repeats, in a new session, as another attempt.
    """

    names = count(1)

    def __init__(self, world: World, master: str, plans: Mapping[str, Plan], runs: int) -> None:
        self.world = world
        self.master = master
        self.plans = plans
        self.left = runs
        self.trainer = f"trainer {next(self.names)}"
        self.attempt = 0
        self.run = 0
        self.state = "new"
        self.identity = b""
        self.answers: deque[Message] = deque()
        self.executable: dict[str, int] = {}
        self.initialize = False
        self.log: list[Any] = []

    def send(self, kind: Kind, b: int = 0, details: Any = None, tensors: Sequence[Any] = ()) -> None:
        self.request += 1
        frames = Message(kind, self.request, b, 0, details or {}, tensors).frames()
        self.world.link((self.identity, self.master)).queue.append([bytes(f) for f in frames])
        self.log.append((kind.name, self.request, b, details if kind is Kind.RUN else None))

    def alive(self) -> None:
        """Says that it is there, over a socket of its own."""
        if self.state not in ("new", "done"):
            message = Message(Kind.HELLO, details=self.greeting | {"alive": True})
            self.world.link((self.identity + b"a", self.master)).queue.append(
                [bytes(f) for f in message.frames()]
            )

    def lost(self) -> None:
        """The connection is gone: a new session."""
        self.log.append("lost")
        self.world.links.pop((self.identity, self.master), None)
        self.world.clients.pop(self.identity, None)
        self.state = "new" if self.state != "done" else "done"

    def go_on(self) -> bool:
        """Does the next thing; whether there was any."""
        if self.state == "done":
            return False
        if self.state == "new":
            self.identity = self.world.random.randbytes(9)
            self.world.clients[self.identity] = self
            self.answers.clear()
            self.executable = {}
            self.request = 0
            self.greeting = {"token": shown(self.master), "session": self.identity.hex(), "seconds": 10.0}
            self.send(Kind.HELLO, details=self.greeting)
            self.state = "waits"
            return True
        if not self.answers:
            return False
        answer = self.answers.popleft()
        self.log.append((answer.kind.name, answer.a, answer.b, answer.details.get("message")))
        if answer.a != self.request and not (answer.kind is Kind.FAILED and answer.a == 0):
            return True
        self._take(answer)
        return True

    def _take(self, answer: Message) -> None:
        wanted = "initialize" if self.initialize else "count"
        if answer.kind is Kind.FAILED:
            details = answer.details
            if details.get("stranger"):
                self.executable = {}
                self.send(Kind.HELLO, details=self.greeting)
            elif details.get("unknown"):
                self.executable = {}
                self._register(wanted)
            else:
                self.initialize = "uninitialized" in str(details.get("message"))
                self._leave(given_up=True)
                self.state = "new"
            return
        if answer.kind is Kind.WELCOME:
            self.greeting.setdefault("incarnations", dict(answer.details["incarnations"]))
            self._register(wanted)
            return
        if answer.kind is Kind.REGISTERED:
            self.executable[wanted] = answer.b
        elif self.initialize:
            self.initialize = False
        else:
            self.left -= 1
            self.run += 1
            self.attempt = 0
        if not self.left:
            self._leave(given_up=False)
            self.state = "done"
        elif (wanted := "initialize" if self.initialize else "count") in self.executable:
            self._run(wanted)
        else:
            self._register(wanted)

    def _register(self, wanted: str) -> None:
        details, tensors = self.plans[wanted]
        self.send(Kind.REGISTER, details=details, tensors=tensors)

    def _run(self, wanted: str) -> None:
        once = {} if self.initialize else {"once": [self.trainer, self.run, 0, self.attempt]}
        self.attempt += not self.initialize
        self.send(Kind.RUN, self.executable[wanted], once, () if self.initialize else (0.5,))

    def _leave(self, given_up: bool) -> None:
        frames = Message(Kind.BYE, int(given_up)).frames()
        self.world.link((self.identity, self.master)).queue.append([bytes(f) for f in frames])
        self.world.clients.pop(self.identity, None)


class _Recorded(Exception):
    pass


def plans(patch: pytest.MonkeyPatch) -> dict[str, Plan]:
    """What a client registers to set a variable of the ps to 0, and to count it up with the help of a worker."""
    devices = [f"{task}/device:CPU:0" for task in TASKS]
    welcome = {"task": TASKS[1], "in_use": False, "incarnations": {TASKS[1]: "0"}, "devices": devices}

    def ask(kind: Kind, b: int = 0, details: Any = None, tensors: Any = (), deadline: Any = None) -> None:
        raise _Recorded(details, tensors)

    connection = SimpleNamespace(
        session="", address="", greet=lambda _: Message(Kind.WELCOME, details=welcome), ask=ask,
        close=lambda _=False: None,
    )  # fmt: skip
    found: dict[str, Plan] = {}
    with patch.context() as within, gf.Graph().as_default():
        within.setattr(remote, "Connection", lambda *_: connection)
        x = gf.placeholder(gf.float32, [])
        with gf.device("/job:ps/task:0"):
            counter = gf.get_variable("counter", [], initializer=gf.zeros_initializer())
        with gf.device("/job:worker/task:1"):
            more = x * 2.0
        with gf.device("/job:ps/task:0"):
            counted = gf.assign_add(counter, more)
        with gf.device("/job:worker/task:1"):
            seen = counted + 0.0
        with gf.Session("zmq://nowhere:1", config=CONFIG) as session:
            for name, fetch in (("initialize", counter.initializer), ("count", seen)):
                try:
                    session.run(fetch, {x: 0.5})
                except _Recorded as recorded:
                    found[name] = recorded.args[0], recorded.args[1]
    return found

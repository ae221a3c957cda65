"""One task of a cluster at work: its parts put together, and each message given to the one that it is for.

Everything happens in the thread of the sockets. Events go to the task's protocol; what it says is carried out by the
parts, each of which has one subject: what is sent (links), who may send (handshake), steps, what steps tell (reports),
the subgraphs that this task has of plans, the plans of its clients (registrar), what clients ask of all tasks (admin).
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details, details_of
from graphflow._core.cluster.log import LOG
from graphflow._core.cluster.machine_journals import MachineJournals
from graphflow._core.cluster.protocol.lease import FallSilent, ServeAgain, ServeUntil
from graphflow._core.cluster.protocol.master_steps import PartFailed, RunAsked, RunCancelled, RunSettled
from graphflow._core.cluster.protocol.membership import (
    ConnectionLost,
    EndTask,
    Listening,
    Member,
    TaskLeft,
    TaskServes,
)
from graphflow._core.cluster.protocol.registrations import (
    PartnerLost,
    RegistrantGone,
    SubgraphRefused,
    SubgraphRegistered,
)
from graphflow._core.cluster.protocol.sessions import (
    WAS_RESET,
    EndSession,
    EndSocket,
    NoteSession,
    SessionLeft,
    SessionsReset,
    SocketGone,
    WasDeaf,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.server.admin import Admin, CarryOut
from graphflow._core.cluster.server.collectives.link import CollectiveLink
from graphflow._core.cluster.server.computing import tasks_beside
from graphflow._core.cluster.server.handshake import Handshake
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.registrar import Registrar
from graphflow._core.cluster.server.reports import StepReports
from graphflow._core.cluster.server.steps import Pool, Steps
from graphflow._core.cluster.server.subgraphs import Make, Subgraphs
from graphflow._core.cluster.server.waits import Waits
from graphflow._core.cluster.status import Status
from graphflow._core.common.machine import Event, StepEvent, Tick
from graphflow._core.common.timeouts import DEAF_SECONDS
from graphflow._core.kernels import registry as kernels
from graphflow._core.ops import load_all
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.compiled.cores import usable_cores
from graphflow._core.runtime.progress import Progress
from graphflow._core.runtime.threads import ThreadPool
from graphflow._core.transport.frames.message import OF_MASTERS, QUESTIONS, Kind, Message, Way
from graphflow._core.transport.frames.tensors import Buffer
from graphflow._core.transport.keys import Access
from graphflow._core.transport.sharing import Sharing
from graphflow._core.transport.sockets import Sockets

_LOG: Final = logging.getLogger("graphflow")

_Answer = Callable[["Service", Mapping[str, Any]], Mapping[str, Any]]
_ANSWERS: Final[dict[Kind, _Answer]] = {}
"""What a task does about each question, and what it answers, given the question's details."""


def _answers(question: Kind) -> Callable[[_Answer], _Answer]:
    """Makes a method of the service what it answers to a question."""

    def register(method: _Answer) -> _Answer:
        if question in _ANSWERS:
            raise TypeError(f"{question.name} is answered by {_ANSWERS[question].__name__} already")
        _ANSWERS[question] = method
        return method

    return register


class Service:
    """The master and the worker of one task. All methods but those named so are for the thread of the sockets.

    addresses: those of all tasks. make: what makes an executable of a plan. stop: called when the task is to end.
    sockets, pool, clock: what it works with if that is not to be sockets, threads and the clock of this machine.
    """

    def __init__(
        self,
        task: str,
        devices: Sequence[str],
        addresses: Mapping[str, str],
        incarnation: int,
        store: ResourceStore,
        make: Make,
        access: Access,
        stop: Callable[[], None],
        tcp_only: bool = False,
        sockets: Sockets | None = None,
        pool: Pool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._task = task
        self._clock = clock
        self._stop = stop
        self._ticked = clock()
        self._ending = False
        """Whether the cluster is being stopped, so that it is no news that tasks go."""
        others = {t: address for t, address in addresses.items() if t != task}
        self._tasks_by_address = {address: t for t, address in others.items()}
        self.protocol = TaskProtocol(task, f"{incarnation:x}", others, self._ticked, begin=Progress)
        self.sharing = Sharing(not tcp_only)
        self.store = store
        store.memory = self.sharing.memory
        load_all()
        kernels.load()  # Now: later there may be too few files, and a client would have to be told.
        own = incarnation.to_bytes(8, "little")
        self.sockets: Sockets = sockets or Sockets(self, own, task, access, not tcp_only)
        self.groups = CollectiveLink(
            task, list(addresses), self.sharing.memory, self._tell_of_group, not tcp_only
        )
        self.links = Links(
            devices, incarnation, self.protocol, self.sockets, self.sharing, access, self.tell, clock,
            MachineJournals(store, self.groups.collectives.journal),
        )  # fmt: skip
        store.collectives = self.groups.collectives
        store.absent.expect(others, self._ticked)
        self._pool = pool or ThreadPool()
        self.reports = StepReports(self.links, self.protocol.master, self.protocol.worker)
        self.steps = Steps(self.links, self.sharing, store, self._pool, self.protocol, self.reports, clock)
        self.waits = Waits(self.links, self.protocol.master, self.protocol.worker, self.steps, store)
        self.subgraphs = Subgraphs(
            self.links, self.protocol, self.reports, self.groups, store, make, self.tell, clock,
            tasks_beside(addresses, task) >= usable_cores(),
        )  # fmt: skip
        self.registrar = Registrar(self.links, self.protocol, self.steps, self.subgraphs, self.tell, clock)
        self.handshake = Handshake(
            self.links, self.protocol, self.sharing, access, self.groups, store.absent, self.tell, self, clock,
        )  # fmt: skip
        self.knows: Callable[[bytes], bool] = self.handshake.knows
        self.received: Callable[[bytes, Sequence[Buffer]], None] = self.handshake.received
        self.admin = Admin(
            task, others, self.tell, self.links.to_peer, self.links.reply, self.links.fail,
            {question: partial(answer, self) for question, answer in _ANSWERS.items()}, clock,
        )  # fmt: skip
        self.status = Status(self.links, store, self.protocol, self.steps.deduplicator, clock, self.waits)
        store.say_waits = self.waits.say
        self._of_steps: Mapping[Kind, Callable[[Member, Message], None]] = {
            Kind.STEP: self.steps.begin, Kind.TENSOR: self.steps.values_came, Kind.DONE: self.steps.peer_done,
        }  # fmt: skip
        """What is done with the messages of every step that other tasks send."""
        self._carry_out: CarryOut = {
            **self.admin.carry_out,
            **self.links.carry_out,
            **self.handshake.carry_out,
            **self.subgraphs.carry_out,
            **self.registrar.carry_out,
            NoteSession: self._note_session,
            EndSession: self._end_session,
            EndSocket: self._end_socket,
            EndTask: self._end_task,
            ServeUntil: self._serve_until,
            FallSilent: self._fall_silent,
            ServeAgain: self._serve_again,
        }
        """How the instructions of the protocol are carried out."""

    def serves_at(self, address: str) -> None:
        """The task listens at this address, host:port; before its thread begins."""
        self.tell(Listening(self._clock(), address))

    def tell(self, event: Event, message: Message | None = None) -> bool:
        """Tells the protocol of an event, and does what it says; whether that was anything.

        message: what the event came from.
        """
        found = self.protocol.handle(event)
        for i in found:
            self._carry_out[type(i)](i, message)
        return bool(found)

    def tick(self) -> None:
        """Ends what has waited too long, and the work of clients that are gone."""
        now = self._clock()
        if now - self._ticked > DEAF_SECONDS:  # This thread was busy: nobody could be heard of.
            self.tell(WasDeaf(now, now - self._ticked))
        self._ticked = now
        self.tell(Tick(now))
        self.status.tick(now)
        if self.store.absent.lost:  # Who waits looks whether it waits for one that was lost for too long.
            self.store.wake()
        self.sharing.trim()
        with self.groups.collectives.condition:
            self.groups.trim()

    # ---- clients --------------------------------------------------------------------------------------------------

    def from_client(self, client: bytes, message: Message) -> None:
        """A client has sent a message; whatever is raised is the answer."""
        match message.kind:
            case Kind.RUN:
                session, once = self.protocol.sessions.sockets[client], message.details.get("once")
                asked = RunAsked(self._clock(), client, message.a, session, message.b, message.tensors, once)
                self.steps.direct(self.protocol.handle_step(asked))
            case Kind.REGISTER if self.protocol.sessions.of(client).was_reset:
                self.links.fail(client, message.a, details_of(errors.ABORTED, WAS_RESET))
            case Kind.REGISTER:
                self.registrar.register(client, message)
            case Kind.RELEASE:
                if message.a in self.protocol.master.of_session(self.protocol.sessions.sockets[client]):
                    self.registrar.release(message.a)
            case Kind.ABORT:
                self._cancel(client, message.a, why=bool(message.b))
            case Kind.TOOK:
                self._direct(RunSettled(self._clock(), client, message.a, False))
            case kind if kind in QUESTIONS:
                self._ending = self._ending or kind is Kind.STOP
                self.admin.asked(client, message)
            case Kind.BYE if message.b:
                self.left(client)
            case Kind.BYE:
                self.tell(SessionLeft(self._clock(), client, bool(message.a)))
            case kind if Way.FROM_CLIENT in kind.ways:
                raise TypeError(f"no task takes {kind.name} from clients.")
            case _:
                pass

    def _direct(self, event: StepEvent) -> None:
        """Tells the master of an event of a step, and does what it says."""
        self.steps.direct(self.protocol.handle_step(event))

    def _cancel(self, client: bytes, request: int, why: bool) -> None:
        """A client ends a run; `why`: its deadline has passed, and it asks what the run waited for."""
        cancelled = errors.CancelledError(None, None, "The client cancelled the run.")
        details = as_details(cancelled) | {"awaited": self.protocol.master.awaited(client, request)}
        if why:
            details |= self.waits.ask(client, request)
        self.tell(RegistrantGone(self._clock(), client, request, details))
        self._direct(RunCancelled(self._clock(), client, request, details))

    def left(self, sender: bytes) -> None:
        """The thread of a client has ended that had this socket, or its process has; its session may go on."""
        if sender in self.protocol.sessions.sockets:  # It is called for other tasks' connections as well.
            self.tell(SocketGone(self._clock(), sender))

    def _note_session(self, i: NoteSession, message: Message | None) -> None:
        LOG.info("%s: master session %s begins", self._task, i.session)

    def _end_session(self, i: EndSession, message: Message | None) -> None:
        if not i.observer:
            LOG.info("%s: session %s has ended", self._task, i.session)
        text = f"{self._task} has ended this session's steps: it said goodbye, or was silent for too long."
        error = details_of(errors.ABORTED, text)
        for client in i.sockets:
            self._client_gone(client, error)
        self.registrar.session_ended(i.session, i.given_up)

    def _end_socket(self, i: EndSocket, message: Message | None) -> None:
        self.sockets.channels.close(i.socket)
        text = f"{self._task} has ended this step: the client is gone that asked for it."
        self._client_gone(i.socket, details_of(errors.ABORTED, text))

    def _client_gone(self, client: bytes, error: Mapping[str, Any]) -> None:
        self.tell(RegistrantGone(self._clock(), client, None, error))
        self.sharing.gone(client)
        self.registrar.client_gone(client, error)

    # ---- other tasks ----------------------------------------------------------------------------------------------

    def from_peer(self, peer: Member, message: Message) -> None:
        """Another task has sent a message; what it garbled raises what reading it leads to."""
        of_steps = self._of_steps.get(message.kind)
        if of_steps is not None:
            of_steps(peer, message)
            return
        if message.kind in OF_MASTERS:
            self.links.check_master(peer, message)
        mine = message.a == self.links.incarnation
        match message.kind:
            case Kind.BYE:
                self.tell(TaskLeft(self._clock(), peer.task))
            case Kind.COLLECTIVE:
                with self.groups.collectives.condition:
                    self.groups.received(peer.task, message)
            case Kind.FAILED if message.details.get("registration"):
                self.tell(SubgraphRefused(self._clock(), peer.task, message.c, message.details))
            case Kind.FAILED if mine:
                self._direct(PartFailed(self._clock(), peer.task, message.b, message.details))
            case Kind.ABORT:
                self.steps.abort((message.a, message.b), bool(message.c))
            case Kind.TOOK:
                self.steps.takings.settle((message.a, message.b), bool(message.c))
            case Kind.REGISTER:
                self.subgraphs.offered(message)
            case Kind.REGISTERED:
                self.tell(SubgraphRegistered(self._clock(), peer.task, message.b))
            case Kind.OUTPUT | Kind.TRACE if mine:
                self.reports.pass_on(message.kind, peer.task, message.b, message.details)
            case Kind.RELEASE:
                if message.b:
                    self.steps.release((message.a, message.b))
                if "session" in message.details:
                    given_up = message.details.get("given_up") is True
                    self.subgraphs.forget_session(message.a, str(message.details["session"]), given_up)
            case Kind.STATUS if message.details.get("waits"):
                self.links.check_master(peer, message)
                self.waits.asked(peer, message)
            case Kind.STATUS_IS if "waits" in message.details and "task" not in message.details:
                self.waits.answered(peer, message)
            case kind if kind is Kind.STATUS_IS or kind in QUESTIONS:
                self.admin.received(peer.task, message)
            case Kind.FAILED | Kind.OUTPUT | Kind.TRACE:
                pass  # Of a step that an earlier life of this task had begun.
            case kind if Way.FROM_TASK in kind.ways:
                raise TypeError(f"no task takes {kind.name} from other tasks.")
            case _:
                pass

    # ---- the lease -------------------------------------------------------------------------------------------------

    def heard(self, make: Callable[[float], Event]) -> None:
        """Something has happened to the lease: `make` makes the event of the time at which it is handled."""
        self.tell(make(self._clock()))

    def _serve_until(self, i: ServeUntil, message: Message | None) -> None:
        self.sockets.tick_by = i.moment

    def _fall_silent(self, i: FallSilent, message: Message | None) -> None:
        """Ends all that goes on, answers who waits, and takes no message from now on."""
        _LOG.warning("%s: %s", self._task, i.why)
        self.sockets.tick_by = math.inf
        error = errors.UnavailableError(None, None, i.why)
        for task in (self._task, *self.links.members):
            self.registrar.task_ended(task, as_details(error))
        masters = [self.links.incarnation, *self.links.tasks_by_incarnation]
        self.steps.end_all(error, masters)
        self.steps.takings.settle_all(masters)  # What was taken from queues goes back.
        self.links.silence()
        self.received = lambda sender, frames: self.handshake.refuse(sender, frames, i.why)
        if i.for_good:
            self._stop()

    def _serve_again(self, i: ServeAgain, message: Message | None) -> None:
        _LOG.warning("%s: The lease is renewed: the task serves again.", self._task)
        self.received = self.handshake.received
        self.tell(TaskServes(self._clock()))

    def _tell_of_group(self, task: str, message: Message) -> None:
        """Sends a message to a task, from any thread; if it is not there yet, it hears of it when it is."""

        def send() -> None:
            if self.links.is_there(task):
                self.links.to_peer(task, message)
            else:
                with suppress(OSError):  # It is on another machine, and there are no keys.
                    self.links.want(task)

        self.sockets.call(send)

    def lost(self, address: str) -> None:
        """The connection to the task at that address has ended."""
        self.tell(ConnectionLost(self._clock(), self._tasks_by_address[address]))

    def _end_task(self, i: EndTask, message: Message | None) -> None:
        address, incarnation = self.links.members[i.task].address, int(i.incarnation, 16)
        self.sockets.disconnect(address)
        self.links.listeners.pop(
            i.task, None
        )  # It may be that of a process which stands still: another hello says.
        self.sharing.gone(i.task)
        if not i.departed:  # Else it was its last word, and it need not take its end for a loss.
            for socket in i.sockets:
                self.sockets.channels.close(
                    socket
                )  # What is in it was said before the hello that may follow.
        error = errors.UnavailableError(None, None, f"The task {i.task} at {address} {i.why}.")
        expected = self._ending or i.departed
        _LOG.log(logging.DEBUG if expected else logging.WARNING, "%s: %s", self._task, error)
        now = self._clock()
        self.store.absent.leaves(i.task, now)
        self.status.tasks_lost += not expected
        with self.groups.collectives.condition:
            self.groups.lost(i.task, error)
        self.steps.master_ended(incarnation)
        self.subgraphs.forget_session(incarnation)
        self.subgraphs.separate(i.task, i.why)
        self.steps.drop_contexts()
        self.registrar.task_ended(i.task, as_details(error))
        self.tell(PartnerLost(now, i.task, as_details(error)))

    # ---- what clients ask of all tasks ----------------------------------------------------------------------------

    @_answers(Kind.STATUS)
    def _tell_status(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        facts = self.status.facts()
        if details.get("journal"):
            own = self.protocol.journal_data(self._clock())
            facts["journal"] = {**own, "machines": self.links.journals.data()}
        return facts

    @_answers(Kind.STOP)
    def _stopping(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        self._ending = True
        self._stop()
        return {"state": "stopping"}

    @_answers(Kind.RESET)
    def reset(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        """Session.reset() ends what is going on, and clears containers, all of them if none are named."""
        ended = errors.AbortedError(None, None, "Session.reset() ended this step.")
        for task in (self._task, *self.links.members):
            self.registrar.task_ended(task, as_details(ended))
        self.tell(SessionsReset(self._clock()))
        self.steps.reset(ended, [self.links.incarnation, *self.links.tasks_by_incarnation])
        self.store.reset(details.get("containers"))
        return {"state": "reset"}

    def close(self) -> None:
        """Ends all threads; from any thread."""
        self.sockets.call(self.links.say_goodbye)
        self.sockets.stop()
        self.store.close()
        self._pool.close()
        with self.groups.collectives.condition:
            self.groups.close()
        self.sharing.close()


if _ANSWERS.keys() != QUESTIONS:
    _differ = ", ".join(sorted(kind.name for kind in _ANSWERS.keys() ^ QUESTIONS))
    raise TypeError(
        f"{_differ}: a kind of messages is a question to all tasks exactly if Service answers it."
    )

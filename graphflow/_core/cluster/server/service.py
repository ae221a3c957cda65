"""One task of a cluster at work: what comes in goes to its master and its worker, and what they say is done.

Everything here happens in the thread of the sockets, except for stages that may take long or wait, which run on a pool
and report back. A stage that took little time before runs at once in that thread: handing it over would cost more.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.log import LOG
from graphflow._core.cluster.peers import Greeting, Peer
from graphflow._core.cluster.protocol import master_steps, task_steps
from graphflow._core.cluster.protocol.machine import Event, Tick
from graphflow._core.cluster.protocol.master_steps import (
    AbortStep,
    AnswerRun,
    BeginStep,
    PartDone,
    PartFailed,
    ReleasePart,
    RunAsked,
    RunCancelled,
    RunSettled,
    SettleStep,
    TaskGone,
)
from graphflow._core.cluster.protocol.queries import Question
from graphflow._core.cluster.protocol.registrations import PartnerLost, PartRefused, PartTaken, RegistrantGone
from graphflow._core.cluster.protocol.sessions import (
    WAS_RESET,
    AnnounceUse,
    EndSession,
    NoteSession,
    SessionLeft,
    SessionsReset,
    WasDeaf,
)
from graphflow._core.cluster.protocol.task import TaskProtocol
from graphflow._core.cluster.protocol.task_steps import (
    MasterGone,
    PlanReleased,
    StageDone,
    StageFailed,
    StepAborted,
    StepBegun,
    StepFailed,
    StepKey,
    TellDone,
    TellFailed,
    TensorsArrived,
)
from graphflow._core.cluster.server.admin import Admin, CarryOut
from graphflow._core.cluster.server.collectives import CollectiveLink
from graphflow._core.cluster.server.computing import compute
from graphflow._core.cluster.server.deduplicator import Deduplicator
from graphflow._core.cluster.server.registrations import TaskStageRunner
from graphflow._core.cluster.server.reports import Reports
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.cluster.server.takings import Takings
from graphflow._core.cluster.status import Status
from graphflow._core.common.request_ids import RequestId
from graphflow._core.common.timeouts import DEAF_SECONDS, SERVED_AT_ONCE_SECONDS
from graphflow._core.kernels import registry as kernels
from graphflow._core.ops import load_all
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.planner import ExecutionOptions
from graphflow._core.runtime.progress import Progress, RunStage, SendTensors
from graphflow._core.runtime.threads import ThreadPool
from graphflow._core.transport.keys import Access
from graphflow._core.transport.message import Kind, Message
from graphflow._core.transport.sharing import Sharing
from graphflow._core.transport.sockets import Sockets

_OF_MASTERS: Final = (Kind.ABORT, Kind.REGISTER, Kind.RELEASE, Kind.TOOK)
_ENDED: Final = "has ended"
_MOST_LINES: Final = 32
"""Lines of the journal that go with the word that a task cannot be reached."""
_LOG = logging.getLogger("graphflow")


class Service(Reports):
    """The master and the worker of one task. All methods but those named so are for the thread of the sockets."""

    def __init__(
        self,
        task: str,
        devices: Sequence[str],
        addresses: Mapping[str, str],
        incarnation: int,
        store: ResourceStore,
        make: Callable[[Any, ExecutionOptions], Executable],
        access: Access,
        stop: Callable[[], None],
        tcp_only: bool = False,
    ) -> None:
        self._task = task
        self._devices = list(devices)
        self._incarnation = incarnation
        self._store = store
        self._make = make
        self._access = access
        self._peers = {t: Peer(t, address) for t, address in addresses.items() if t != task}
        self._by_address = {peer.address: peer for peer in self._peers.values()}
        self._senders: dict[bytes, Peer] = {}
        self._tasks_by_incarnation: dict[int, str] = {}
        self._ticked = time.monotonic()
        self.protocol = TaskProtocol(
            task, f"{incarnation:x}", list(self._peers), self._ticked, begin=Progress
        )
        self._sessions = self.protocol.sessions
        self._greeting: list[Greeting] = []
        self._master = self.protocol.master
        self._worker = self.protocol.worker
        self._step = self.protocol.handle_step
        """Tells the protocol of an event of a step; what it says is for `_direct` or `_work`."""
        self._contexts: dict[StepKey, StepContext] = {}
        self._of_steps: Mapping[Kind, Callable[[Peer, Message], None]] = {
            Kind.STEP: self._begin, Kind.TENSOR: self._values_came, Kind.DONE: self._peer_done,
        }  # fmt: skip
        """What is done with the messages of every step that other tasks send."""
        self._carry_out: Mapping[type, Callable[[Any, task_steps.Instructions], None]] = {
            RunStage: self._run_stage, SendTensors: self._send, TellDone: self._tell_done,
            TellFailed: self._tell_failed,
        }  # fmt: skip
        """How each instruction is carried out; it may add others to those that follow."""
        self._deduplicator = Deduplicator()
        self._takings = Takings()
        self._pool = ThreadPool()
        self._sharing = Sharing(not tcp_only)
        store.memory = self._sharing.memory
        load_all()
        kernels.load()  # Now: later there may be too few files, and a client would have to be told.
        self.sockets = Sockets(self, incarnation.to_bytes(8, "little"), task, access, not tcp_only)
        self._groups = CollectiveLink(
            task, list(addresses), self._sharing.memory, self._tell_of_group, not tcp_only
        )
        store.collectives = self._groups.collectives
        self._absent = store.absent
        self._absent.expect(self._peers, self._ticked)
        self._stop = stop
        self._ending = False
        """Whether the cluster is being stopped, so that it is no news that tasks go."""
        self.status = Status(
            addresses[task],
            devices,
            incarnation,
            store,
            self._master,
            self._worker,
            self.sockets,
            self._deduplicator,
        )
        self._admin = Admin(
            task, {t: peer.address for t, peer in self._peers.items()}, self._tell, self._to_peer, self._reply,
            {Question.STATUS: self._tell_status, Question.RESET: self._reset, Question.STOP: self._stopping},
        )  # fmt: skip
        super().__init__()
        self._obey: CarryOut = {
            **self._admin.carry_out,
            **self._of_greetings,
            **self._of_registrations,
            EndSession: self._end_session,
            AnnounceUse: self._announce_use,
            NoteSession: self._note_session,
        }
        """How the instructions of the protocol are carried out."""

    # ---- the protocol ---------------------------------------------------------------------------------------------

    def _tell(self, event: Event, message: Message | None = None) -> None:
        """Tells the protocol of an event, and does what it says; the message is what the event came from."""
        for i in self.protocol.handle(event):
            self._obey[type(i)](i, message)

    # ---- what comes in --------------------------------------------------------------------------------------------

    def _forget(self, peer: Peer, what: str) -> None:
        """Ends what a peer took part in; it is greeted again before the next message to it."""
        self.sockets.disconnect(peer.address)
        self._sharing.gone(peer.task)
        peer.parted()
        peer.left = True
        incarnation, peer.incarnation = int(peer.incarnation, 16), ""
        del self._tasks_by_incarnation[incarnation]
        for sender in [s for s, p in self._senders.items() if p is peer]:
            del self._senders[sender]
            if what != _ENDED:  # Else it was its last word, and it need not take its end for a loss.
                self.sockets.close_local_channel(
                    sender
                )  # What is in it still was said before the hello that may follow.
        error = errors.UnavailableError(None, None, f"The task {peer.task} at {peer.address} {what}.")
        expected = self._ending or what == _ENDED
        _LOG.log(logging.DEBUG if expected else logging.WARNING, "%s: %s", self._task, error)
        self._absent.leaves(peer.task, time.monotonic())
        self.status.tasks_lost += not expected
        with self._groups.collectives.condition:
            self._groups.lost(peer.task, error)
        now = time.monotonic()
        self._step(MasterGone(now, incarnation))
        self._takings.settle_all([incarnation])
        self._drop_kept(incarnation)
        self._separate(peer, what)
        self._drop_contexts()
        self._direct(self._step(TaskGone(now, peer.task, as_details(error))))
        self._tell(PartnerLost(now, peer.task, as_details(error)))

    def tick(self) -> None:
        """Ends what has waited too long, and the work of clients that are gone."""
        now = time.monotonic()
        if now - self._ticked > DEAF_SECONDS:  # This thread was busy: nobody could be heard of.
            self._tell(WasDeaf(now, now - self._ticked))
        self._ticked = now
        self._refuse_those_late(now)
        self._tell(Tick(now))
        self.status.tick(now)
        if self._absent.lost:  # Who waits looks whether it waits for one that was lost for too long.
            self._store.wake()
        self._sharing.trim()
        with self._groups.collectives.condition:
            self._groups.trim()

    # ---- clients --------------------------------------------------------------------------------------------------

    def _from_client(self, client: bytes, message: Message) -> None:
        match message.kind:
            case Kind.RUN:
                session, once = self._sessions.sockets[client], message.details.get("once")
                asked = RunAsked(
                    time.monotonic(), client, message.a, session, message.b, message.tensors, once
                )
                self._direct(self._step(asked))
            case Kind.REGISTER if self._sessions.of(client).was_reset:
                error = errors.AbortedError(None, None, WAS_RESET)
                self._fail(client, message.a, as_details(error))
            case Kind.REGISTER:
                self._register(client, message)
            case Kind.RELEASE:
                if message.a in self._master.of_session(self._sessions.sockets[client]):
                    self._release(message.a)
            case Kind.ABORT:
                cancelled = errors.CancelledError(None, None, "The client cancelled the run.")
                details = as_details(cancelled) | {"awaited": self._master.awaited(client, message.a)}
                self._tell(RegistrantGone(time.monotonic(), client, message.a, details))
                self._direct(self._step(RunCancelled(time.monotonic(), client, message.a, details)))
            case Kind.TOOK:
                self._direct(self._step(RunSettled(time.monotonic(), client, message.a, False)))
            case Kind.STATUS | Kind.RESET | Kind.STOP:
                self._ending = self._ending or message.kind is Kind.STOP
                self._admin.asked(client, message)
            case Kind.BYE if message.b:
                self.left(client)
            case Kind.BYE:
                self._tell(SessionLeft(time.monotonic(), client, bool(message.a)))
            case _:
                pass

    def _note_session(self, i: NoteSession, message: Message | None) -> None:
        LOG.info("%s: master session %s begins", self._task, i.session)

    def _end_session(self, i: EndSession, message: Message | None) -> None:
        if not i.observer:
            LOG.info("%s: session %s has ended", self._task, i.session)
        text = f"{self._task} has ended this session's steps: it said goodbye, or was silent for too long."
        error = as_details(errors.AbortedError(None, None, text))
        for client in i.sockets:
            self._client_gone(client, error)
        for number in self._master.of_session(i.session):
            self._release(number)
        self._forget_session(i.session, i.given_up)

    def _reply(self, client: bytes, message: Message) -> None:
        self.sockets.reply(client, message.frames())

    def _fail(self, client: bytes, request: int, details: Mapping[str, Any]) -> None:
        if details.get("code") == errors.UNAVAILABLE:
            lines = self.protocol.journal.lines(time.monotonic(), _MOST_LINES)
            details = {**details, "journal": lines}
        self.sockets.reply(client, Message(Kind.FAILED, request, details=details).frames())

    # ---- peers ----------------------------------------------------------------------------------------------------

    def _to_peer(self, task: str, message: Message) -> None:
        peer = self._peers[task]
        if not peer.greeted:
            self._greet(peer, not peer.incarnation)
        share = self._sharing.share(task) if message.tensors else None
        self.sockets.send_to_peer(peer.address, message.frames(share))

    def _tell_of_group(self, task: str, message: Message) -> None:
        """Sends a message to a task, from any thread; where it is not there yet, it hears of it when it is."""

        def send() -> None:
            if self._peers[task].incarnation:
                self._to_peer(task, message)
            elif not self._peers[task].greeted:
                with suppress(OSError):  # It is on another machine, and there are no keys.
                    self._greet(self._peers[task], True)

        self.sockets.call(send)

    def _from_peer(self, peer: Peer, message: Message) -> None:
        of_steps = self._of_steps.get(message.kind)
        if of_steps is not None:
            of_steps(peer, message)
            return
        if message.kind in _OF_MASTERS:
            self._check_master(peer, message)
        match message.kind:
            case Kind.BYE:
                self._forget(peer, _ENDED)
            case Kind.COLLECTIVE:
                with self._groups.collectives.condition:
                    self._groups.received(peer.task, message)
            case Kind.FAILED if message.details.get("registration"):
                self._tell(PartRefused(time.monotonic(), peer.task, message.c, message.details))
            case Kind.FAILED if message.a == self._incarnation:
                self._direct(self._step(PartFailed(time.monotonic(), peer.task, message.b, message.details)))
            case Kind.ABORT:
                self._abort((message.a, message.b), bool(message.c))
            case Kind.TOOK:
                self._takings.settle((message.a, message.b), bool(message.c))
            case Kind.REGISTER:
                self._take_parts_of(peer, message)
            case Kind.REGISTERED:
                self._tell(PartTaken(time.monotonic(), peer.task, message.b))
            case Kind.OUTPUT | Kind.TRACE if message.a == self._incarnation:
                self._pass_on(message.kind, peer.task, message.b, message.details)
            case Kind.RELEASE:
                self._step(PlanReleased(time.monotonic(), (message.a, message.b)))
                if "session" in message.details:
                    given_up = message.details.get("given_up") is True
                    self._drop_kept(message.a, str(message.details["session"]), given_up)
            case Kind.STATUS | Kind.RESET | Kind.STOP | Kind.STATUS_IS:
                self._admin.received(peer.task, message)
            case _:
                pass

    def _check_master(self, peer: Peer, message: Message) -> None:
        if self._tasks_by_incarnation.get(message.a) != peer.task:
            raise ValueError("only the master of a step may send this.")

    def _values_came(self, peer: Peer, message: Message) -> None:
        self._arrived((message.a, message.b), message.take())

    def _peer_done(self, peer: Peer, message: Message) -> None:
        if message.a != self._incarnation:
            return
        along, values = message.c, message.take()
        if along:
            self._arrived((message.a, message.b), values[:along])
            values = values[along:]
        took = message.details.get("took") is True
        self._direct(self._step(PartDone(time.monotonic(), peer.task, message.b, values, took)))

    def _arrived(self, key: StepKey, tensors: Sequence[Any]) -> None:
        """Takes tensors on edges: the edges' numbers, then the values; edges beyond those are signals."""
        if key[0] != self._incarnation and key[0] not in self._tasks_by_incarnation:
            return
        if (
            not tensors
            or tensors[0] is None
            or tensors[0].dtype != np.int32
            or tensors[0].ndim != 1
            or len(tensors) > 1 + len(tensors[0])
        ):
            text = f"{self._task} got values of a step without the numbers of their edges."
            self._fail_step(key, errors.InternalError(None, None, text))
            return
        edges = tensors[0].tolist()
        values = tensors[1:]
        if self._traces:
            self._note_arrived(key, edges)
        found = self._step(TensorsArrived(time.monotonic(), key, edges, values))
        del tensors, values  # Who sent them may be about to change them, once nobody reads them.
        self._work(found)

    def _begin(self, peer: Peer, message: Message) -> None:
        self._check_master(peer, message)
        key = (message.a, message.b)
        if self._traced:
            self._begin_trace(key, message.c)
        found = self._step(StepBegun(time.monotonic(), key, message.c, message.tensors))
        self._work(found if not message.details else self._begun(key, found, message.details.get("once")))

    def _begun(self, key: StepKey, found: task_steps.Instructions, details: Any) -> task_steps.Instructions:
        """What a step that has begun does, which may be a repetition: then the earlier attempt ends."""
        if details is None or not self._worker.is_active(key):
            return found
        try:
            request = RequestId.of(details)
            earlier = self._deduplicator.begin(request, key)
        except (errors.OpError, TypeError, ValueError) as error:
            return self._step(StepFailed(time.monotonic(), key, error))
        self._context(key).request_id = request
        if earlier is None:
            return found
        self._abort(earlier)
        repeated = errors.AbortedError(None, None, "The client has begun a later attempt of this run.")
        return [TellFailed(earlier, repeated), *found]

    # ---- what clients ask of all tasks ----------------------------------------------------------------------------

    def _tell_status(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        facts = self.status.facts(self._sessions)
        if details.get("journal"):
            facts["journal"] = self.protocol.journal_data(time.monotonic())
        return facts

    def _stopping(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        self._ending = True
        self._stop()
        return {"state": "stopping"}

    def _reset(self, details: Mapping[str, Any]) -> Mapping[str, Any]:
        ended = errors.AbortedError(None, None, "Session.reset() ended this step.")
        error = as_details(ended)
        now = time.monotonic()
        for task in (self._task, *self._peers):
            self._direct(self._step(TaskGone(now, task, error)))
        self._tell(SessionsReset(now))
        for key in self._worker.active:  # Of masters that may have been reset before, and have begun anew.
            self._fail_step(key, ended)
        for incarnation in (self._incarnation, *self._tasks_by_incarnation):
            self._step(MasterGone(now, incarnation))
        self._drop_contexts()
        self._takings.settle_all()
        self._store.reset(details.get("containers"))
        return {"state": "reset"}

    # ---- doing what the master and the worker say -----------------------------------------------------------------

    def _direct(self, instructions: master_steps.Instructions) -> None:
        """Does what the master says; of what is begun the own part last, so that the other tasks need not wait."""
        own: list[BeginStep] = []
        for i in instructions:
            if isinstance(i, BeginStep):
                key = (self._incarnation, i.step)
                if self._traced:
                    self._note_sent(i)
                if i.task == self._task:
                    own.append(i)
                else:
                    details = {} if i.request_id is None else {"once": i.request_id}
                    self._to_peer(i.task, Message(Kind.STEP, *key, i.executable, details, i.feeds))
            elif isinstance(i, AnswerRun):
                self._answer_run(i)
            elif i.task == self._task:
                self._do_own(i)
            elif i.task in self._peers and self._peers[i.task].incarnation:
                self._to_peer(i.task, self._order(i))
        for i in own:
            key = (self._incarnation, i.step)
            found = self._step(StepBegun(time.monotonic(), key, i.executable, i.feeds))
            self._work(found if i.request_id is None else self._begun(key, found, i.request_id))

    def _answer_run(self, i: AnswerRun) -> None:
        if i.error is not None:
            self._fail(i.client, i.request, i.error)
            return
        try:
            frames = Message(Kind.RESULT, i.request, int(i.holds), tensors=i.values).frames(
                self._sharing.share(i.client)
            )
        except (TypeError, ValueError) as error:  # A fetched value is no tensor.
            details = as_details(errors.InvalidArgumentError(None, None, str(error)))
            self._fail(i.client, i.request, details)
        else:
            self.sockets.reply(i.client, frames)

    def _order(self, i: AbortStep | SettleStep | ReleasePart) -> Message:
        """What tells another task to do something about a step or an executable of this master."""
        if isinstance(i, ReleasePart):
            return Message(Kind.RELEASE, self._incarnation, i.number)
        kind = Kind.ABORT if isinstance(i, AbortStep) else Kind.TOOK
        return Message(kind, self._incarnation, i.step, int(i.back))

    def _do_own(self, i: AbortStep | SettleStep | ReleasePart) -> None:
        """What `_order` tells other tasks to do, done here."""
        if isinstance(i, ReleasePart):
            self._step(PlanReleased(time.monotonic(), (self._incarnation, i.number)))
        elif isinstance(i, AbortStep):
            self._abort((self._incarnation, i.step), i.back)
        else:
            self._takings.settle((self._incarnation, i.step), i.back)

    def _fail_step(self, key: StepKey, error: BaseException) -> None:
        self._work(self._step(StepFailed(time.monotonic(), key, error)))

    def _work(self, instructions: task_steps.Instructions) -> None:
        """Does what the worker says; what cannot be done, such as sending what is no tensor, fails the step."""
        for i in instructions:
            try:
                if self._traces:
                    self._note_instruction(i)
                self._carry_out[type(i)](i, instructions)
            except Exception as error:
                if isinstance(i, TellFailed):
                    raise
                self._step(StepAborted(time.monotonic(), i.key))
                instructions.append(TellFailed(i.key, error))

    def _run_stage(self, i: RunStage, following: task_steps.Instructions) -> None:
        runner: TaskStageRunner = i.stage.run
        context = self._context(i.key)
        if (
            runner.seconds < SERVED_AT_ONCE_SECONDS
            and not runner.blocks
            and not self._deduplicator.is_busy(context.request_id)
        ):
            following += self._computed(i, *compute(i, context, self._store, self._deduplicator))
        else:
            self._pool.submit(self._run_on_pool, i)

    def _send(self, i: SendTensors, following: task_steps.Instructions) -> None:
        """Sends values; what a last stage sends to the master goes with the word of its end."""
        tensors = [i.to.edges, *i.values]
        last = following[-1]
        to_master = self._tasks_by_incarnation.get(i.key[0]) == i.to.task
        if to_master and type(last) is TellDone and last.key == i.key and not last.along:
            last.values, last.along = [*tensors, *last.values], len(tensors)
        else:
            master, step = i.key
            self._to_peer(i.to.task, Message(Kind.TENSOR, master, step, tensors=tensors))

    def _tell_done(self, i: TellDone, following: task_steps.Instructions) -> None:
        took = self._takings.through(self._contexts.get(i.key))
        self._ended(i.key)
        if i.key[0] == self._incarnation:
            self._direct(self._step(PartDone(time.monotonic(), self._task, i.key[1], i.values, took)))
        else:
            details = {"took": True} if took else {}
            self._to_master(i.key, Message(Kind.DONE, *i.key, i.along, details, i.values))

    def _tell_failed(self, i: TellFailed, following: task_steps.Instructions) -> None:
        context = self._contexts.get(i.key)
        self._ended(i.key)
        if context is not None:  # Another device may be at a stage, or wait for what nobody wants any more.
            context.end(False)
        details = as_details(i.error)
        if i.key[0] == self._incarnation:
            self._direct(self._step(PartFailed(time.monotonic(), self._task, i.key[1], details)))
        else:
            self._to_master(i.key, Message(Kind.FAILED, *i.key, details=details))

    def _to_master(self, key: StepKey, message: Message) -> None:
        """Tells the master of a step, where it is still there."""
        task = self._tasks_by_incarnation.get(key[0])
        if task is not None:
            self._to_peer(task, message)

    def _abort(self, key: StepKey, back: bool = True) -> None:
        """A step ends here; `back`: its client has given it up, and has not got what was taken for it."""
        self._step(StepAborted(time.monotonic(), key))
        self._takings.settle(key, back)
        context = self._contexts.pop(key, None)
        if context is not None:
            context.end(back)

    def _drop_contexts(self) -> None:
        for key in set(self._contexts) - set(self._worker.active):
            self._contexts.pop(key).end(True)

    def _run_on_pool(self, work: RunStage) -> None:
        context = self._contexts.get(work.key)
        if context is None:  # The step has ended since.
            return
        results, error = compute(work, context, self._store, self._deduplicator)
        self.sockets.call(lambda: self._work(self._computed(work, results, error)))

    def _computed(
        self, work: RunStage, results: Sequence[Any], error: Exception | None
    ) -> task_steps.Instructions:
        if error is not None:
            return self._step(StageFailed(time.monotonic(), work, error))
        return self._step(StageDone(time.monotonic(), work, results))

    def _say_goodbye(self) -> None:
        for peer in self._peers.values():
            if peer.incarnation:
                self._to_peer(peer.task, Message(Kind.BYE))

    def close(self) -> None:
        """Ends all threads; from any thread."""
        self.sockets.call(self._say_goodbye)
        self.sockets.stop()
        self._store.close()
        self._pool.close()
        with self._groups.collectives.condition:
            self._groups.close()
        self._sharing.close()

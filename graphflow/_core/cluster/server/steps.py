"""Steps carried out at one task: what its master and its worker say is done.

Stages that may take long or wait run on a pool and report back. A stage that took little time before runs at once in
the thread of the sockets: handing it over would cost more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

import graphflow.errors as errors
from graphflow._core.cluster.failures import as_details
from graphflow._core.cluster.protocol import master_steps, task_steps
from graphflow._core.cluster.protocol.master_steps import (
    AbortStep,
    AnswerRun,
    BeginStep,
    PartDone,
    PartFailed,
    ReleasePart,
    SettleStep,
)
from graphflow._core.cluster.protocol.membership import Member
from graphflow._core.cluster.protocol.subgraphs import SubgraphReleased, SubgraphsEnded
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
    StepStill,
    TellDone,
    TellFailed,
    TensorsArrived,
)
from graphflow._core.cluster.server.computing import StepWatch, TaskStageRunner, compute
from graphflow._core.cluster.server.deduplicator import Deduplicator
from graphflow._core.cluster.server.links import Links
from graphflow._core.cluster.server.reports import StepReports
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.cluster.server.takings import Takings
from graphflow._core.common.machine import Event, StepEvent
from graphflow._core.common.request_ids import RequestId
from graphflow._core.common.timeouts import SERVED_AT_ONCE_SECONDS
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.progress import RunStage, SendTensors
from graphflow._core.transport.frames.message import Kind, Message
from graphflow._core.transport.sharing import Sharing

_OF_EDGES: Final = np.dtype(np.int32)


class Pool(Protocol):
    """Threads that compute stages: runtime.threads.ThreadPool."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls function(*arguments) in one of them."""

    def close(self) -> None:
        """Ends them."""


class Steps:
    """The steps of one task, as a master and as a worker. All methods are for the thread of the sockets.

    protocol: takes the events of steps. store: the task's variables and resources. clock: seconds that never go back.
    """

    def __init__(
        self,
        links: Links,
        sharing: Sharing,
        store: ResourceStore,
        pool: Pool,
        protocol: TaskProtocol,
        reports: StepReports,
        clock: Callable[[], float],
    ) -> None:
        self._task = links.task
        self._incarnation = links.incarnation
        self._links = links
        self._sharing = sharing
        self._store = store
        self._pool = pool
        self._worker = protocol.worker
        self._step: Callable[[StepEvent], list[Any]] = protocol.handle_step
        self._tell: Callable[[Event], list[Any]] = protocol.handle
        """Takes the events that nothing is to be done about."""
        self._clock = clock
        self.reports = reports
        self.deduplicator = Deduplicator()
        store.runs = self.deduplicator
        self.takings = Takings()
        self.contexts: dict[StepKey, StepContext] = {}
        self._carry_out: Mapping[type, Callable[[Any, task_steps.Instructions], None]] = {
            RunStage: self._run_stage, SendTensors: self._send, TellDone: self._tell_done,
            TellFailed: self._tell_failed,
        }  # fmt: skip
        """How each instruction is carried out; it may add others to those that follow."""

    # ---- what other tasks send ------------------------------------------------------------------------------------

    def values_came(self, peer: Member, message: Message) -> None:
        """Values along edges of a step."""
        self._arrived((message.a, message.b), message.take())

    def peer_done(self, peer: Member, message: Message) -> None:
        """Another task has done its part of a step of this master."""
        if message.a != self._incarnation:
            return
        along, values = message.c, message.take()
        if along:
            self._arrived((message.a, message.b), values[:along])
            values = values[along:]
        took = message.details.get("took") is True
        self.direct(self._step(PartDone(self._clock(), peer.task, message.b, values, took)))

    def _arrived(self, key: StepKey, tensors: Sequence[Any]) -> None:
        """Takes tensors on edges: the edges' numbers, then the values; edges beyond those are signals."""
        if key[0] != self._incarnation and key[0] not in self._links.tasks_by_incarnation:
            return
        if (
            not tensors
            or tensors[0] is None
            or tensors[0].dtype != _OF_EDGES
            or tensors[0].ndim != 1
            or len(tensors) > 1 + len(tensors[0])
        ):
            text = f"{self._task} got values of a step without the numbers of their edges."
            self._fail(key, errors.InternalError(None, None, text))
            return
        edges = tensors[0].tolist()
        values = tensors[1:]
        if self.reports.traces:
            self.reports.note_arrived(key, edges)
        found = self._step(TensorsArrived(self._clock(), key, edges, values))
        del tensors, values  # Who sent them may be about to change them, once nobody reads them.
        self.work(found)

    def begin(self, peer: Member, message: Message) -> None:
        """A master begins a step. ValueError if it is not its master that says so."""
        self._links.check_master(peer, message)
        key = (message.a, message.b)
        if self.reports.traced:
            self.reports.begin_trace(key, message.c)
        self._begin(key, message.c, message.tensors, message.details.get("once"))

    def _begin(self, key: StepKey, executable: int, feeds: Sequence[Any], once: Any) -> None:
        """A step begins here, whoever is its master.

        It is watched from its beginning where it may be overdue: what another task's wait needs may stand behind
        something that this task receives, and it may have no stage that waits itself.
        """
        found = self._step(StepBegun(self._clock(), key, executable, feeds))
        progress = self._worker.steps.get(key)
        if progress is not None and progress.may_be_overdue:
            StepWatch(key, self._worker.steps, self._still)
        self.work(found if once is None else self._begun(key, found, once))

    def _begun(self, key: StepKey, found: task_steps.Instructions, details: Any) -> task_steps.Instructions:
        """What a step that has begun does, which may be a repetition: then the earlier attempt ends."""
        if not self._worker.is_active(key):
            return found
        try:
            request = RequestId.of(details)
            earlier = self.deduplicator.begin(request, key)
        except (errors.OpError, TypeError, ValueError) as error:
            return self._step(StepFailed(self._clock(), key, error))
        self._context(key).request_id = request
        if earlier is None:
            return found
        self.abort(earlier)
        repeated = errors.AbortedError(None, None, "The client has begun a later attempt of this run.")
        return [TellFailed(earlier, repeated), *found]

    # ---- what the master says -------------------------------------------------------------------------------------

    def direct(self, instructions: master_steps.Instructions) -> None:
        """Does what the master says."""
        for i in instructions:
            if isinstance(i, BeginStep):
                key = (self._incarnation, i.step)
                if self.reports.traced:
                    self.reports.note_sent(i)
                if (
                    i.task == self._task
                ):  # Where a task has a part, its own comes last: the others need not wait.
                    self._begin(key, i.executable, i.feeds, i.request_id)
                else:
                    details = {} if i.request_id is None else {"once": i.request_id}
                    self._links.to_peer(i.task, Message(Kind.STEP, *key, i.executable, details, i.feeds))
            elif isinstance(i, AnswerRun):
                self._answer_run(i)
            elif i.task == self._task:
                self._do_own(i)
            elif self._links.is_there(i.task):
                self._links.to_peer(i.task, self._order(i))

    def _answer_run(self, i: AnswerRun) -> None:
        """Sends a client the values of its run, or the error."""
        if i.error is not None:
            self._links.fail(i.client, i.request, i.error)
            return
        result = Message(Kind.RESULT, i.request, int(i.holds), tensors=i.values)
        try:
            frames = result.frames(self._sharing.shares.get(i.client) if i.values else None)
        except (TypeError, ValueError) as error:  # A fetched value is no tensor.
            details = as_details(errors.InvalidArgumentError(None, None, str(error)))
            self._links.fail(i.client, i.request, details)
        else:
            self._links.sockets.reply(i.client, frames)

    def _order(self, i: AbortStep | SettleStep | ReleasePart) -> Message:
        """What tells another task to do something about a step or an executable of this master."""
        if isinstance(i, ReleasePart):
            return Message(Kind.RELEASE, self._incarnation, i.number)
        kind = Kind.ABORT if isinstance(i, AbortStep) else Kind.TOOK
        return Message(kind, self._incarnation, i.step, int(i.back))

    def _do_own(self, i: AbortStep | SettleStep | ReleasePart) -> None:
        """What `_order` tells other tasks to do, done here."""
        if isinstance(i, ReleasePart):
            self.release((self._incarnation, i.number))
        elif isinstance(i, AbortStep):
            self.abort((self._incarnation, i.step), i.back)
        else:
            self.takings.settle((self._incarnation, i.step), i.back)

    # ---- what the worker says -------------------------------------------------------------------------------------

    def _fail(self, key: StepKey, error: BaseException) -> None:
        self.work(self._step(StepFailed(self._clock(), key, error)))

    def work(self, instructions: task_steps.Instructions) -> None:
        """Does what the worker says; what cannot be done, such as sending what is no tensor, fails the step."""
        for i in instructions:
            try:
                if self.reports.traces:
                    self.reports.note_instruction(i)
                self._carry_out[type(i)](i, instructions)
            except Exception as error:
                if isinstance(i, TellFailed):
                    raise
                self._step(StepAborted(self._clock(), i.key))
                instructions.append(TellFailed(i.key, error))

    def _run_stage(self, i: RunStage, following: task_steps.Instructions) -> None:
        runner: TaskStageRunner = i.stage.run
        context = self.contexts.get(i.key) or self._context(i.key)
        request = context.request_id
        if (
            runner.seconds < SERVED_AT_ONCE_SECONDS
            and not runner.blocks
            and (request is None or not self.deduplicator.is_busy(request))
            and not (
                self.deduplicator.at_work
                and request is None
                and (runner.snapshot or self.deduplicator.restoring)
            )
        ):
            results, error = compute(i, context, self._store, self.deduplicator)
            if error is None:  # As `_computed`, without the call: every step comes by here.
                following += self._step(StageDone(self._clock(), i, results))
            else:
                following += self._computed(i, results, error)
        else:
            self._pool.submit(self._run_on_pool, i)

    def _still(self, key: StepKey, seconds: float) -> None:
        """Nothing of a step has begun or ended for so long; from any thread."""
        self._links.sockets.call(lambda: self.work(self._step(StepStill(self._clock(), key, seconds))))

    def _run_on_pool(self, work: RunStage) -> None:
        context = self.contexts.get(work.key)
        if context is None:  # The step has ended since.
            return
        results, error = compute(work, context, self._store, self.deduplicator)
        self._links.sockets.call(lambda: self.work(self._computed(work, results, error)))

    def _computed(
        self, work: RunStage, results: Sequence[Any], error: Exception | None
    ) -> task_steps.Instructions:
        if error is not None:
            return self._step(StageFailed(self._clock(), work, error))
        return self._step(StageDone(self._clock(), work, results))

    def _send(self, i: SendTensors, following: task_steps.Instructions) -> None:
        """Sends values; what a last stage sends to the master goes with the word of its end."""
        tensors = [i.to.edges, *i.values]
        last = following[-1]
        to_master = self._links.tasks_by_incarnation.get(i.key[0]) == i.to.task
        if to_master and type(last) is TellDone and last.key == i.key and not last.along:
            last.values, last.along = [*tensors, *last.values], len(tensors)
        else:
            master, step = i.key
            self._links.to_peer(i.to.task, Message(Kind.TENSOR, master, step, tensors=tensors))

    def _tell_done(self, i: TellDone, following: task_steps.Instructions) -> None:
        context = self._ended(i.key)
        took = context is not None and self.takings.through(context)
        if i.key[0] == self._incarnation:
            self.direct(self._step(PartDone(self._clock(), self._task, i.key[1], i.values, took)))
        else:
            details = {"took": True} if took else {}
            self._links.to_master(i.key[0], Message(Kind.DONE, *i.key, i.along, details, i.values))

    def _tell_failed(self, i: TellFailed, following: task_steps.Instructions) -> None:
        context = self._ended(i.key)
        if context is not None:  # Another device may be at a stage, or wait for what nobody wants any more.
            context.end(False)
        details = as_details(i.error)
        if i.key[0] == self._incarnation:
            self.direct(self._step(PartFailed(self._clock(), self._task, i.key[1], details)))
        else:
            self._links.to_master(i.key[0], Message(Kind.FAILED, *i.key, details=details))

    # ---- contexts -------------------------------------------------------------------------------------------------

    def _context(self, key: StepKey) -> StepContext:
        """The context of a step, made when its first stage is about to run."""
        context = self.contexts.get(key)
        if context is None:
            context = self.contexts[key] = StepContext(self._store, key, self.reports.has_output)
            if self.reports.traces:
                context.trace = self.reports.traces.get(key)
        return context

    def _ended(self, key: StepKey) -> StepContext | None:
        """The context of a step that has come to its end here: what it has to tell goes out before the word of that."""
        context = self.contexts.pop(key, None)
        if context is not None and context.has_written:
            self.reports.send_output(context, last=True)
        if self.reports.traces:
            self.reports.end_trace(key)
        return context

    def abort(self, key: StepKey, back: bool = True) -> None:
        """A step ends here; `back`: its client has given it up, and has not got what was taken for it."""
        self._step(StepAborted(self._clock(), key))
        self.takings.settle(key, back)
        context = self.contexts.pop(key, None)
        if context is not None:
            context.end(back)

    def release(self, executable: StepKey) -> None:
        """A master wants its executable no more; steps of it go on."""
        self._step(PlanReleased(self._clock(), executable))
        self._tell(SubgraphReleased(self._clock(), executable))

    def _end_subgraphs(self, incarnation: int) -> None:
        self._step(MasterGone(self._clock(), incarnation))
        self._tell(SubgraphsEnded(self._clock(), incarnation))

    def master_ended(self, incarnation: int) -> None:
        """A master is not there any more: what it has registered here and begun ends, and what was taken goes back."""
        self._end_subgraphs(incarnation)
        self.takings.settle_all([incarnation])

    def reset(self, error: errors.OpError, masters: Collection[int]) -> None:
        """All steps here end, with an error, and all plans of these masters; what was taken is forgotten."""
        self.end_all(error, masters)
        self.takings.settle_all()

    def end_all(self, error: errors.OpError, masters: Collection[int]) -> None:
        """All steps here end, with an error, and all plans of these masters."""
        for key in self._worker.active:  # Of masters that may have been reset before, and have begun anew.
            self._fail(key, error)
        for incarnation in masters:
            self._end_subgraphs(incarnation)
        self.drop_contexts()

    def drop_contexts(self) -> None:
        """Ends what steps are at that are over."""
        for key in set(self.contexts) - set(self._worker.active):
            self.contexts.pop(key).end(True)

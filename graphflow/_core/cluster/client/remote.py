"""What a session on a cluster needs: plans made here, for the cluster's devices, and run there.

The client does all the planning, with the same passes as for one process, and hands each task its stages.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.cluster.client.control import address_of, no_answer
from graphflow._core.cluster.client.step_events import StepEvents
from graphflow._core.cluster.failures import from_details
from graphflow._core.cluster.in_process import InProcessRuns, find
from graphflow._core.cluster.server.step_trace import merged
from graphflow._core.cluster.stage_text import stage_text
from graphflow._core.graph.devices import DeviceSpec, task_of
from graphflow._core.plan.encode import PlanWriter
from graphflow._core.plan.ir import Plan
from graphflow._core.plan.partition import Partition
from graphflow._core.plan.passes.collectives import needs_others
from graphflow._core.plan.segments import Key, Segment, segments
from graphflow._core.plan.takings import changes_more
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.planner import ExecutionOptions, Planner
from graphflow._core.runtime.trace import Recorder
from graphflow._core.transport import keys
from graphflow._core.transport.client import Connection, Overdue, Refused
from graphflow._core.transport.frames.message import Kind
from graphflow.config import ConfigProto


def tasks_of(graph: Any) -> list[str]:
    """The tasks, or whole jobs, that the devices of a graph's operations name."""
    specs = [
        DeviceSpec.from_string(device) for device in {op.device for op in graph.get_operations() if op.device}
    ]
    return sorted({DeviceSpec(job=s.job, task=s.task).to_string() for s in specs if s.job})


class RemotePlanner(Planner):
    """A planner whose executables run on a cluster; `target` is the server that is their master, zmq://host:port."""

    def __init__(self, config: ConfigProto, target: Any, graph: Any) -> None:
        address = address_of(target)
        self._graph = graph
        self.connection = Connection(
            address,
            {"filters": list(config.device_filters)}
            | ({} if config.wait_for_left_tasks else {"needs": tasks_of(graph)}),
            keys.access(config.cluster_keys),
            config.tcp_only,
        )
        self.events = self.connection.events = StepEvents()
        seconds = config.connect_timeout_in_ms / 1000
        try:
            welcome = self.connection.greet(seconds)
        except Overdue as overdue:
            self.connection.close()
            text = no_answer(address, ", the session's target,", seconds, overdue.trouble)
            raise errors.UnavailableError(None, None, text) from None
        except Refused as refused:
            self.connection.close()
            raise from_details(refused.details, graph) from None
        except BaseException:
            self.connection.close()
            raise
        self.operation_timeout_in_ms = int(welcome.details.get("operation_timeout_in_ms", 0))
        self.cluster_has_clients = bool(welcome.details["in_use"])
        task = str(welcome.details["task"])
        found = [str(device) for device in welcome.details["devices"]]
        own = [device for device in found if task_of(device) == task]
        beside = find(str(welcome.details["incarnations"][task]))
        self._in_process = None if beside is None else InProcessRuns(beside, self.connection.session)
        super().__init__(config, own + [d for d in found if d not in own], task)

    def executable(
        self,
        plan: Plan,
        store: ResourceStore,
        options: ExecutionOptions,
        borrows: bool = False,
        threads: int | None = None,
    ) -> Executable:
        """What runs a plan on the cluster; no state of it is in this process, unless the task itself is."""
        if self._in_process is not None and self._in_process.takes(plan, list(self.partition(plan).parts)):
            return self._in_process.executable(plan, options)
        return RemoteExecutable(self, plan, options)

    def text(self, plan: Plan) -> str:
        """What each task does, in which stages."""
        return stage_text(plan, self.partition(plan))

    def close(self) -> None:
        """Closes the connection; what the session had registered is freed."""
        if self._in_process is not None:
            self._in_process.close(self.given_up)
        self.connection.close(self.given_up)
        super().close()

    def error(self, refused: Refused) -> errors.OpError:
        """The error that the server answered with, which says itself what caused it."""
        found = from_details(refused.details, self._graph)
        found.__suppress_context__ = True
        return found


class RemoteExecutable(Executable):
    """A plan that the tasks of a cluster have registered, or will at its first run. Thread-safe.

    What became compiled is known on the tasks.
    """

    uses_variables = False
    """None of this process."""

    def __init__(self, planner: RemotePlanner, plan: Plan, options: ExecutionOptions) -> None:
        self._planner = planner
        self._plan = plan
        self._needs_others = needs_others(plan)
        """Then a repeated run is one more round for all, who take the same values first: nothing is left out."""
        self._edges: dict[Key, int] = {}
        self._request, self._tensors = _registration(plan, planner.partition(plan), options, self._edges)
        self._number = 0

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order; they belong to the caller."""
        connection = self._planner.connection
        sent = 0
        try:
            if not self._number:
                self._register(run)
            sent = time.perf_counter_ns() if run.trace is not None else 0
            once = {} if run.request_id is None or self._needs_others else {"once": run.request_id}
            try:
                answer = connection.ask(Kind.RUN, self._number, once, tensors=feeds, deadline=run.deadline)
            except Refused as refused:
                if not refused.details.get("unknown"):
                    raise
                self._register(run)
                answer = connection.ask(Kind.RUN, self._number, once, tensors=feeds, deadline=run.deadline)
        except Refused as refused:
            raise self._planner.error(refused)  # noqa: B904
        except Overdue as overdue:
            awaited = overdue.awaited or [self._planner.connection.address]
            raise self._late(awaited, overdue.waits) from None
        finally:
            if self._planner.events.waits:
                self._planner.events.over()
            if run.trace is not None:
                self._traced(run.trace, sent)
        return tuple([value[()] if value.ndim == 0 else np.array(value) for value in answer.tensors])

    def _traced(self, recorder: Recorder, sent: int) -> None:
        """Puts what the tasks have recorded on one timeline. The plan was registered for this run alone."""
        traces = self._planner.events.take_traces()
        if traces:
            names = {number: key for key, number in self._edges.items()}
            found, received = [details for details, _ in traces], traces[-1][1]
            recorder.elsewhere = merged(found, names, sent, received, recorder.origin)
        self._planner.connection.tell(Kind.RELEASE, self._number)
        self._number = 0

    def _late(self, awaited: Sequence[str], waits: Mapping[str, Sequence[str]]) -> errors.OpError:
        """The error of a run whose deadline has passed: the tasks it waited for, and what is computed there.

        waits: what those that have said so wait for themselves.
        """
        cut = self._planner.partition(self._plan)
        found = {d: s for d, s in segments(cut).items() if task_of(d) in awaited}
        by_stage = [
            (stage.blocks, [i.name for i in stage.plan.instructions]) for s in found.values() for stage in s
        ]
        waiting = [name for blocks, names in by_stage if blocks for name in names]
        names = waiting or [name for _, names in by_stage for name in names]
        shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        return errors.DeadlineExceededError(
            None, None,
            f"The run did not end within the time given: it waits for {', '.join(awaited)}"
            + (f", which computes or waits for: {shown}." if shown else ".")
            + "".join(f" {task} waits for {'; '.join(texts)}." for task, texts in waits.items()),
        )  # fmt: skip

    def _register(self, run: RunContext) -> None:
        answer = self._planner.connection.ask(
            Kind.REGISTER, 0, self._request, self._tensors, deadline=run.deadline
        )
        self._number = answer.b


def _registration(
    plan: Plan, cut: Partition, options: ExecutionOptions, edges: dict[Key, int]
) -> tuple[Mapping[str, Any], list[Any]]:
    """The details and arrays of a REGISTER message: for each task its stages, feeds and fetches; numbers the edges."""
    by_task: dict[str, dict[str, list[Segment]]] = {}
    for device, found in segments(cut).items():
        by_task.setdefault(task_of(device), {})[device] = found
    fetched: dict[str, list[tuple[str, str]]] = {task: [] for task in by_task}
    places = []
    for name, device in zip(plan.fetches, cut.fetch_devices, strict=True):
        task = task_of(device)
        places.append([task, len(fetched[task])])
        fetched[task].append((device, name))
    tasks: dict[str, Any] = {}
    arrays: list[Any] = []
    changing = {
        task
        for task, devices in by_task.items()
        if any(changes_more(stage.plan) for found in devices.values() for stage in found)
    }
    for task, devices in by_task.items():
        writer = PlanWriter()
        trees = {d: [_stage_tree(s, writer, edges) for s in found] for d, found in devices.items()}
        used = {n for found in devices.values() for s in found for n in s.plan.feeds}
        used |= {name for _, name in fetched[task]}
        positions = [p for p, name in enumerate(plan.feeds) if name in used]
        tasks[task] = {
            "stages": trees,
            "feeds": [plan.feeds[p] for p in positions],
            "positions": positions,
            "fetches": fetched[task],
            "changes_more": bool(changing - {task}),
            "arrays": [len(arrays), len(arrays) + len(writer.arrays)],
            **asdict(options),
        }
        arrays += writer.arrays
    return {"tasks": tasks, "fetches": places}, arrays


def _stage_tree(stage: Segment, writer: PlanWriter, edges: dict[Key, int]) -> Mapping[str, Any]:
    return {
        "plan": writer.plan(stage.plan),
        "receives": [[edges.setdefault(key, len(edges)), name] for key, name in stage.receives.items()],
        "sends": [
            [edges.setdefault(key, len(edges)), name, task_of(key[2])] for key, name in stage.sends.items()
        ],
        "blocks": stage.blocks,
    } | ({} if stage.needs is None else {"needs": stage.needs, "turn": stage.turn, "calls": stage.calls})

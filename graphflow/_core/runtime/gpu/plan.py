"""DevicePlan: a plan for known shapes as launches on one GPU, over memory laid out beforehand.

All that a run gets from the host lies in one block and takes one copy: feeds, the counters of random states, a cleared
status. Results share one arena, and variables stay where they are. So a run allocates nothing on the device, and its
launches are the same each time. Instructions without a kernel run on NumPy, between copies. Nothing is computed twice:
an error is seen at the end of the run, and after an error kernels that write variables do nothing.

Values may also come from other parts that ran on a GPU, and results may stay there for later parts. Such a run waits
for the device only if one of its kernels can fail.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.gpu.merge import merged
from graphflow._core.codegen.gpu.region_text import PlacedRegion
from graphflow._core.codegen.gpu.regions import region_launches
from graphflow._core.codegen.gpu.toolkit import Device, Launch, Work
from graphflow._core.common.denormals import computing
from graphflow._core.compiler.combine import combine_for_device
from graphflow._core.compiler.compile_job import stored_roots
from graphflow._core.compiler.emit import fused_region
from graphflow._core.compiler.fuse import Group, fuse
from graphflow._core.compiler.gpu.grouping import batches, lowest, reach, small_groups
from graphflow._core.compiler.gpu.nodes import Buffers, DeviceNode
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import copied, operand, own
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Unusable
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.gpu.arrays import DeviceArray
from graphflow._core.runtime.gpu.cutting import Cutter
from graphflow._core.runtime.gpu.failures import raise_failure
from graphflow._core.runtime.gpu.plan_memory import PlanMemory, PlanVariables, lives
from graphflow._core.runtime.gpu.segments import DeviceSegment, HostSegment, Segment, cut_after
from graphflow._core.runtime.gpu.transfers import Inbox, Outbox


class DevicePlan:
    """A lowered plan on a GPU. Thread-safe: one run at a time.

    handed: the feeds that come as DeviceArrays.
    """

    def __init__(
        self,
        plan: Plan,
        lowering: Lowering,
        device: Device,
        name: str,
        store: ResourceStore,
        kernels: KernelTable,
        handed: frozenset[str] = frozenset(),
    ) -> None:
        self._plan = plan
        self._handed = handed
        self._lowering = lowering
        self.device = device
        self._name = name
        self._store = store
        self._lock = threading.Lock()
        self._fetched = {f: self._compact(f) for f in plan.fetches}
        roots = {value.root for value in self._fetched.values() if value is not None}
        self.groups = [
            small for group in fuse(combine_for_device(lowering, roots)) for small in small_groups(group)
        ]
        self._stored = stored_roots(self.groups, plan, lowering) | roots
        self._batches = batches(self.groups)
        self._makers = {o: i for i in plan.instructions for o in i.outputs}
        self._variables = PlanVariables(lowering, store, device)
        cutter = Cutter(self.groups, self._batches, lowering, self._makers, self._variables, store, kernels)
        plain = self._cut(cutter)
        self._segments = cut_after(plain, self._batches, cutter.last_of(roots), self._variables.written)
        self._needed = len(plain)
        """The segments that compute fetched values; the GPU may still be at work on others when a run ends."""
        self._lay_out()

    # ---- what runs where --------------------------------------------------------------------------------------------

    def _compact(self, name: str) -> Value | None:
        """The contiguous copy of a fetched value."""
        value = self._lowering.values.get(name)
        if value is None or value.contiguous:
            return value
        anything = self._plan.instructions[0]
        makers = {o: i for i in self._plan.instructions for o in i.outputs}
        return self._lowering.compact(makers.get(name, anything), value)

    def _cut(self, cutter: Cutter) -> list[Segment]:
        """The segments, not yet cut after the last fetched value."""
        return cutter.whole()

    # ---- memory ------------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Allocates the memory that all runs use; ResourceExhaustedError if the device has not so much."""
        lowering = self._lowering
        asked = {
            number: node
            for number, group in enumerate(self.groups)
            for node in group.nodes
            if isinstance(node, DeviceNode) and node.before is not None
        }
        self._inbox = Inbox(self.device, lowering.values, self._plan.feeds, self._handed, asked)
        self._outbox = Outbox(self._fetched)
        left = [value.root for value in self._fetched.values() if value is not None]
        spans = {r: s for r, s in lives(self.groups, self._batches, left).items() if r in self._stored}
        self._memory = PlanMemory(self.device, lowering, self._variables, self._inbox, spans)
        with self.device.current():
            try:
                self._memory.allocate()
                self._bind()
            except errors.ResourceExhaustedError as error:
                raise self._memory.exhausted(self._name, self._makers) from error
            self._inbox.prepare(self._fallible)
            self._outbox.prepare(self.device)

    # ---- launches ----------------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        """Makes the launches, for the addresses that variables and all else have now."""
        self._variables.bind()
        self._memory.moved()
        status = self._inbox.status
        for segment in self._segments:
            if isinstance(segment, DeviceSegment):
                batches = [b for b in self._batches if b[0] in {number for number, _ in segment.groups}]
                segment.bind([work for batch in batches for work in self._batch_works(batch, status)])
        may_fail = [isinstance(s, DeviceSegment) and s.fallible for s in self._segments]
        self._fallible = any(may_fail)
        if any(may_fail[self._needed :]):
            self._needed = len(self._segments)  # The run must know whether all went well.

    def _batch_works(self, batch: Sequence[int], status: Any) -> Sequence[Work]:
        works = [work for number in batch for work in self._works(number, self.groups[number], status)]
        return works if len(batch) == 1 else merged([work for work in works if isinstance(work, Launch)])

    def _works(self, number: int, group: Group, status: Any) -> Sequence[Work]:
        node = group.nodes[0]
        if isinstance(node, DeviceNode):
            assert node.build is not None
            given = None if node.before is None else self._inbox.words(number, node.words)
            return node.build(Buffers(self.device.index, self._memory.array, status, number + 1, given))
        fused = fused_region(group, self._stored)
        inputs, outputs = (
            [self._memory.operand(value, strides) for value, strides in values]
            for values in (fused.inputs, fused.outputs)
        )
        return region_launches(
            PlacedRegion(fused.region, fused.sizes, inputs, outputs, status, number + 1),
            self._memory.working_memory(number),
        )

    def launch_once(self) -> None:
        """Starts the launches of a run on the present values, and does not wait; for measuring."""
        with self.device.current():
            for segment in self._segments:
                if isinstance(segment, DeviceSegment):
                    for work in segment.works:
                        self.device.launch(work)

    @property
    def launches(self) -> int:
        """The launches of a run."""
        return sum(len(s.works) for s in self._segments if isinstance(s, DeviceSegment))

    @property
    def on_host(self) -> list[str]:
        """The instructions that NumPy runs between the kernels."""
        return [n.instruction.describe() for g in self.groups for n in g.nodes if isinstance(n, PythonNode)]

    def describe(self) -> str:
        """The launches as text, in a few lines."""
        lines = []
        for segment in self._segments:
            if isinstance(segment, HostSegment):
                lines.append(f"on the CPU: {', '.join(segment.instructions)}")
                continue
            for _, group in segment.groups:
                space = "x".join(map(str, group.space or ()))
                lines.append(f"{space:>12} {' '.join(n.instruction.type for n in group.nodes)}")
        megabytes = self._memory.arena_bytes / 2**20
        return "\n".join([*lines, f"{self.launches} launches on {self._name}; arena {megabytes:.1f} MB"])

    # ---- a run -------------------------------------------------------------------------------------------------------

    def run(
        self, run: RunContext, feeds: Sequence[Any], keeps: Container[str] = frozenset()
    ) -> tuple[Any, ...]:
        """One run; the fetched values in `keeps` stay on the device, as DeviceArrays.

        Raises Unusable, before anything has happened, if variables have no values of the known shapes.
        """
        with self._lock:
            if not self._variables.fit():
                raise Unusable
            given = dict(zip(self._plan.feeds, feeds, strict=True))
            objects = {n: operand(v) for n, v in given.items() if n not in self._handed}
            fallible = False
            try:
                self._inbox.send(run, given | objects)
                for segment in self._segments[: self._needed]:
                    if isinstance(segment, DeviceSegment):
                        self._run_device(segment)
                        fallible |= segment.fallible
                        continue
                    if fallible:
                        self._look_for_failure()
                    self._run_host(segment, run, objects)
                found, coming = self._begin_fetching(objects, keeps)
                for segment in self._segments[self._needed :]:
                    assert isinstance(segment, DeviceSegment)
                    self._run_device(segment)
                return self._fetched_values(found, coming)
            except BaseException:
                self.device.wait()  # The next run may change what this one sends only once it is there.
                raise

    def _run_device(self, segment: DeviceSegment) -> None:
        with self.device.current():
            if self._variables.have_moved():
                self._bind()
            segment.run(self.device)

    def _run_host(self, segment: HostSegment, run: RunContext, objects: dict[str, Any]) -> None:
        arguments = [self._on_host(name, objects) for name in segment.inputs]
        try:
            with computing():
                results = segment.part.function(run, *arguments)
        except Exception as error:
            raise_explained(error, segment.part)
        with self.device.current():
            for name, result in zip(segment.outputs, results, strict=True):
                value = self._lowering.values.get(name)
                if value is None:
                    objects[name] = operand(result)
                    continue
                if np.shape(result) != value.shape:
                    raise errors.InternalError(
                        None, None, f"{name!r} changed its shape from {value.shape} to {np.shape(result)}."
                    )
                array = np.ascontiguousarray(result).reshape(-1)
                self.device.upload(
                    self._memory.block(value.root, value.dtype),
                    array.view(np.uint8) if array.dtype == bool else array,
                )
            self.device.wait()

    def _on_host(self, name: str, objects: dict[str, Any]) -> Any:
        """A value for a kernel of NumPy's."""
        value = self._lowering.values.get(name)
        if name in objects:
            return objects[name]
        return self._lowering.constants[name] if value is None else self._copied(value)

    def _copied(self, value: Value) -> Any:
        """A value from the device, with the strides that it has there, after the work that was started before."""
        with self.device.current():
            block = self._memory.array(value)
            start = value.offset - lowest(value)
            extent = start + reach(value)
            array = np.empty(extent, np.uint8 if value.dtype == "bool" else value.dtype)
            self.device.download(block[:extent], array)
            self.device.wait()
        array = array.view(value.dtype)
        item = array.itemsize
        strides = tuple(s * item for s in value.strides)
        found = np.ndarray(value.shape, array.dtype, array, start * item, strides)
        return found if value.shape else found[()]

    def _begin_fetching(
        self, objects: dict[str, Any], keeps: Container[str]
    ) -> tuple[dict[str, Any], dict[str, Value]]:
        """Starts the copies to the host; returns the fetched values that need none, and those under way."""
        device = self.device
        found: dict[str, Any] = {}
        coming: dict[str, Value] = {}
        with device.current():
            if self._variables.have_moved():
                self._bind()
            for name, value in self._fetched.items():
                if value is None or name in self._lowering.constants:
                    found[name] = copied(self._of_host(name, objects))
                elif not value.size:
                    found[name] = np.empty(value.shape, value.dtype)
                elif name in keeps:
                    found[name] = kept = DeviceArray(device, value.shape, value.dtype)
                    device.copy(kept.block, self._memory.fetched_array(name, value))
                else:
                    coming[name] = value
            if coming or self._fallible:
                arrays = {name: self._memory.fetched_array(name, value) for name, value in coming.items()}
                self._outbox.fetch(self._inbox.status, arrays)
        return found, coming

    def lies_on_device(self, name: str) -> bool:
        """Whether a fetched value is on the device, rather than with NumPy."""
        value = self._fetched[name]
        return value is not None and name not in self._lowering.constants and bool(value.size)

    def _of_host(self, name: str, objects: dict[str, Any]) -> Any:
        """A value that is not on the device: an object of NumPy's, a variable without elements, or a constant."""
        if name in objects:
            return own(objects[name])
        if name in self._lowering.variables:
            return self._store.cell(self._lowering.variables[name]).value
        return self._lowering.constants[name]

    def _fetched_values(self, found: dict[str, Any], coming: dict[str, Value]) -> tuple[Any, ...]:
        """The fetched values. Waits if some of them come to the host, or if a kernel may have failed."""
        if coming or self._fallible:
            self._outbox.wait()
            raise_failure(self._outbox.status.tolist(), self.groups)
        for name, value in coming.items():
            array = self._outbox.slot(name).view(value.dtype).reshape(value.shape)
            found[name] = array.copy() if value.shape else array[()]
        return tuple([found[name] for name in self._plan.fetches])

    def _look_for_failure(self) -> None:
        """Raises the error of a kernel so far, before the host uses its results or changes anything."""
        with self.device.current():
            self._outbox.fetch(self._inbox.status, {})
        self._outbox.wait()
        raise_failure(self._outbox.status.tolist(), self.groups)

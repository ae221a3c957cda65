"""DevicePlan: a plan for known shapes as launches on one GPU, over memory laid out beforehand.

All that a run gets from the host lies in one block and takes one copy: feeds, the counters of random states, a cleared
status. Results share one arena, and variables stay where they are. So a run allocates nothing on the device, and its
launches are the same each time. Instructions without a kernel run on NumPy, between copies. Nothing is computed twice:
an error is seen at the end of the run, and after an error kernels that write variables do nothing.

Values may also come from other parts that ran on a GPU, and results may stay there for later parts. Such a run waits
for the device only if one of its kernels can fail.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Container, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.gpu.merge import merged
from graphflow._core.codegen.gpu.region_text import Operand, PlacedRegion
from graphflow._core.codegen.gpu.regions import region_launches
from graphflow._core.codegen.gpu.toolkit import Device, Launch, Work, part
from graphflow._core.common.denormals import computing
from graphflow._core.compiler.combine import combine_for_device
from graphflow._core.compiler.compile_job import stored_roots
from graphflow._core.compiler.emit import fused_region
from graphflow._core.compiler.fuse import Group, fuse
from graphflow._core.compiler.gpu.grouping import batches, lowest, reach, small_groups
from graphflow._core.compiler.gpu.nodes import DeviceNode, Places
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.memory import assign_clusters
from graphflow._core.compiler.nodes import PythonNode
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import assemble, copied, operand, own
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Unusable
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.gpu.arrays import DeviceArray
from graphflow._core.runtime.gpu.cells import DeviceCell
from graphflow._core.runtime.gpu.failures import raise_failure
from graphflow._core.runtime.gpu.segments import DeviceSegment, HostSegment, Segment, cut_after
from graphflow._core.runtime.gpu.transfers import Inbox, Outbox, bytes_of


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
        self.device = self._device = device
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
        self._cells: dict[str, DeviceCell] = {}
        self._shapes: dict[str, tuple[int, ...]] = {}
        for variable, i in lowering.variables.items():
            if variable in lowering.values:
                cell = store.cell(i)
                assert isinstance(cell, DeviceCell)
                self._cells[variable] = cell
                self._shapes[variable] = lowering.known[variable][0]
        self._bound: dict[str, Any] = {}
        self._scratch: dict[tuple[int, int], Any] = {}
        plain = self._cut(kernels)
        self._segments = cut_after(plain, self._batches, self._last_fetched(), self._written)
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

    def _cut(self, kernels: KernelTable) -> list[Segment]:
        segments: list[Segment] = []
        stretch: list[PythonNode] = []
        for number, group in enumerate(self.groups):
            first = group.nodes[0]
            if isinstance(first, PythonNode):
                if stretch and self._takes_made(stretch, first):
                    segments.append(self._host_segment(stretch, kernels))
                    stretch = []
                stretch.append(first)
                continue
            if stretch:
                segments.append(self._host_segment(stretch, kernels))
                stretch = []
            if not segments or not isinstance(segments[-1], DeviceSegment):
                segments.append(DeviceSegment([]))
            last = segments[-1]
            assert isinstance(last, DeviceSegment)
            last.groups.append((number, group))
            last.written = list(dict.fromkeys([*last.written, *self._written(group)]))
        if stretch:
            segments.append(self._host_segment(stretch, kernels))
        return segments

    def _written(self, group: Group) -> list[DeviceCell]:
        return [self._cells[root] for node in group.nodes for root in node.variables]

    def _last_fetched(self) -> int:
        """The number of the last group that computes a fetched value, or writes a fetched variable."""
        roots = {value.root for value in self._fetched.values() if value is not None}
        numbers = [
            number
            for number, group in enumerate(self.groups)
            for node in group.nodes
            if not roots.isdisjoint((*node.makes, *node.variables))
        ]
        return max(numbers, default=-1)

    def _takes_made(self, before: Sequence[PythonNode], node: PythonNode) -> bool:
        """Whether a node takes a view of a value that earlier nodes compute, which is there only after them."""
        made = {root for n in before for root in n.makes}
        inside = {o for n in before for o in n.instruction.outputs}
        names = [n for n in node.instruction.free_variables() if n not in inside]
        values = [self._lowering.values.get(n) for n in names]
        return any(v is not None and v.root in made for v in values)

    def _host_segment(self, nodes: Sequence[PythonNode], kernels: KernelTable) -> HostSegment:
        inside = {o for node in nodes for o in node.instruction.outputs}
        around: dict[str, Instruction] = {}
        inputs: dict[str, None] = {}
        for name in (n for node in nodes for n in node.instruction.free_variables() if n not in inside):
            maker = self._makers.get(name)
            if maker is not None and (maker.is_variable or maker.is_constant):
                around[maker.name] = maker
            else:
                inputs[name] = None
        outputs = [o for node in nodes for o in node.instruction.outputs]
        instructions = (*around.values(), *(n.instruction for n in nodes))
        plan = Plan(instructions, feeds=tuple(inputs), fetches=tuple(outputs))
        told = [n.instruction.describe() for n in nodes]
        return HostSegment(assemble(plan, self._store, kernels), list(inputs), outputs, told)

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
        self._inbox = Inbox(self._device, lowering.values, self._plan.feeds, self._handed, asked)
        self._outbox = Outbox(self._fetched)
        blocks = lowering.blocks
        lives = self._lives()
        sizes = {root: blocks[root] for root in lives if root in self._stored and root in blocks}
        offsets, total = assign_clusters(sizes, {r: lives[r] for r in sizes}, set(lowering.clusters.values()))
        self._offsets = offsets
        self._largest = max(sizes, key=lambda r: sizes[r], default="")
        self._needs = {"results": total, "feeds": self._inbox.total}
        self._blocks: dict[str, Any] = {}
        with self._device.current():
            try:
                self._arena = self._device.allocate(total, "uint8")
                self._inbox.allocate()
                self._bind()
            except errors.ResourceExhaustedError as error:
                raise self._exhausted() from error
            self._inbox.prepare(self._fallible)
            self._outbox.prepare(self._device)

    def _exhausted(self) -> errors.ResourceExhaustedError:
        variables = sum(
            math.prod(shape) * np.dtype(self._lowering.known[n][1]).itemsize
            for n, shape in self._shapes.items()
        )
        constants = sum(bytes_of(v) for v in self._lowering.values.values() if v.root in self._blocks)
        needs = {**self._needs, "variables": variables, "constants": constants}
        root = self._largest.partition("#")[0]
        maker = self._makers.get(root)
        largest = self._lowering.blocks.get(self._largest, 0)
        what = root if maker is None else maker.describe()
        told = ", ".join(f"{count / 2**20:.1f} MB for {kind}" for kind, count in needs.items())
        return errors.ResourceExhaustedError(
            None,
            None if maker is None else maker.origin,
            f"{self._name} has not enough memory for this plan, which needs {told}. The largest result is that of "
            f"{what} with {largest / 2**20:.1f} MB. Feed smaller batches, or place a part of the graph elsewhere.",
        )

    def _lives(self) -> dict[str, tuple[int, int]]:
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for position, batch in enumerate(self._batches):
            for node in (node for number in batch for node in self.groups[number].nodes):
                for root in (*(v.root for v in node.reads), *node.makes):
                    first.setdefault(root, position)
                    last[root] = position
        for value in self._fetched.values():
            if value is not None:
                first.setdefault(value.root, len(self.groups))
                last[value.root] = len(self.groups)
        return {root: (first[root], last[root]) for root in first}

    def _root(self, root: str, dtype: str) -> Any:
        """The memory of a block, as an array of a dtype."""
        if root in self._cells:
            return self._bound[root]
        if root in self._offsets:
            size = self._lowering.blocks[root]
            return part(self._arena, self._offsets[root], size // np.dtype(dtype).itemsize, dtype)
        given = self._inbox.find(root, dtype)
        if given is not None:
            return given
        if root not in self._blocks:
            array = np.array(self._lowering.constants[root], order="C", ndmin=1).reshape(-1)
            array = array.view(np.uint8) if array.dtype == bool else array
            self._blocks[root] = self._device.allocate(array.size, array.dtype.name)
            self._device.upload(self._blocks[root], array)
            self._device.wait()
        return self._blocks[root]

    def _array(self, value: Value) -> Any:
        """The elements of a block, from a value's lowest on."""
        return self._root(value.root, value.dtype)[lowest(value) :]

    def _fetched_array(self, name: str, value: Value) -> Any:
        """A fetched value's memory, kept since making the array anew for each run takes longer than to copy it."""
        found = self._leaving.get(name)
        if found is None:
            found = self._leaving[name] = self._array(value)[: value.size]
        return found

    def _operand(self, value: Value, strides: tuple[int, ...] | None) -> Operand:
        return Operand(self._array(value), value.offset - lowest(value), strides or ())

    # ---- launches ----------------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        """Makes the launches, for the addresses that variables and all else have now."""
        for name, cell in self._cells.items():
            if cell.shape() != self._shapes[name]:
                raise Unusable
            self._bound[name] = cell.block(self._device)
        self._leaving: dict[str, Any] = {}
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
            return node.build(Places(self._device.index, self._array, status, number + 1, given))
        fused = fused_region(group, self._stored)
        count = 0

        def allocate(elements: int, dtype: str) -> Any:
            nonlocal count
            count += 1
            key = (number, count)
            if key not in self._scratch:
                self._scratch[key] = self._device.allocate(elements, dtype)
            return self._scratch[key]

        inputs, outputs = (
            [self._operand(value, strides) for value, strides in values]
            for values in (fused.inputs, fused.outputs)
        )
        return region_launches(
            PlacedRegion(fused.region, fused.sizes, inputs, outputs, status, number + 1), allocate
        )

    def launch_once(self) -> None:
        """Starts the launches of a run on the present values, and does not wait; for measuring."""
        with self._device.current():
            for segment in self._segments:
                if isinstance(segment, DeviceSegment):
                    for work in segment.works:
                        self._device.launch(work)

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
        megabytes = self._needs["results"] / 2**20
        return "\n".join([*lines, f"{self.launches} launches on {self._name}; arena {megabytes:.1f} MB"])

    # ---- a run -------------------------------------------------------------------------------------------------------

    def run(
        self, run: RunContext, feeds: Sequence[Any], keeps: Container[str] = frozenset()
    ) -> tuple[Any, ...]:
        """One run; the fetched values in `keeps` stay on the device, as DeviceArrays.

        Raises Unusable, before anything has happened, if variables have no values of the known shapes.
        """
        with self._lock:
            if any(cell.shape() != self._shapes[name] for name, cell in self._cells.items()):
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
                self._device.wait()  # The next run may change what this one sends only once it is there.
                raise

    def _find_variables(self) -> None:
        """Brings the newest values of variables to the addresses that the launches read."""
        blocks = {name: cell.block(self._device) for name, cell in self._cells.items()}
        if any(blocks[name] is not self._bound[name] for name in blocks):
            self._bind()

    def _run_device(self, segment: DeviceSegment) -> None:
        with self._device.current():
            self._find_variables()
            segment.run(self._device)

    def _run_host(self, segment: HostSegment, run: RunContext, objects: dict[str, Any]) -> None:
        arguments = [self._on_host(name, objects) for name in segment.inputs]
        try:
            with computing():
                results = segment.part.function(run, *arguments)
        except Exception as error:
            raise_explained(error, segment.part)
        with self._device.current():
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
                self._device.upload(
                    self._root(value.root, value.dtype),
                    array.view(np.uint8) if array.dtype == bool else array,
                )
            self._device.wait()

    def _on_host(self, name: str, objects: dict[str, Any]) -> Any:
        """A value for a kernel of NumPy's."""
        value = self._lowering.values.get(name)
        if name in objects:
            return objects[name]
        return self._lowering.constants[name] if value is None else self._copied(value)

    def _copied(self, value: Value) -> Any:
        """A value from the device, with the strides that it has there, after the work that was started before."""
        with self._device.current():
            block = self._array(value)
            start = value.offset - lowest(value)
            extent = start + reach(value)
            array = np.empty(extent, np.uint8 if value.dtype == "bool" else value.dtype)
            self._device.download(block[:extent], array)
            self._device.wait()
        array = array.view(value.dtype)
        item = array.itemsize
        strides = tuple(s * item for s in value.strides)
        found = np.ndarray(value.shape, array.dtype, array, start * item, strides)
        return found if value.shape else found[()]

    def _begin_fetching(
        self, objects: dict[str, Any], keeps: Container[str]
    ) -> tuple[dict[str, Any], dict[str, Value]]:
        """Starts the copies to the host; returns the fetched values that need none, and those under way."""
        device = self._device
        found: dict[str, Any] = {}
        coming: dict[str, Value] = {}
        with device.current():
            self._find_variables()
            for name, value in self._fetched.items():
                if value is None or name in self._lowering.constants:
                    found[name] = copied(self._of_host(name, objects))
                elif not value.size:
                    found[name] = np.empty(value.shape, value.dtype)
                elif name in keeps:
                    found[name] = kept = DeviceArray(device, value.shape, value.dtype)
                    device.copy(kept.block, self._fetched_array(name, value))
                else:
                    coming[name] = value
            if coming or self._fallible:
                arrays = {name: self._fetched_array(name, value) for name, value in coming.items()}
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
        with self._device.current():
            self._outbox.fetch(self._inbox.status, {})
        self._outbox.wait()
        raise_failure(self._outbox.status.tolist(), self.groups)

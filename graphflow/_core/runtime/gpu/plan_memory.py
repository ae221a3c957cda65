"""The memory of a plan on a GPU, laid out once for all of its runs: results share one arena, variables stay where they
are, and what comes from the host lies in the inbox (transfers.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.codegen.gpu.region_text import Operand
from graphflow._core.codegen.gpu.toolkit import Device, part
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.gpu.grouping import lowest
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.memory import assign_clusters
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.executable import Unusable
from graphflow._core.runtime.gpu.cells import DeviceCell
from graphflow._core.runtime.gpu.transfers import Inbox, bytes_of


class PlanVariables:
    """The variables of a plan: the shapes that its launches are made for, and the addresses that these read."""

    def __init__(self, lowering: Lowering, store: ResourceStore, device: Device) -> None:
        self._device = device
        self._cells: dict[str, DeviceCell] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.blocks: dict[str, Any] = {}
        """The memory of each that the launches read, by its name."""
        for name, i in lowering.variables.items():
            if name in lowering.values:
                cell = store.cell(i)
                assert isinstance(cell, DeviceCell)
                self._cells[name] = cell
                self.shapes[name] = lowering.known[name][0]

    def fit(self) -> bool:
        """Whether all have values of the known shapes."""
        shapes = self.shapes
        for name, cell in self._cells.items():  # noqa: SIM110  # Every run asks: a generator takes longer.
            if cell.shape() != shapes[name]:
                return False
        return True

    def have_moved(self) -> bool:
        """Whether any has another address than the launches read. Brings the newest values to the device."""
        device, blocks, moved = self._device, self.blocks, False
        for name, cell in self._cells.items():
            if cell.block(device) is not blocks[name]:
                moved = True
        return moved

    def bind(self) -> None:
        """Takes the present addresses; Unusable if one has no value of the known shape."""
        for name, cell in self._cells.items():
            if cell.shape() != self.shapes[name]:
                raise Unusable
            self.blocks[name] = cell.block(self._device)

    def written(self, group: Group) -> list[DeviceCell]:
        """Those that a group writes."""
        return [self._cells[root] for node in group.nodes for root in node.variables]


class PlanMemory:
    """Where the values of a plan lie on the device. But for making it, the device's lock is held.

    lives: the blocks that are kept in memory, with the first and last launch that uses each.
    """

    def __init__(
        self,
        device: Device,
        lowering: Lowering,
        variables: PlanVariables,
        inbox: Inbox,
        lives: Mapping[str, tuple[int, int]],
    ) -> None:
        self._device = device
        self._lowering = lowering
        self._variables = variables
        self._inbox = inbox
        self._sizes = {root: lowering.blocks[root] for root in lives if root in lowering.blocks}
        spans = {root: lives[root] for root in self._sizes}
        self._offsets, self.arena_bytes = assign_clusters(self._sizes, spans, set(lowering.clusters.values()))
        self._constants: dict[str, Any] = {}
        self._scratch: dict[tuple[int, int], Any] = {}
        self._leaving: dict[str, Any] = {}

    def allocate(self) -> None:
        """Takes the memory of results and inputs; ResourceExhaustedError if the device has not so much."""
        self._arena = self._device.allocate(self.arena_bytes, "uint8")
        self._inbox.allocate()

    def moved(self) -> None:
        """Forgets what follows from the addresses of variables."""
        self._leaving = {}

    def block(self, root: str, dtype: str) -> Any:
        """The memory of a block, as an array of a dtype."""
        if root in self._variables.blocks:
            return self._variables.blocks[root]
        if root in self._offsets:
            size = self._lowering.blocks[root]
            return part(self._arena, self._offsets[root], size // np.dtype(dtype).itemsize, dtype)
        given = self._inbox.find(root, dtype)
        if given is not None:
            return given
        if root not in self._constants:
            array = np.array(self._lowering.constants[root], order="C", ndmin=1).reshape(-1)
            array = array.view(np.uint8) if array.dtype == bool else array
            self._constants[root] = self._device.allocate(array.size, array.dtype.name)
            self._device.upload(self._constants[root], array)
            self._device.wait()
        return self._constants[root]

    def array(self, value: Value) -> Any:
        """The elements of a block, from a value's lowest on."""
        return self.block(value.root, value.dtype)[lowest(value) :]

    def fetched_array(self, name: str, value: Value) -> Any:
        """A fetched value's memory, kept since making the array anew for each run takes longer than to copy it."""
        found = self._leaving.get(name)
        if found is None:
            found = self._leaving[name] = self.array(value)[: value.size]
        return found

    def operand(self, value: Value, strides: tuple[int, ...] | None) -> Operand:
        """A value as an operand of a region."""
        return Operand(self.array(value), value.offset - lowest(value), strides or ())

    def working_memory(self, number: int) -> Callable[[int, str], Any]:
        """What gives a group its working memory, of (elements, dtype): the same at each binding."""
        count = 0

        def allocate(elements: int, dtype: str) -> Any:
            nonlocal count
            count += 1
            key = (number, count)
            if key not in self._scratch:
                self._scratch[key] = self._device.allocate(elements, dtype)
            return self._scratch[key]

        return allocate

    def exhausted(self, name: str, makers: Mapping[str, Instruction]) -> errors.ResourceExhaustedError:
        """The error that the device of that name has not so much. makers: the instruction that makes each value."""
        known, shapes = self._lowering.known, self._variables.shapes
        largest = max(self._sizes, key=lambda r: self._sizes[r], default="")
        needs = {
            "results": self.arena_bytes,
            "feeds": self._inbox.total,
            "variables": sum(math.prod(s) * np.dtype(known[n][1]).itemsize for n, s in shapes.items()),
            "constants": sum(
                bytes_of(v) for v in self._lowering.values.values() if v.root in self._constants
            ),
        }
        root = largest.partition("#")[0]
        maker = makers.get(root)
        what = root if maker is None else maker.describe()
        told = ", ".join(f"{count / 2**20:.1f} MB for {kind}" for kind, count in needs.items())
        return errors.ResourceExhaustedError(
            None,
            None if maker is None else maker.origin,
            f"{name} has not enough memory for this plan, which needs {told}. The largest result is that of {what} "
            f"with {self._lowering.blocks.get(largest, 0) / 2**20:.1f} MB. Feed smaller batches, or place a part of "
            "the graph elsewhere.",
        )


def lives(
    groups: Sequence[Group], batches: Sequence[Sequence[int]], left: Collection[str]
) -> dict[str, tuple[int, int]]:
    """The first and the last launch that uses each block; those that are left at the end are used until then."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for position, batch in enumerate(batches):
        for node in (node for number in batch for node in groups[number].nodes):
            for root in (*(v.root for v in node.reads), *node.makes):
                first.setdefault(root, position)
                last[root] = position
    for root in left:
        first.setdefault(root, len(groups))
        last[root] = len(groups)
    return {root: (first[root], last[root]) for root in first}

"""ControlledExecutable: a part for a GPU with branches, loops or lists of tensors.

The host follows the plan and decides. Between two decisions the GPU runs a device region, whose values stay in the
GPU's memory. Of what a decision depends on, only the truth value is fetched; counters of loops are on the host in any
case. So a loop waits for the device only if its end depends on what the device computes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.codegen.gpu.toolkit import device_named
from graphflow._core.common.denormals import computing
from graphflow._core.compiler.branches import decided, deciding_feeds
from graphflow._core.compiler.gpu.device_regions import DEVICE_REGION, LISTS, ROWS, STACKS, cut_device_regions
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.specialise import complete, specialise, static_type
from graphflow._core.kernels.array.slicing import indexer
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import Assembled, assemble, operand
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.gpu.arrays import DeviceArray, filled_rows, fits_device, on_device
from graphflow._core.runtime.gpu.executable import DeviceExecutable
from graphflow._core.runtime.gpu.held import host
from graphflow._core.runtime.gpu.plan import DevicePlan
from graphflow._core.runtime.numpy_executable import NumpyExecutable
from graphflow._core.runtime.threads import ThreadPool

_MOST_SHAPES: Final = 16


class _Program:
    """The plan for one combination of fed shapes, as a function of the host's that calls device regions."""

    def __init__(
        self,
        function: Assembled,
        regions: Sequence[_DeviceRegion],
        scalars: frozenset[str],
        there: Sequence[bool],
    ) -> None:
        self.function = function
        self.regions = regions
        self.scalars = scalars
        self.there = there
        """Whether each fetch has a value: a branch that was not taken computes none for its gradient."""


class _DeviceRegion:
    """A device region that can be called: (run, values it takes) gives the values it makes, on the device.

    scalars: the values that it takes from the host; others are brought to the device if they are not there yet.
    """

    def __init__(
        self, executable: DeviceExecutable, device: Any, takes: Sequence[bool], outputs: int
    ) -> None:
        self.executable = executable
        self._device = device
        self._takes = takes
        self._single = outputs == 1

    def __call__(self, run: RunContext, *values: Any) -> Any:
        given = [
            host(value) if on_host else self._brought(value)
            for value, on_host in zip(values, self._takes, strict=True)
        ]
        results = self.executable.run(run, given)
        return results[0] if self._single else results

    def _brought(self, value: Any) -> Any:
        array = value if isinstance(value, DeviceArray) or value is None else np.asarray(operand(value))
        return value if array is None or not fits_device(array) else on_device(array, self._device())


class ControlledExecutable(Executable):
    """Runs a part with decisions on a GPU. Thread-safe. `base` has its variables.

    pool: threads for runs with a deadline. kept, verify: as for DeviceExecutable.
    """

    takes_device_arrays = True

    def __init__(
        self,
        base: NumpyExecutable,
        plan: Plan,
        name: str,
        store: ResourceStore,
        kernels: KernelTable,
        ctx: PassContext,
        pool: Callable[[], ThreadPool],
        kept: frozenset[str] = frozenset(),
        verify: bool | None = None,
    ) -> None:
        self._base = base
        self.uses_variables = base.uses_variables
        self._plan = plan
        self._name = name
        self._store = store
        self._kernels = kernels
        self._ctx = ctx
        self._pool = pool
        self._verify = verify
        self._keeps = [name in kept for name in plan.fetches]
        self._deciding = deciding_feeds(plan)
        self._programs: dict[Any, _Program] = {}
        self._lock = threading.Lock()

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        """The fetched values, in order. Raises the error of an operation that fails. Feeds may be DeviceArrays."""
        key: Any = tuple([f.shape if isinstance(f, np.ndarray | DeviceArray) else () for f in feeds])
        key += tuple([bool(feeds[position]) for position in self._deciding])
        program = self._programs.get(key)
        if program is None:
            with self._lock:
                if len(self._programs) >= _MOST_SHAPES:
                    key = None
                if key not in self._programs:
                    self._programs[key] = self._made(feeds, key is not None)
                program = self._programs[key]
        part = program.function
        try:
            with computing():
                made = iter(part.function(run, *self._given(program, feeds)))
                results = [next(made) if there else None for there in program.there]
                pairs = zip(results, self._keeps, strict=True)
                return tuple([value if keeps else _own(value) for value, keeps in pairs])
        except Exception as error:
            raise_explained(error, part, self._base.cells)

    def _given(self, program: _Program, feeds: Sequence[Any]) -> list[Any]:
        """The fed values, on the device except for scalars, since a loop may take them again and again."""
        given = []
        for name, value in zip(self._plan.feeds, feeds, strict=True):
            brought = isinstance(value, np.ndarray) and fits_device(value) and name not in program.scalars
            given.append(on_device(value, self._device()) if brought else value)
        return given

    def _device(self) -> Any:
        return device_named(self._name)

    def _made(self, feeds: Sequence[Any], special: bool) -> _Program:
        """The program for the fed values; `special`: whether it is for their shapes and decisions alone."""
        plan = self._specialised(feeds) if special else self._plan
        names = zip(self._plan.feeds, feeds, strict=True)
        scalars = frozenset(name for name, value in names if np.ndim(value) == 0) if special else frozenset()
        made = {*producers(plan), *plan.feeds}
        there = [name in made for name in plan.fetches]
        plan = replace(plan, fetches=tuple(name for name in plan.fetches if name in made))
        cut = cut_device_regions(plan, scalars)
        regions: list[_DeviceRegion] = []

        def make(i: Instruction) -> Callable[..., Any]:
            if i.type == DEVICE_REGION:
                regions.append(self._device_region(i))
                return regions[-1]
            kernel = self._kernels.make(i)
            if i.type in ROWS:
                return _of_rows(i, kernel)
            return kernel if i.type in LISTS or i.type in STACKS else _for_host(kernel)

        table = KernelTable(
            make,
            lambda kind: kind == DEVICE_REGION or self._kernels.is_stateful(kind),
            self._kernels.may_view,
        )
        function = assemble(cut, self._store, table, borrows=self._base.borrows)
        return _Program(function, regions, scalars, there)

    def _specialised(self, feeds: Sequence[Any]) -> Plan:
        """The plan for some fed shapes, without the branches that fed truth values decide."""
        plan = self._plan
        if self._deciding:
            plan = decided(plan, {plan.feeds[p]: bool(feeds[p]) for p in self._deciding})
        known: Known = {
            name: (value.shape, value.dtype.name)
            for name, value in zip(plan.feeds, feeds, strict=True)
            if hasattr(value, "dtype")
        }
        for i in plan.instructions:
            for position, name in enumerate(i.outputs):
                found = static_type(i, position)
                if found is not None and i.dtypes[position].is_numpy_compatible:
                    known.setdefault(name, found)
        complete(plan, known, self._store)
        return specialise(plan, known, self._ctx)

    def _device_region(self, i: Instruction) -> _DeviceRegion:
        plan: Plan = i.attrs["plan"]
        base = NumpyExecutable(plan, self._store, self._kernels, self._pool, list(self._base.cells))
        executable = DeviceExecutable(
            base,
            plan,
            self._name,
            self._store,
            self._kernels,
            self._ctx,
            frozenset(plan.fetches),
            self._verify,
        )
        takes = [name in i.attrs["scalars"] for name in plan.feeds]
        return _DeviceRegion(executable, self._device, takes, len(plan.fetches))

    def describe(self) -> str:
        """What runs on the GPU, region by region; "" if nothing does yet."""
        return "".join(part.describe() for part in self._device_regions())

    def reasons(self) -> list[StaysOnNumpy]:
        """The reasons for which parts stay on NumPy."""
        return [reason for part in self._device_regions() for reason in part.reasons()]

    def compiled(self) -> list[DevicePlan]:
        """The plans that were laid out, region by region."""
        return [plan for part in self._device_regions() for plan in part.compiled()]

    def _device_regions(self) -> list[DeviceExecutable]:
        return [s.executable for each in list(self._programs.values()) for s in each.regions]


def _own(value: Any) -> Any:
    """A fetched value for the caller."""
    if not isinstance(value, DeviceArray):
        return value
    found = value.numpy()
    return found.copy() if value.shape else found


def _for_host(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy kernel that may be given values on the device."""

    def call(*arguments: Any) -> Any:
        return kernel(*[host(a) for a in arguments])

    return call


def _of_rows(i: Instruction, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A slice, or its gradient, that takes or fills rows on the device if they are contiguous."""
    index = indexer(i)

    def call(first: Any, begin: Any, end: Any, strides: Any, *rest: Any) -> Any:
        place = index(*(np.asarray(host(v)) for v in (begin, end, strides)))
        value = rest[0] if rest else first
        if isinstance(value, DeviceArray):
            shape = tuple(np.asarray(host(first)).tolist()) if rest else ()
            found = filled_rows(shape, place, value) if rest else value.rows(place)
            if found is not None:
                return found
        return kernel(*[host(v) for v in (first, begin, end, strides, *rest)])

    return call

"""Trials of rounding: how far rounding alone may move the results of a plan.

A difference beyond the bound may still be rounding: large numbers may cancel, a result may depend on a comparison, an
optimizer may divide noise by noise. So the run is repeated on NumPy, and every input and every result of an operation
is changed at random by some units of rounding (Monte Carlo arithmetic; D. S. Parker, 1997). Results that change much in
such a run need not agree; the others must. Whole numbers stay as they are: they are counts, lengths and masks, which
are exact in both tiers; but not those that rounding has left of other numbers (steps.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.arrays import finfo, is_bfloat16, kind_of
from graphflow._core.common.denormals import computing
from graphflow._core.common.records import dataclass
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.agreement.bounds import Reach
from graphflow._core.runtime.agreement.shadow import LeftBehind, ShadowRun, Variables
from graphflow._core.runtime.agreement.steps import Stepwise, stepwise, without
from graphflow._core.runtime.agreement.tape import Tape, written_cells
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.context import RunContext

_UNITS: Final = (4.0, 16.0, 64.0)
"""The most units of rounding by which a trial changes results, for one trial after the other."""


@dataclass(frozen=True)
class Replayed:
    """The results of a run on a shadow, the variables that it has written, and the values that were asked for.

    values: the last result of each instruction. steps: the value of each variable after each instruction that writes
    it, by the names of both. left: what has become of what it was fed, and of stacks.
    """

    results: Sequence[Any]
    writes: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    steps: dict[tuple[str, str], Any] = field(default_factory=dict)
    left: LeftBehind | None = None


@dataclass(frozen=True)
class Replay:
    """A run of a plan on NumPy that can be done again and again: on what it was fed, its variables and its tape."""

    plan: Plan
    variables: Variables
    tape: Tape
    store: ResourceStore
    kernels: KernelTable
    run: RunContext
    left: LeftBehind
    """What it was fed, and the stacks that there were."""
    random: Mapping[str, Any]
    """The states of random operations before the run."""

    def shadow(self) -> tuple[ResourceStore, ShadowRun, LeftBehind]:
        """A store in its state before the run, a run on it, and what that is fed."""
        store = self.variables.store(self.store)
        store.set_state(self.random)
        run, left = ShadowRun(store, self.run), self.left.copied()
        left.put(run)
        return store, run, left

    def numpy(self, shake: _Shake | None = None, looks: bool = False) -> Replayed:
        """Does the run on NumPy, with all results changed by `shake`.

        looks: whether to keep the values of all instructions, and those of variables after each write.
        """
        store, run, left = self.shadow()
        values: dict[str, Any] = {}
        steps: dict[tuple[str, str], Any] = {}

        def look(name: str, value: Any) -> None:
            if isinstance(value, np.ndarray | np.generic):
                values[name] = np.array(value)

        table = self.tape.replaying(self.kernels)
        if shake is not None:
            table = shake.kernels(table)
        if looks:
            table = _looking(table, steps)
        part = assemble(self.plan, store, table, observe=look if looks else None)
        with computing():
            results = part.function(run, *left.feeds)
        return Replayed(results, self.variables.after(store), values, steps)


def _looking(kernels: KernelTable, steps: dict[tuple[str, str], Any]) -> KernelTable:
    """Kernels after which `steps` has what they have left in variables."""

    def make(i: Instruction) -> Callable[..., Any]:
        kernel, cells = kernels.make(i), written_cells(i)

        def looked(*arguments: Any) -> Any:
            result = kernel(*arguments)
            for name, cell in cells(arguments):
                steps[i.name, name] = np.array(cell.value)
            return result

        return looked if i.writes() and not i.bodies else kernel

    return replace(kernels, make=make)


class Spread:
    """How far trials came from a reference: from each result, write, value and step."""

    def __init__(self, replay: Replay, reference: Replayed) -> None:
        self.results: list[Reach | None] = [None] * len(reference.results)
        self.writes: dict[str, Reach | None] = {}
        self.values: dict[str, Reach | None] = {}
        self.steps: dict[tuple[str, str], Reach | None] = {}
        self._replay = replay
        self._reference = reference
        self._trials = 0

    def widen(self) -> None:
        """Makes one more trial."""
        reference, true = self._reference, self._replay
        # One number that is none once it is changed, such as the root of almost nothing, may make all that follow none.
        outermost = {o for i in true.plan.instructions for o in i.outputs}
        instead = {n: v for n, v in reference.values.items() if n in outermost} if self._trials % 2 else {}
        shake = _Shake(_UNITS[self._trials % len(_UNITS)], np.random.default_rng(self._trials), instead)
        self._trials += 1
        before = {
            name: None if v is None else np.asarray(shake(v)) for name, v in true.variables.before.items()
        }
        replay = replace(
            true,
            left=replace(true.left, feeds=[shake(value) for value in true.left.feeds]),
            variables=replace(true.variables, before=before),
        )
        try:
            trial = replay.numpy(shake, looks=bool(reference.values))
        except (errors.OpError, ArithmeticError, ValueError, IndexError, TypeError, LookupError):
            return  # A check of the program's own found the changed numbers wrong.
        for position, (found, given) in enumerate(zip(trial.results, reference.results, strict=True)):
            self.results[position] = _wider(self.results[position], found, given)
        for name in trial.values.keys() & reference.values.keys():
            self.values[name] = _wider(self.values.get(name), trial.values[name], reference.values[name])
        started = true.variables.before
        for name, found in trial.writes.items():
            given = reference.writes[name]
            if found is not None and given is not None:  # The change counts, not what it is added to.
                found, given = _change(found, before[name]), _change(given, started[name])
                self.writes[name] = _wider(self.writes.get(name), found, given)
        for key in trial.steps.keys() & reference.steps.keys():
            found = _change(trial.steps[key], before[key[1]])
            self.steps[key] = _wider(
                self.steps.get(key), found, _change(reference.steps[key], started[key[1]])
            )


def _change(after: Any, before: Any) -> Any:
    if before is None or kind_of(after.dtype) not in "fc" or after.shape != before.shape:
        return after
    with np.errstate(all="ignore"):
        return after - before


def _wider(so_far: Reach | None, found: Any, given: Any) -> Reach | None:
    found, given = np.asarray(found), np.asarray(given)
    if found.shape != given.shape or found.dtype != given.dtype:
        return so_far
    with np.errstate(all="ignore"):
        if kind_of(given.dtype) not in "fc":
            changed = np.not_equal(found, given)
            return Reach(changed + (0 if so_far is None else so_far.distance), np.zeros(given.shape, bool))
        same = (found == given) | (np.isnan(found) & np.isnan(given))
        distance = np.where(same, 0, np.abs(found - given)).astype(
            np.float64 if is_bfloat16(given.dtype) else given.dtype
        )
    lost = ~np.isfinite(distance)
    distance = np.where(lost, 0, distance)
    if so_far is None:
        return Reach(distance, lost)
    return Reach(np.maximum(so_far.distance, distance), so_far.lost | lost)


class _Shake:
    """Changes floats at random, by some units of rounding at most."""

    def __init__(
        self, units: float, random: np.random.Generator, instead: Mapping[str, Any] | None = None
    ) -> None:
        """instead: the values to use for some results if the changed one is not finite."""
        self._units = units
        self._random = random
        self._instead = instead or {}

    def __call__(self, value: Any) -> Any:
        """The value, or values, changed; numbers that are whole stay as they are, and so does what is no float."""
        if isinstance(value, tuple | list):
            return type(value)([self(part) for part in value])
        if isinstance(value, Stepwise):  # Each of its steps has been changed.
            return without(value)
        return self.step(value, False)

    def step(self, value: Any, rounded: Any) -> Any:
        """One array or number changed; `rounded`: which whole numbers are what rounding has left, and change, too."""
        dtype = getattr(value, "dtype", None)
        if dtype is None or kind_of(dtype) not in "fc" or not isinstance(value, np.ndarray | np.generic):
            return value
        share = self._units * float(finfo(dtype).eps) * self._random.uniform(-1.0, 1.0, value.shape)
        with np.errstate(all="ignore"):
            moved = value * (1 + share).astype(dtype)
            stays = ((value == np.rint(value)) & ~np.asarray(rounded)) | ~np.isfinite(value)
            result = np.where(stays, value, moved).astype(dtype)
        return result if result.ndim else result[()]

    def kernels(self, kernels: KernelTable) -> KernelTable:
        """Kernels of which every result is changed. Views are of what was changed already."""

        def make(i: Instruction) -> Callable[..., Any]:
            kernel = kernels.make(i)
            if kernels.may_view(i.type) or i.writes():
                return kernel
            if not (i.bodies or kernels.is_stateful(i.type) or i.definition is None or i.definition.stateful):
                kernel = self._in_steps(kernel)
            instead = [self._instead.get(name) for name in i.outputs]
            if all(given is None for given in instead):
                return lambda *arguments: self(kernel(*arguments))
            if len(instead) == 1:
                return lambda *arguments: _finite(self(kernel(*arguments)), instead[0])
            return lambda *arguments: tuple(map(_finite, self(kernel(*arguments)), instead))

        return replace(kernels, make=make)

    def _in_steps(self, kernel: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, of which every step is changed that NumPy does."""

        def run(*arguments: Any) -> Any:
            try:
                return kernel(*[stepwise(value, self.step) for value in arguments])
            except Exception:  # A kernel that takes plain arrays alone, or one that fails in any case.
                return kernel(*arguments)

        return run


def _finite(value: Any, instead: Any) -> Any:
    """A value whose elements that are not finite are replaced by those of another, if these are finite."""
    dtype = getattr(value, "dtype", None)
    if instead is None or dtype is None or kind_of(dtype) not in "fc":
        return value
    if dtype != instead.dtype or value.shape != instead.shape:
        return value
    result = np.where(np.isfinite(value) | ~np.isfinite(instead), value, instead)
    return result if result.ndim else result[()]

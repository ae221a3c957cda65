"""The verified run: one run of a plan by both tiers, and the verdict.

The real run is NumPy's. The compiled plan then runs on a shadow. If the results are apart by more than the bounds,
NumPy runs on a shadow, too, since another thread may have changed a variable meanwhile. Then trials of rounding are
made. A difference that remains is a disagreement. For that the compiled plan runs once more, kernel by kernel, to find
the first wrong value.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
from graphflow._core.common.denormals import computing
from graphflow._core.common.records import dataclass
from graphflow._core.compiler.reasons import NotVerified, tell_unverified
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.agreement.bounds import (
    Difference,
    coarsest_unit,
    difference,
    made_of_floats,
    roundings,
)
from graphflow._core.runtime.agreement.rounding import Replay, Replayed, Spread
from graphflow._core.runtime.agreement.shadow import (
    LeftBehind,
    Variables,
    bytes_to_copy,
    random_states,
)
from graphflow._core.runtime.agreement.tape import Tape
from graphflow._core.runtime.assemble import assemble
from graphflow._core.runtime.compiled.watching import Sight, Watch
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Compiled, Unusable
from graphflow._core.runtime.explain import raise_explained
from graphflow._core.runtime.gpu.held import host

BUDGET_BYTES: Final = 256 << 20
"""The most bytes that a verified run copies, unless the user insists on it; a plan that needs more is trusted."""
_ANY: Final = 1 << 62
_MOST_NAMED: Final = 4
_TRIALS: Final = 6
"""Trials of rounding that in a row have to leave as many elements unexplained as before."""
Make = Callable[[ResourceStore, KernelTable, "Watch | None"], Compiled]
"""Makes the compiled plan for a store; with a watch, one that runs kernel by kernel."""


class Verdict(enum.Enum):
    """What a verified run has found."""

    AGREED = enum.auto()
    UNTRIED = enum.auto()
    """There was not enough memory to find out."""
    LATER = enum.auto()
    """The compiled plan could not do this run; another run will tell."""
    APART = enum.auto()


@dataclass(frozen=True)
class Beginning:
    """Where a disagreement begins: the first instruction whose value differs from NumPy's, and how.

    beside: the other instructions of its kernel, whose values are not all visible. others: those of further kernels
    that fill parts of the same memory.
    """

    instruction: Instruction
    beside: tuple[Instruction, ...]
    others: tuple[Instruction, ...]
    difference: Difference

    def __str__(self) -> str:
        origin = self.instruction.origin
        built = "" if origin is None else f" (built at {origin.built})"
        beside = f", which is one kernel with {_listed(self.beside)}" if self.beside else ""
        word = "and" if beside else "which"
        others = f", {word} shares its memory with kernels of {_listed(self.others)}" if self.others else ""
        return f"{self.instruction.describe()}{built}{beside}{others}: {self.difference}"


def _listed(instructions: Sequence[Instruction]) -> str:
    """Some instructions for a message."""
    told = [i.describe() for i in instructions[: _MOST_NAMED - 1]]
    return ", ".join([*told, "others"] if len(instructions) >= _MOST_NAMED else told)


@dataclass(frozen=True)
class Apart:
    """A disagreement: the results and writes that differ, or the error of the compiled plan, and where it begins."""

    differences: tuple[Difference, ...]
    error: Exception | None
    begins: Beginning | None = None

    def __str__(self) -> str:
        if self.error is not None:
            text = " ".join(str(self.error).split())
            told = f"compiled code failed where NumPy does not: {type(self.error).__name__}: {text}"
            return (
                told if self.begins is None else f"{told.rstrip('.')}. It disagrees, first at {self.begins}"
            )
        worst = max(self.differences, key=lambda d: d.apart / max(1, d.of))
        if self.begins is None:
            return f"compiled code disagrees with NumPy in {worst.name!r}: {worst}"
        return f"compiled code disagrees with NumPy, first at {self.begins}"


@dataclass(frozen=True)
class Outcome:
    """The results of a verified run, and its verdict."""

    results: tuple[Any, ...]
    verdict: Verdict
    apart: Apart | None = None
    replay: Replay | None = None


@dataclass(frozen=True)
class Subject:
    """A plan that is about to be compiled: `make` gives its compiled plan, which declines a run by Unusable.

    takes_over: whether the run's results and writes are those of the compiled plan if it agrees. That is so if the bits
    of a run must not depend on when the plan was verified.
    """

    plan: Plan
    known: Known
    store: ResourceStore
    kernels: KernelTable
    cells: Sequence[Any]
    borrows: bool
    make: Make
    takes_over: bool

    @cached_property
    def units(self) -> float:
        """How many units of rounding its results may differ by."""
        return roundings(self.plan, self.known)

    @cached_property
    def coarsest(self) -> float:
        """The least unit of rounding that any of its results has."""
        return coarsest_unit(self.plan)

    @cached_property
    def texts(self) -> frozenset[str]:
        """What is fetched and may be a text in which floats are written."""
        return made_of_floats(self.plan) & frozenset(self.plan.fetches)


def room_for(plan: Plan, store: ResourceStore, verify: bool | None) -> int | None:
    """The bytes that a verified run of a plan may keep beside its variables; None if there is to be no such run.

    verify: `verify_compiled` of ConfigProto.
    """
    if verify is not None:
        return _ANY if verify else None
    room = BUDGET_BYTES - bytes_to_copy(plan, store)
    return None if room < 0 else room


def verified_run(subject: Subject, run: RunContext, feeds: Sequence[Any], room: int) -> Outcome:
    """One run of a plan that also judges its compiled form; `room` as from room_for().

    Raises what the run on NumPy raises.
    """
    # What is not recorded cannot be computed again, and the run would have the bits of NumPy.
    variables, tape = Variables.of(subject.plan, subject.store), Tape(_ANY if subject.takes_over else room)
    try:
        random, left = random_states(subject.plan, run), LeftBehind.of(subject.plan, run, feeds)
        tape.take_room(left.nbytes)
        before = left if tape.full else left.copied()
        results = _real_run(subject, tape, run, feeds)
        if tape.full:
            return Outcome(results, Verdict.UNTRIED)
        replay = Replay(subject.plan, variables, tape, subject.store, subject.kernels, run, before, random)
        try:
            return _judged_run(subject, replay, Replayed(results, variables.after(subject.store), left=left))
        except Exception as error:  # The run itself is done: that it could not be judged must not undo it.
            tell_unverified(subject.plan, NotVerified(error))
            return Outcome(results, Verdict.UNTRIED)
    finally:
        variables.unwatch(subject.store)


def _judged_run(subject: Subject, replay: Replay, theirs: Replayed) -> Outcome:
    """Judges the compiled plan on a run that NumPy has done."""
    results = tuple(theirs.results)
    try:
        mine = _compiled_run(subject, replay)
    except (Unusable, errors.CancelledError, errors.DeadlineExceededError):
        return Outcome(results, Verdict.LATER)
    except (MemoryError, errors.ResourceExhaustedError):
        return Outcome(results, Verdict.UNTRIED)
    except Exception as error:
        return _judged_failure(subject, replay, results, error)
    if differences(subject, replay, mine, theirs):
        apart = disagreement(subject, replay, mine)
        if apart is not None:
            return Outcome(results, Verdict.APART, apart, replay)
    if subject.takes_over:
        results = _taken_over(subject, replay, mine, theirs)
    return Outcome(results, Verdict.AGREED)


def _real_run(subject: Subject, tape: Tape, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
    part = assemble(subject.plan, subject.store, tape.recording(subject.kernels), borrows=subject.borrows)
    try:
        with computing():
            results: tuple[Any, ...] = part.function(run, *feeds)
    except Exception as error:
        raise_explained(error, part, subject.cells)
    return results


def _compiled_run(subject: Subject, replay: Replay, watch: Watch | None = None) -> Replayed:
    store, run, left = replay.shadow()
    compiled = subject.make(store, replay.tape.replaying(replay.kernels), watch)
    results = compiled.run(run, left.feeds)
    left = LeftBehind.of(subject.plan, run, left.feeds)
    return Replayed(results, replay.variables.after(store), left=left)


def differences(
    subject: Subject, replay: Replay, mine: Replayed, theirs: Replayed, spread: Spread | None = None
) -> tuple[Difference, ...]:
    """How the results and writes of the compiled plan differ from NumPy's, beyond the bounds."""
    found = [
        None
        if name in subject.texts and _is_text(given)
        else difference(
            name,
            host(own),
            host(given),
            subject.units,
            spread=None if spread is None else spread.results[k],
            coarsest=subject.coarsest,
        )
        for k, (name, own, given) in enumerate(
            zip(subject.plan.fetches, mine.results, theirs.results, strict=True)
        )
    ]
    found += [
        difference(
            name,
            mine.writes[name],
            given,
            subject.units,
            replay.variables.before[name],
            None if spread is None else spread.writes.get(name),
            subject.coarsest,
        )
        for name, given in theirs.writes.items()
    ]
    return tuple([one for one in found if one is not None])


def judged(subject: Subject, replay: Replay) -> Apart | None:
    """How the two tiers differ on a run that is done again in both; None if they agree."""
    try:
        mine = _compiled_run(subject, replay)
    except Exception as error:
        return _failure(subject, replay, error)
    return disagreement(subject, replay, mine)


def _is_text(value: Any) -> bool:
    return isinstance(value, bytes | str) or (isinstance(value, np.ndarray) and value.dtype.kind in "OSU")


def disagreement(subject: Subject, replay: Replay, mine: Replayed) -> Apart | None:
    """The disagreement that trials of rounding do not explain; None if they explain all."""
    reference = replay.numpy(looks=True)
    if not differences(subject, replay, mine, reference):
        return None  # Another thread had changed a variable.
    spread = Spread(replay, reference)
    counts: list[int] = []
    while len(counts) <= _TRIALS or counts[-1] < counts[-1 - _TRIALS]:
        spread.widen()
        left = differences(subject, replay, mine, reference, spread)
        if not left:
            return None
        counts.append(sum(one.apart for one in left))
    return Apart(left, None, _beginning(subject, replay, reference, spread))


def _beginning(subject: Subject, replay: Replay, reference: Replayed, spread: Spread) -> Beginning | None:
    """The first value of the compiled plan, run kernel by kernel, that is not what NumPy computes."""
    makers = {output: i for i in walk(subject.plan) for output in i.outputs}
    found: list[Beginning] = []

    def compared(sight: Sight, name: str) -> Difference | None:
        if sight.writer is None:
            if name not in reference.values:
                return None
            theirs, before, spread_of = reference.values[name], None, spread.values.get(name)
        else:
            key = sight.writer.name, name
            if key not in reference.steps:
                return None
            theirs, before, spread_of = (
                reference.steps[key],
                replay.variables.before[name],
                spread.steps.get(key),
            )
        mine = sight.read(name)
        if np.shape(mine) != np.shape(theirs):
            return None  # The compiled plan goes another way there, as with rows that repeat on a GPU.
        return difference(name, mine, theirs, subject.units, before, spread_of, subject.coarsest)

    def watch(sight: Sight) -> None:
        for name in sight.names:
            maker = sight.writer or makers.get(name)
            if found or maker is None:
                continue
            apart = compared(sight, name)
            if apart is not None:
                beside = _without([maker], [*_before(maker, sight.kernel), *sight.kernel])
                others = _without([maker, *beside], sight.others)
                found.append(Beginning(maker, beside, others, apart))

    with suppress(Exception):  # What it has shown before it fails counts.
        _compiled_run(subject, replay, watch)
    return found[0] if found else None


def _before(last: Instruction, kernel: Sequence[Instruction]) -> list[Instruction]:
    """The instructions of a kernel that may have caused a wrong value of one of them, the nearest first."""
    found = [last]
    for i in found:
        taken = set(i.free_variables())
        found += [b for b in kernel if b not in found and not taken.isdisjoint((*b.outputs, *b.writes()))]
    return found[1:]


def _without(known: Sequence[Instruction], instructions: Sequence[Instruction]) -> tuple[Instruction, ...]:
    """Some instructions, each once, without those that are known; a plan that is specialised has copies of its own."""
    names = {i.name for i in known}
    return tuple({i.name: i for i in instructions if i.name not in names}.values())


def _judged_failure(subject: Subject, replay: Replay, results: tuple[Any, ...], error: Exception) -> Outcome:
    """The verdict if the compiled plan raised: NumPy may, too, if another thread has changed a variable."""
    apart = _failure(subject, replay, error)
    return Outcome(results, Verdict.LATER if apart is None else Verdict.APART, apart, replay)


def _failure(subject: Subject, replay: Replay, error: Exception) -> Apart | None:
    """The disagreement if the compiled plan raised; None if NumPy raises as well.

    The kernel that raises may have got its wrong inputs from one before it.
    """
    try:
        reference = replay.numpy(looks=True)
    except Exception:
        return None
    begins = None
    with suppress(Exception):  # That the plan fails is known already.
        spread = Spread(replay, reference)
        for _ in range(_TRIALS):
            spread.widen()
        begins = _beginning(subject, replay, reference, spread)
    return Apart((), error, begins)


def _taken_over(subject: Subject, replay: Replay, mine: Replayed, theirs: Replayed) -> tuple[Any, ...]:
    """The compiled plan's results, with its writes in the real store, if nobody else has written meanwhile or since.

    What others have written is no part of the compiled plan's values, which would undo it.
    """
    variables = replay.variables
    if variables.interference.seen:
        return tuple(theirs.results)
    for name, value in mine.writes.items():
        old = theirs.writes[name]
        if value is not None and old is not None and old.shape == value.shape:
            subject.store.cell(variables.instructions[name]).exchange(old, value)
    if mine.left is None or theirs.left is None:
        return tuple(mine.results)
    mine.left.put(replay.run)
    return tuple(theirs.left.take_over(mine.left, mine.results))

"""A shadow: a store and a run beside the real ones, whose changes nobody else sees.

Variables that a plan writes are copied into the shadow. Those that it only reads are shared with the real store, since
nothing changes them in place while a run is active.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.kernels import random
from graphflow._core.kernels.control_flow.lists import ArrayList
from graphflow._core.kernels.control_flow.rows import RowStack
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import Interference
from graphflow._core.runtime.context import RunContext


class ShadowRun(RunContext):
    """A run on a shadow store, which ends if the real run has to end."""

    __slots__ = ("_real",)

    def __init__(self, store: ResourceStore, real: RunContext) -> None:
        super().__init__(store)
        self._real = real

    def check(self, awaited: Callable[[], str] | None = None) -> None:
        """As in RunContext."""
        self._real.check(awaited)


@dataclass(frozen=True)
class Variables:
    """The values that the variables of a plan had before a run.

    instructions: the variables, by the name of their value in the plan; written: those of which `before` is a copy,
    the values of the others are shared. interference: whether another thread has changed those that are written since.
    """

    instructions: Mapping[str, Instruction]
    written: frozenset[str]
    before: Mapping[str, Any]
    interference: Interference = field(default_factory=Interference)

    @staticmethod
    def of(plan: Plan, store: ResourceStore) -> Variables:
        """Those of a plan, as they are now in a store."""
        instructions = plan.variables()
        written = written_variables(plan)
        before, interference = {}, Interference()
        for name, i in instructions.items():
            cell = store.cell(i)
            with cell.lock:
                value = cell.value
                if name in written and cell.watch is None:
                    cell.watch = interference
                elif name in written:
                    interference.seen = True  # Another run is compared at the same time.
                before[name] = value.copy() if name in written and value is not None else value
        return Variables(instructions, written, before, interference)

    def unwatch(self, store: ResourceStore) -> None:
        """Has the variables of a store tell of changes no more."""
        for name in self.written:
            cell = store.cell(self.instructions[name])
            if cell.watch is self.interference:
                cell.watch = None

    def store(self, real: ResourceStore) -> ResourceStore:
        """A store with these values, each written variable's a copy again."""
        shadow = ResourceStore()
        shadow.memory = real.memory
        shadow.cell_type = real.cell_type
        shadow.planner = real.planner
        for name, i in self.instructions.items():
            value = self.before[name]
            if value is not None:
                shadow.cell(i).value = value.copy() if name in self.written else value
        return shadow

    def after(self, store: ResourceStore) -> dict[str, Any]:
        """The values of the written variables in a store after a run; None for one without a value."""
        return {name: store.cell(self.instructions[name]).value for name in sorted(self.written)}


@dataclass(frozen=True)
class LeftBehind:
    """What earlier stages of a run have left to a plan, which uses it up: lists among what it is fed, and stacks.

    stacks: by their names in the run, None for one that is not there.
    """

    feeds: Sequence[Any]
    stacks: Mapping[str, Any]

    @staticmethod
    def of(plan: Plan, run: RunContext, feeds: Sequence[Any]) -> LeftBehind:
        """That of a run, as it is now."""
        names = sorted(
            {i.attrs["stack"] for i in walk(plan) if i.type.startswith("Stack") and "stack" in i.attrs}
        )
        return LeftBehind(feeds, {name: run.per_run.get(name) for name in names})

    @property
    def nbytes(self) -> int:
        """The bytes of a copy of it."""
        stacks = [v for s in self.stacks.values() for v in ((s,) if isinstance(s, RowStack) else s or ())]
        lists = [feed for feed in self.feeds if isinstance(feed, ArrayList)]
        return sum(int(getattr(value, "nbytes", 0)) for value in (*stacks, *lists))

    def copied(self) -> LeftBehind:
        """The same, for another run."""
        lists: dict[int, ArrayList] = {}
        feeds = [f.copied(lists) if isinstance(f, ArrayList) else f for f in self.feeds]
        stacks = {
            name: s.copied() if isinstance(s, RowStack) else s and list(s) for name, s in self.stacks.items()
        }
        return LeftBehind(feeds, stacks)

    def put(self, run: RunContext) -> None:
        """Has a run have these stacks."""
        for name, stack in self.stacks.items():
            if stack is not None:
                run.per_run[name] = stack
            else:
                run.per_run.pop(name, None)

    def take_over(self, other: LeftBehind, results: Sequence[Any]) -> Sequence[Any]:
        """Has its lists become what those of a copy have become; what that run gave, with them in their places."""
        kept: dict[int, ArrayList] = {}
        for own, theirs in zip(self.feeds, other.feeds, strict=True):
            if isinstance(own, ArrayList):
                own.take_over(theirs, kept)
        return [kept.get(id(result), result) for result in results]


def random_states(plan: Plan, run: RunContext) -> dict[str, Any]:
    """The states that the random operations of a plan have before a run, by their names in the store.

    Kernels on a GPU draw the numbers themselves, while those of the CPU give what the tape has.
    """
    drawing = [i for i in walk(plan) if "seed" in i.attrs and "seed2" in i.attrs and random.draws(i.type)]
    return {random.state_name(i.name): random.state_of(run, i).get_state() for i in drawing}


def written_variables(plan: Plan) -> frozenset[str]:
    """The names of the values of the variables that a plan writes."""
    return frozenset(name for i in plan.instructions for name in i.writes()).intersection(plan.variables())


def bytes_to_copy(plan: Plan, store: ResourceStore) -> int:
    """The bytes that a verified run keeps of the variables: two copies of each that it writes."""
    variables, written = plan.variables(), written_variables(plan)
    return 2 * sum(store.cell(variables[name]).nbytes for name in written)

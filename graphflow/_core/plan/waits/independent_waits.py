"""Finds waits of one run that must not wait for one another, and groups a part's instructions so that they need not.

The plan's order puts all instructions of a device in a row. An instruction that may wait holds up what comes behind it
there, also what it does not depend on. That is no harm unless it waits for just that: a dequeue for an enqueue of the
same run, or a Python function for another one. Where an instruction which may end a wait (or what it needs) stands
behind a wait that it does not depend on, the part becomes groups that say which others they need. They are done in
their order all the same, until one of them has waited for a while (runtime/progress.py).

What a wait may be ended by is put together with what depends on the same waits, and with nothing else. All the rest, as
a training step behind its dequeues, stays together as it would without this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers

Numbers = Mapping[str, Mapping[str, int]]
"""By device and instruction a number: of what does not wait, it is done before what waits and has the same number."""
_SHORT: Final = 3
"""So few instructions, or fewer, which one wait alone needs, are done with it."""
_TOGETHER: Final = ("Collective", "SyncRound", "Staleness")
"""How the types begin of what members of a group do at the same time, each in the same order: they stay in it."""
_END_WAITS: Final = frozenset({
    "AccumulatorSetGlobalStep", "BarrierClose", "BarrierInsertMany", "MapClear", "OrderedMapClear",
    "ResourceAccumulatorApplyGradient", "SparseAccumulatorApplyGradient", "StageClear",
})  # fmt: skip
"""Types that end waits of others, and do not wait themselves."""
_FUNCTIONS: Final = frozenset({
    "DatasetToSingleElement", "DatasetToTFRecord", "IteratorGetNext", "IteratorGetNextAsOptional", "PyFunc",
    "PyFuncStateless", "ReduceDataset",
})  # fmt: skip
"""Types that may call Python functions, which compute or wait: nobody sees from outside which of the two."""
_IN_TURN: Final[Mapping[str, str]] = {
    "QueueDequeueManyV2": "take", "QueueDequeueUpToV2": "take", "QueueDequeueV2": "take",
    "QueueEnqueueManyV2": "put", "QueueEnqueueV2": "put",
}  # fmt: skip
"""Types that take their turn at one resource together; others do so with those of their own type."""

_AREAS: Final = frozenset({"Stage", "Unstage"})
"""Types of what puts and takes at areas, which have no handle."""


@dataclass(frozen=True, eq=False)
class Group:
    """Instructions of a part that are done together.

    blocks: it may wait. needs: the places in the part's order of the groups that come first. turn: two groups with the
    same text do not wait at once, unless it is "". calls: it may call Python functions.
    """

    instructions: Sequence[Instruction]
    blocks: bool
    needs: tuple[int, ...]
    turn: str = ""
    calls: bool = False


def waits_apart(
    parts: Mapping[str, Plan], numbers: Numbers, short_waits: bool
) -> dict[str, list[Group]] | None:
    """The groups of each part by device, in their order; None if no wait holds up what it may wait for.

    short_waits: whether short groups go with the waits that need them.
    """
    found = _held_up(parts, numbers)
    return None if found is None else {device: found.groups(device, short_waits) for device in parts}


def numbers_in_order(plan: Plan) -> dict[str, int]:
    """The numbers of a plan for one device: how many instructions that may wait stand before each."""
    found, waits = {}, 0
    for i in plan.instructions:
        if not i.is_prologue:
            found[i.name] = waits
            waits += i.blocks
    return found


def may_hold_up(plan: Plan) -> bool:
    """Whether a wait of a plan for one device may hold up what it waits for."""
    return _held_up({"": plan}, {"": numbers_in_order(plan)}) is not None


def _held_up(parts: Mapping[str, Plan], numbers: Numbers) -> _Waits | None:
    if sum(i.blocks or i.type in _END_WAITS for part in parts.values() for i in part.instructions) < 2:
        return None
    found = _Waits(parts, numbers)
    return found if found.hold_up else None


class _Waits:
    """Which waits each instruction depends on, and which instructions may end waits."""

    def __init__(self, parts: Mapping[str, Plan], numbers: Numbers) -> None:
        self._parts = parts
        self._numbers = numbers
        self._needs = {device: _dependences(part) for device, part in parts.items()}
        waits = [(d, i) for d, part in parts.items() for i in part.instructions if i.blocks]
        self._bits = {(device, i.name): 1 << bit for bit, (device, i) in enumerate(waits)}
        self._together = sum(self._bits[device, i.name] for device, i in waits if _is_together(i))
        self._before: dict[tuple[str, str], int] = {}
        self._find_before()
        self._ends = self._find_ends()

    def _find_before(self) -> None:
        """Sets `_before`: the bits of the waits that each instruction depends on."""
        sent: dict[object, int] = {}
        changed = True
        while changed:
            changed = False
            for device, part in self._parts.items():
                for i in part.instructions:
                    bits = sent.get(i.attrs["key"], 0) if i.type == kinds.RECEIVE else 0
                    for name in self._needs[device].get(i.name, ()):
                        bits |= self._after(device, name)
                    if bits != self._before.get((device, i.name), -1):
                        self._before[device, i.name] = bits
                        changed = True
                    if i.type == kinds.SEND:
                        sent[i.attrs["key"]] = bits

    def _after(self, device: str, name: str) -> int:
        return self._before.get((device, name), 0) | self._bits.get((device, name), 0)

    def _find_ends(self) -> set[tuple[str, str]]:
        """What may end a wait, or what that needs."""
        found: set[tuple[str, str]] = set()
        received: set[object] = set()
        changed = True
        while changed:
            size = len(found)
            for device, part in self._parts.items():
                for i in reversed(part.instructions):
                    first = i.type in _END_WAITS or (i.blocks and not _is_together(i))
                    if first or (i.type == kinds.SEND and i.attrs["key"] in received):
                        found.add((device, i.name))
                    if (device, i.name) in found:
                        found.update((device, name) for name in self._needs[device].get(i.name, ()))
                        if i.type == kinds.RECEIVE:
                            received.add(i.attrs["key"])
            changed = len(found) > size
        return found

    def _in_order(self, device: str) -> list[list[Instruction]]:
        """What has one number, and waits or does not, in the order in which it would be done."""
        groups: dict[tuple[int, bool], list[Instruction]] = {}
        for i in self._parts[device].instructions:
            if not i.is_prologue:
                groups.setdefault((self._numbers[device][i.name], i.blocks), []).append(i)
        return [groups[key] for key in sorted(groups)]

    @property
    def hold_up(self) -> bool:
        """Whether what may end a wait stands, on any device, behind or beside one that it does not depend on."""
        for device in self._parts:
            passed = 0
            for group in self._in_order(device):
                if not group[0].blocks:
                    for i in group:
                        passed |= self._before[device, i.name]
                for i in group:
                    if (device, i.name) in self._ends and passed & ~self._before[
                        device, i.name
                    ] & ~self._together:
                        return True
                for i in group:
                    passed |= self._after(device, i.name)
        return False

    def groups(self, device: str, short_waits: bool) -> list[Group]:
        """The groups of one part."""
        found: dict[tuple[int, bool, bool, int, int], list[Instruction]] = {}
        for i in self._parts[device].instructions:
            if not i.is_prologue:
                is_end = not i.blocks and (device, i.name) in self._ends
                bits = self._before[device, i.name] if is_end else 0
                number = self._numbers[device][i.name]
                found.setdefault((number, i.blocks, not is_end, bits.bit_count(), bits), []).append(i)
        keys = sorted(found)
        lists = [found[key] for key in keys]
        needs = self._needs_of(device, lists)
        ends = [not key[2] for key in keys]
        if short_waits:
            _join(lists, needs, ends)
        return self._made(device, lists, needs)

    def _needs_of(self, device: str, lists: Sequence[Sequence[Instruction]]) -> list[set[int]]:
        """The places of the groups that each one needs.

        A write that ends no wait comes after all that stands before it: if that fails it is not done.
        """
        places = {i.name: place for place, group in enumerate(lists) for i in group}
        needs: list[set[int]] = []
        for place, group in enumerate(lists):
            before = {places[n] for i in group for n in self._needs[device][i.name] if n in places} - {place}
            if any(i.writes() and (device, i.name) not in self._ends for i in group):
                before.update(range(place))
            needs.append(before)
        return needs

    def _made(
        self, device: str, lists: Sequence[Sequence[Instruction]], needs: Sequence[set[int]]
    ) -> list[Group]:
        """The groups that are not empty, numbered anew."""
        part = self._parts[device]
        makers = producers(part)
        places = {old: new for new, old in enumerate(k for k, group in enumerate(lists) if group)}
        found = []
        for old in places:
            waits = [i for i in lists[old] if i.blocks]
            turns = [_turn(i, makers) for i in waits]
            group = Group(
                lists[old], bool(waits), tuple(sorted(places[n] for n in needs[old])), "".join(turns),
                any(_calls(i) for i in waits),
            )  # fmt: skip
            found.append(group)
        if any(name in makers and makers[name].is_prologue for name in part.fetches):
            found.append(Group((), False, tuple(range(len(found)))))  # What waits holds no variable.
        return found


def _join(lists: list[list[Instruction]], needs: list[set[int]], ends: Sequence[bool]) -> None:
    """Puts short groups to the waits that alone need them."""
    for place in reversed(range(len(lists))):
        if not ends[place] or len(lists[place]) > _SHORT or any(i.blocks for i in lists[place]):
            continue
        users = [k for k, before in enumerate(needs) if place in before]
        if len(users) == 1 and any(i.blocks for i in lists[users[0]]):
            user = users[0]
            lists[user] = [*lists[place], *lists[user]]
            needs[user] = (needs[user] | needs[place]) - {place}
            lists[place] = []
            needs[place] = set()


def _dependences(part: Plan) -> dict[str, set[str]]:
    """For each instruction of a part those of it that come first, variables and constants left out.

    A use of a variable comes after the write before it, and a write after all uses before it.
    """
    makers = {value: i for value, i in producers(part).items() if not i.is_prologue}
    variables = {i.outputs[0] for i in part.instructions if i.is_variable}
    names = {i.name for i in part.instructions if not i.is_prologue}
    writer: dict[str, str] = {}
    readers: dict[str, list[str]] = {}
    together = ""
    found: dict[str, set[str]] = {}
    for i in part.instructions:
        if i.is_prologue:
            continue
        taken, written = set(i.free_variables()), set(i.writes())
        before = {makers[value].name for value in taken if value in makers} | names.intersection(i.control)
        before.update(writer[value] for value in (taken | written) & writer.keys())
        for value in written & variables:
            before.update(readers.pop(value, ()))
            writer[value] = i.name
        for value in (taken & variables) - written:
            readers.setdefault(value, []).append(i.name)
        if i.blocks and _is_together(i):
            if together:
                before.add(together)
            together = i.name
        before.discard(i.name)
        found[i.name] = before
    return found


def _is_together(i: Instruction) -> bool:
    return i.type.startswith(_TOGETHER)


def _calls(i: Instruction) -> bool:
    return i.type in _FUNCTIONS or any(_calls(inner) for body in i.bodies for inner in body.instructions)


def _turn(i: Instruction, makers: Mapping[str, Instruction]) -> str:
    """What says at which resource a wait takes its turn: the first to come is the first to be served there."""
    if i.bodies:
        return ""
    if i.type in _AREAS:
        return f"{i.type} {i.attrs.get('container', '')} {i.attrs.get('shared_name', '')}"
    handles = [
        n for n in i.inputs if n in makers and makers[n].dtypes[makers[n].outputs.index(n)] is dtypes.resource
    ]
    return f"{_IN_TURN.get(i.type, i.type)} {handles[0]}" if handles else ""

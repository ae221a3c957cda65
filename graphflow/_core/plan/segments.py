"""Cuts the parts of a partition into segments: each is a stretch of a part that, once it has begun, waits for nobody.

Every instruction gets a number: that of the latest instruction that it depends on, and one more if that is of another
part. A segment has all instructions of a part that have one number. A part runs its segments in order, each as soon as
the values are there that it receives; the values that it sends go out at its end. So nothing waits in the middle of
computing, and a segment is an ordinary plan that can become compiled. No two parts can wait for each other, since a
segment of a lower number has sent what is received.

Elements of a dataset that other parts compute with are drawn, and sent, before the part computes what it need not have
computed for that: otherwise towers on several devices would compute one after the other.

A message costs more than a small value does. So a small value waits for something else that its part sends, if nobody
needs it before.

An instruction that may wait for other runs (`blocks`) is a segment of its own, which holds no variable and no memory of
others. Where one such may wait for another of the same run, segments say which others they need
(waits/independent_waits.py). What takes results of an instruction that is named in `cuts` is in a later one. Variables
and constants belong to no segment: each segment has its own copies in its prologue.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from graphflow._core.common.records import dataclass
from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import lookup
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.partition import Partition
from graphflow._core.plan.waits.independent_waits import Group, waits_apart

Key = tuple[str, str, str]
"""An edge between parts: the value with its state, the device that sends it, the device that receives it."""
_DRAW: Final = "IteratorGetNext"
"""Draws the next element of a dataset: it waits for that alone, and not for what else the run computes."""
_SMALL: Final = 64 << 10
"""Bytes of a value that takes so little time to send that it need not go before others."""


@dataclass(frozen=True, eq=False)
class Segment:
    """A stretch of a part.

    plan: an ordinary plan; its feeds are what the run is fed, what earlier segments of the part computed, and what it
        receives; its fetches what later segments and sends take and what the run fetches.
    receives: the value that each edge brings. sends: the value that goes out on each edge, None for a mere signal.
    blocks: it may wait for other runs.
    needs: the places in the part of the segments that come first; None if all before it do. turn, calls: as those of a
        Group of independent_waits.py.
    """

    plan: Plan
    receives: Mapping[Key, str]
    sends: Mapping[Key, str | None]
    blocks: bool
    needs: tuple[int, ...] | None = None
    turn: str = ""
    calls: bool = False


def segments(partition: Partition) -> dict[str, list[Segment]]:
    """The segments of each part, by device, in the order in which they run."""
    numbers = _numbers(partition, {})
    least = {
        device: {**_after_draws(part, numbers[device]), **_with_users(part, numbers[device])}
        for device, part in partition.parts.items()
    }
    if any(least.values()):
        numbers = _numbers(partition, least)
    _send_together(partition, numbers)
    apart = waits_apart(partition.parts, numbers, False)
    if apart is not None:
        return cut_apart(apart, partition)
    return {device: _cut(part, numbers[device]) for device, part in partition.parts.items()}


def cut_apart(groups: Mapping[str, Sequence[Group]], partition: Partition) -> dict[str, list[Segment]]:
    """The segments of each part that groups of its instructions make, which say what they need."""
    return {
        device: [
            replace(segment, needs=group.needs, turn=group.turn, calls=group.calls)
            for segment, group in zip(
                cut([(group.blocks, group.instructions) for group in groups[device]], part),
                groups[device],
                strict=True,
            )
        ]
        for device, part in partition.parts.items()
    }


def _numbers(partition: Partition, least: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    """The number of every instruction, by device and name; `least`: by device and name, what it is at least."""
    numbers: dict[str, dict[str, int]] = {device: {} for device in partition.parts}
    sent: dict[Key, int] = {}
    changed = True
    while changed:
        changed = False
        for device, part in partition.parts.items():
            found = _numbers_of_part(part, sent, least=least.get(device, {}))
            if found != numbers[device]:
                numbers[device] = found
                changed = True
            for i in part.instructions:
                if i.type == kinds.SEND:
                    sent[i.attrs["key"]] = found[i.name]
    return numbers


def _after_draws(part: Plan, numbers: Mapping[str, int]) -> dict[str, int]:
    """The least numbers of what a part computes, by name, so that it first gives other parts elements of datasets.

    What these elements, and what is sent until then, depend on is not put off; nor is what may wait for other runs.
    """
    makers = producers(part)
    named = {i.name: i for i in part.instructions}
    sent: dict[str, int] = {}
    """By what is drawn and sent the number with which it goes."""
    for i in part.instructions:
        maker = makers.get(i.inputs[0]) if i.type == kinds.SEND and i.inputs else None
        if maker is not None and maker.type == _DRAW:
            sent[maker.name] = max(sent.get(maker.name, 0), numbers[i.name])
    found: dict[str, int] = {}
    for name, gone in sorted(sent.items(), key=lambda item: numbers[item[0]]):
        wanted = [
            i for i in part.instructions if numbers[i.name] <= gone and (i.type == kinds.SEND or i.blocks)
        ]
        before: set[str] = set()
        while wanted:
            i = wanted.pop()
            if i.name not in before:
                before.add(i.name)
                wanted += [makers[n] for n in i.free_variables() if n in makers]
                wanted += [named[n] for n in i.control if n in named]
        for i in part.instructions:
            now = found.get(i.name, numbers[i.name])
            if numbers[name] <= now <= gone and i.name not in before and not i.is_prologue:
                found[i.name] = gone + 1
    return found


def _with_users(part: Plan, numbers: Mapping[str, int]) -> dict[str, int]:
    """The numbers, by name, of what reads a task's state: those of what it is read for.

    A checkpoint has it with variables of the same task, and their values are read where they are used.
    """
    found = {}
    for i in part.instructions:
        if i.type == kinds.STATE_READ:
            users = [
                numbers[user.name] for user in part.instructions if i.outputs[0] in user.free_variables()
            ]
            if users and min(users) > numbers[i.name]:
                found[i.name] = min(users)
    return found


def numbers_with_cuts(plan: Plan, cuts: Collection[str]) -> dict[str, int]:
    """The numbers of a plan for one device in which variables are written last, when all that may fail is done."""
    numbers = _numbers_of_part(plan, {}, cuts)
    return _numbers_of_part(plan, {}, cuts, max(numbers.values(), default=0))


def _numbers_of_part(
    part: Plan,
    sent: Mapping[Key, int],
    cuts: Collection[str] = (),
    writes_from: int = 0,
    least: Mapping[str, int] = MappingProxyType({}),
) -> dict[str, int]:
    """The numbers in one part, given those of what the others have sent, as far as they are known.

    writes_from: the lowest number for what writes variables. least: the lowest of what it names.
    """
    makers = producers(part)
    places = {i.outputs[0] for i in part.instructions if i.is_variable}
    found: dict[str, int] = {}
    after: dict[str, int] = {}
    """The lowest number that may use what an instruction leaves behind."""
    reads: dict[str, int] = {}
    writes: dict[str, int] = {}
    used: dict[str, int] = {}
    """The lowest number that may use a handle, as of a queue, after who has used it so far."""
    blocked = 0
    for i in part.instructions:
        taken = i.free_variables()
        written = set(i.writes())
        before = [after[makers[n].name] for n in taken if n in makers and n not in places]
        before += [after[c] for c in i.control if c in after]
        before += [writes.get(n, 0) for n in taken if n in places]
        before += [reads.get(n, 0) for n in written]
        handles = [n for n in taken if n in makers and _is_handle(makers[n], n)]
        before += [used.get(n, 0) for n in handles]
        number = max([*before, least.get(i.name, 0)])
        if written:
            number = max(number, writes_from)
        if i.type == kinds.RECEIVE:
            number = max(number, sent.get(i.attrs["key"], -1) + 1)
        if i.blocks:
            number = max(number, blocked)
            blocked = number + 1
        found[i.name] = number
        after[i.name] = number + (i.blocks or i.name in cuts)
        used.update(dict.fromkeys(handles, number + i.blocks))
        for name in taken:
            if name in places:
                reads[name] = max(reads.get(name, 0), number)
        for name in written:
            writes[name] = max(writes.get(name, 0), number)
    return found


def _send_together(partition: Partition, numbers: Mapping[str, dict[str, int]]) -> None:
    """Raises the numbers of small values' sends to those of other sends from their parts, as far as nobody waits."""
    needed: dict[Key, int] = {}
    receives: dict[Key, str] = {}
    for device, part in partition.parts.items():
        first: dict[str, int] = {}
        for i in part.instructions:
            for name in (*i.free_variables(), *i.control):
                first[name] = min(first.get(name, numbers[device][i.name]), numbers[device][i.name])
        for recv in [i for i in part.instructions if i.type == kinds.RECEIVE]:
            uses = [first[name] for name in (recv.outputs[0], recv.name) if name in first]
            needed[recv.attrs["key"]] = min(uses, default=0)
            receives[recv.attrs["key"]] = recv.name
    for device, part in partition.parts.items():
        sends = [i for i in part.instructions if i.type == kinds.SEND]
        makers, awaited = producers(part), {name for i in part.instructions for name in i.control}
        for send in sends:
            key = send.attrs["key"]
            if send.name in awaited or not send.inputs or not _is_small(makers, send.inputs[0]):
                continue
            others = [numbers[device][i.name] for i in sends if i is not send and i.attrs["key"][2] == key[2]]
            found = max((n for n in others if n < needed.get(key, 0)), default=0)
            if found > numbers[device][send.name]:
                numbers[device][send.name] = found
                numbers[key[2]][receives[key]] = found + 1


def _is_small(makers: Mapping[str, Instruction], value: str) -> bool:
    """Whether a value that stays as it is takes little time to send: such are the numbers of rows, however many."""
    maker = makers.get(value)
    if maker is None or maker.is_prologue:
        return False
    place = maker.outputs.index(value)
    dtype, dims = maker.dtypes[place], maker.shapes[place]
    if dims is None or dtype is dtypes.resource:
        return False
    if None in dims:
        return dtype.is_integer and len(dims) == 1
    return math.prod(n or 0 for n in dims) * dtype.size <= _SMALL


def _is_handle(maker: Instruction, value: str) -> bool:
    return maker.dtypes[maker.outputs.index(value)] is dtypes.resource


def _cut(part: Plan, numbers: Mapping[str, int]) -> list[Segment]:
    groups: dict[tuple[int, bool], list[Instruction]] = {}
    for i in part.instructions:
        if not i.is_prologue:
            groups.setdefault((numbers[i.name], i.blocks), []).append(i)
    return cut([(key[1], groups[key]) for key in sorted(groups)], part)


def cut(groups: Sequence[tuple[bool, Sequence[Instruction]]], part: Plan) -> list[Segment]:
    """The segments that groups of a part's instructions make, in their order; a group says whether it may wait.

    Variables and constants are in no group: each segment gets those that it uses. Those that the run fetches come from
    the last segment, which is added if there are no groups.
    """
    prologue = {o: i for o, i in producers(part).items() if i.is_prologue}
    last = tuple(name for name in dict.fromkeys(part.fetches) if name in prologue)
    if last and not groups:
        groups = [(False, ())]
    needed = set(part.fetches) - set(last)
    types = {
        o: t for i in part.instructions for o, t in zip(i.outputs, zip(i.dtypes, i.shapes), strict=False)
    }
    types.update(zip(part.feeds, part.feed_types))
    result: list[Segment] = []
    for blocks, group in reversed(groups):
        segment = _segment(group, prologue, types, set(part.feeds), needed, () if result else last, blocks)
        result.insert(0, segment)
        needed |= set(segment.plan.feeds)
    return result


def _segment(
    group: Sequence[Instruction],
    prologue: Mapping[str, Instruction],
    types: Mapping[str, tuple[dtypes.DType, Dims]],
    fed: set[str],
    needed: set[str],
    last: tuple[str, ...],
    blocks: bool,
) -> Segment:
    """One segment.

    types: of what it may be fed, as far as anybody says them. needed: what later segments take of it. last: what the
    run fetches of the prologue.
    """
    written = {name for i in group for name in i.writes()}
    receives = {i.attrs["key"]: i.outputs[0] for i in group if i.type == kinds.RECEIVE}
    sends: dict[Key, str | None] = {}
    work: list[Instruction] = []
    for i in group:
        if i.type == kinds.SEND:
            value = i.inputs[0] if i.inputs else None
            if value in written:
                read = _read(i, prologue[value])
                work.append(read)
                value = read.outputs[0]
            sends[i.attrs["key"]] = value
        elif i.type != kinds.RECEIVE:
            work.append(i)
    inside = {i.name for i in work}
    work = [replace(i, control=tuple(c for c in i.control if c in inside)) for i in work]
    made = {o for i in work for o in i.outputs if o not in fed}
    outgoing = [value for value in sends.values() if value is not None]
    fetches = [o for i in work for o in i.outputs if o in needed and o in made]
    fetches = list(dict.fromkeys([*fetches, *outgoing, *last]))
    taken = dict.fromkeys([*(n for i in work for n in i.free_variables()), *fetches])
    feeds = tuple(n for n in taken if n not in made and n not in prologue)
    used = [prologue[n] for n in taken if n in prologue]
    known = tuple([types[name] for name in feeds if name in types])
    plan = Plan((*used, *work), feeds, tuple(fetches), (), known if len(known) == len(feeds) else ())
    return Segment(plan, receives, sends, blocks)


def _read(send: Instruction, variable: Instruction) -> Instruction:
    """Reads a variable where it is sent, since the same segment writes it."""
    return replace(
        variable,
        name=f"{send.name}/read",
        type="Identity",
        inputs=variable.outputs,
        outputs=(f"{send.name}/read:0",),
        attrs={},
        control=(),
        definition=lookup("Identity"),
    )

"""Cuts the parts of a partition into stages: stretches that, once they have begun, wait for nobody.

Everything gets a number: that of the latest thing it depends on, and one more where it comes from another part. A stage
is what has one number in one part. A part runs its stages in order, each when what it receives is there, and what it
sends goes out at its end. So nothing waits in the middle of computing, a stage is an ordinary plan which can become
compiled, and no two parts can wait for each other: what is received was sent by a stage of a lower number. A small
value that is not needed before something else from its part waits for that, as a message costs more than it does.

What may wait for other runs (`blocks`) is a stage of its own, which holds no variable and no memory of others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import lookup
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.partition import Partition

Key = tuple[str, str, str]
"""An edge between parts: the value with its state, the device that sends it, the device that receives it."""
_SMALL: Final = 64 << 10
"""Bytes of a value that takes so little time to send that it need not go before others."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A stretch of a part.

    plan: an ordinary plan; its feeds are what the run is fed, what earlier stages of the part computed, and what it
        receives; its fetches what later stages and sends take and what the run fetches.
    receives: the value that each edge brings. sends: the value that goes out on each edge, None for a mere signal.
    blocks: it may wait for other runs.
    """

    plan: Plan
    receives: Mapping[Key, str]
    sends: Mapping[Key, str | None]
    blocks: bool


def stages(partition: Partition) -> dict[str, list[Stage]]:
    """The stages of each part, by device, in the order in which they run."""
    numbers = _numbers(partition)
    _send_together(partition, numbers)
    return {device: _cut(part, numbers[device]) for device, part in partition.parts.items()}


def _numbers(partition: Partition) -> dict[str, dict[str, int]]:
    """The number of every instruction, by device and name."""
    numbers: dict[str, dict[str, int]] = {device: {} for device in partition.parts}
    sent: dict[Key, int] = {}
    changed = True
    while changed:
        changed = False
        for device, part in partition.parts.items():
            found = _numbers_of_part(part, sent)
            if found != numbers[device]:
                numbers[device] = found
                changed = True
            for i in part.instructions:
                if i.type == kinds.SEND:
                    sent[i.attrs["key"]] = found[i.name]
    return numbers


def _numbers_of_part(part: Plan, sent: Mapping[Key, int]) -> dict[str, int]:
    """The numbers in one part, given those of what the others have sent, as far as they are known."""
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
        number = max(before, default=0)
        if i.type == kinds.RECEIVE:
            number = max(number, sent.get(i.attrs["key"], -1) + 1)
        if i.blocks:
            number = max(number, blocked)
            blocked = number + 1
        found[i.name] = number
        after[i.name] = number + i.blocks
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


def _cut(part: Plan, numbers: Mapping[str, int]) -> list[Stage]:
    groups: dict[tuple[int, bool], list[Instruction]] = {}
    for i in part.instructions:
        if not i.is_prologue:
            groups.setdefault((numbers[i.name], i.blocks), []).append(i)
    return cut([(key[1], groups[key]) for key in sorted(groups)], part)


def cut(groups: Sequence[tuple[bool, Sequence[Instruction]]], part: Plan) -> list[Stage]:
    """The stages that groups of a part's instructions make, in their order; of each whether it may wait.

    Variables and constants are in no group: each stage gets those it uses. Those that the run fetches come from the
    last stage, which is added where there are no groups.
    """
    around = {o: i for o, i in producers(part).items() if i.is_prologue}
    last = tuple(name for name in dict.fromkeys(part.fetches) if name in around)
    if last and not groups:
        groups = [(False, ())]
    needed = set(part.fetches) - set(last)
    result: list[Stage] = []
    for blocks, group in reversed(groups):
        stage = _stage(group, around, set(part.feeds), needed, () if result else last, blocks)
        result.insert(0, stage)
        needed |= set(stage.plan.feeds)
    return result


def _stage(
    group: Sequence[Instruction],
    around: Mapping[str, Instruction],
    fed: set[str],
    needed: set[str],
    last: tuple[str, ...],
    blocks: bool,
) -> Stage:
    """One stage of these instructions; `needed` is what later stages take, `last` what the run fetches from around."""
    written = {name for i in group for name in i.writes()}
    receives = {i.attrs["key"]: i.outputs[0] for i in group if i.type == kinds.RECEIVE}
    sends: dict[Key, str | None] = {}
    work: list[Instruction] = []
    for i in group:
        if i.type == kinds.SEND:
            value = i.inputs[0] if i.inputs else None
            if value in written:
                read = _read(i, around[value])
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
    feeds = tuple(n for n in taken if n not in made and n not in around)
    used = [around[n] for n in taken if n in around]
    plan = Plan((*used, *work), feeds, tuple(fetches), ())
    return Stage(plan, receives, sends, blocks)


def _read(send: Instruction, variable: Instruction) -> Instruction:
    """Reads a variable where it is sent, since the same stage writes it."""
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

"""What a plan changes, and the plan without some of it: for a step that is repeated after a part of it was done.

A step whose answer was lost may have changed variables of some tasks and not of others. When it is repeated, what is
changed already must stay as it is: the instruction that changed it gives the value that is there.

The instructions of synchronous rounds, and those that limit staleness, keep account themselves (kernels/sync_rounds,
kernels/staleness), together with what runs only if they allow it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from graphflow._core.graph.op_def import lookup
from graphflow._core.graph.scopes import resource_name
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, walk

KEEP_ACCOUNT: Final = frozenset({"SyncRoundClaim", "SyncRoundAdvance"})
"""Types that know themselves what was done before."""
_OTHER_RESULTS: Final = frozenset({"CountUpTo"})
"""Types whose result is not the new value of the variable: their kernels find it if an attribute "again" says so."""


def changes(plan: Plan) -> list[tuple[str, str]]:
    """The instructions that change a variable, those in bodies too, by name, with the variable's name in its store."""
    variables = {i.outputs[0]: resource_name(i.attrs, i.name) for i in walk(plan) if i.is_variable}
    return _changes(plan, variables)


def _changes(plan: Plan, variables: dict[str, str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for i in plan.instructions:
        if i.bodies:
            if not _keeps_account(i):
                found += [change for body in i.bodies for change in _changes(body, variables)]
        elif _can_be_left_out(i) and i.writes()[0] in variables:
            found.append((i.name, variables[i.writes()[0]]))
    return found


def without(plan: Plan, names: Collection[str]) -> Plan:
    """The plan in which instructions of these names, of those that `changes` finds, change nothing."""
    return plan.with_instructions([_without(i, names) for i in plan.instructions])


def _without(i: Instruction, names: Collection[str]) -> Instruction:
    if i.bodies:
        return i if _keeps_account(i) else replace(i, bodies=tuple(without(body, names) for body in i.bodies))
    if i.name not in names or not _can_be_left_out(i):
        return i
    if i.type in _OTHER_RESULTS:
        return replace(i, attrs={**i.attrs, "again": True})
    if not i.outputs:
        return replace(i, type="NoOp", inputs=(), attrs={}, definition=lookup("NoOp"))
    return replace(i, type="Identity", inputs=i.writes()[:1], attrs={}, definition=lookup("Identity"))


def is_snapshot(plan: Plan) -> bool:
    """Whether a plan reads variables together with the runs that have changed them."""
    return any(i.type == kinds.STATE_READ for i in walk(plan))


def _keeps_account(i: Instruction) -> bool:
    return any(inner.type in KEEP_ACCOUNT for body in i.bodies for inner in walk(body))


def _can_be_left_out(i: Instruction) -> bool:
    return bool(i.writes()) and len(i.outputs) < 2 and i.type not in KEEP_ACCOUNT

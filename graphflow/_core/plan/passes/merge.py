"""Merges instructions that compute the same from the same inputs on the same device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from graphflow._core.plan.ir import Instruction, Plan, rename_inputs
from graphflow._core.plan.pass_context import PassContext


def merge_common(plan: Plan, ctx: PassContext) -> Plan:
    """The plan with each common subexpression once. What reads a variable that the plan writes is left alone."""
    variables = set(plan.variables())
    return _merge(plan, variables, {})


def _merge(plan: Plan, variables: set[str], seen: dict[Any, Instruction]) -> Plan:
    seen = dict(seen)
    names: dict[str, str] = {}
    replaced: dict[str, str] = {}
    result: list[Instruction] = []
    for instruction in _by_dependency(plan):
        i = _renamed(instruction, names, replaced)
        key = None if any(o in plan.feeds for o in i.outputs) else _key(i, variables)
        if key is not None and key in seen:
            first = seen[key]
            names.update(zip(i.outputs, first.outputs, strict=True))
            replaced[i.name] = first.name
            continue
        if key is not None:
            seen[key] = i
        result.append(i)
    return replace(
        plan,
        instructions=tuple(
            _renamed(
                replace(i, bodies=tuple(_merge(b, variables, {}) for b in i.bodies)) if i.bodies else i,
                names,
                replaced,
            )
            for i in result
        ),
        fetches=tuple(names.get(f, f) for f in plan.fetches),
        targets=tuple(replaced.get(t, t) for t in plan.targets),
    )


def _renamed(i: Instruction, names: dict[str, str], replaced: dict[str, str]) -> Instruction:
    """The instruction with what was merged under its new names."""
    i = rename_inputs(i, names)
    if any(c in replaced for c in i.control):
        i = replace(i, control=tuple(dict.fromkeys(replaced.get(c, c) for c in i.control)))
    return i


def _by_dependency(plan: Plan) -> list[Instruction]:
    """The instructions so that each comes after what it takes; building order already is so, but for lifted ones."""
    makers = {o: i for i in plan.instructions for o in i.outputs}
    by_name = {i.name: i for i in plan.instructions}
    done: set[str] = set()
    result: list[Instruction] = []
    for root in plan.instructions:
        stack = [root]
        while stack:
            i = stack[-1]
            if i.name in done:
                stack.pop()
                continue
            before = [makers[n] for n in i.inputs if n in makers] + [
                by_name[c] for c in i.control if c in by_name
            ]
            missing = [b for b in before if b.name not in done and b is not i]
            if missing and not any(m in stack for m in missing):
                stack += missing
                continue
            done.add(i.name)
            result.append(i)
            stack.pop()
    return result


def _key(i: Instruction, variables: set[str]) -> Any:
    if (
        i.stateful
        and not i.is_constant
        or i.bodies
        or i.is_variable
        or not i.outputs
        or i.type == "Placeholder"
    ):
        return None
    if any(n in variables for n in i.inputs):
        return None
    try:
        attrs = tuple((k, _hashable(v)) for k, v in sorted(i.attrs.items()) if not k.startswith("_"))
        key = (i.type, i.inputs, i.control, i.device, i.dtypes, attrs)
        hash(key)
    except TypeError:
        return None
    return key


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        if value.nbytes > 4096 or value.dtype == object:
            return id(value)
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, list):
        return tuple(_hashable(v) for v in value)
    return value

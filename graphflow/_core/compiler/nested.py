"""Loops and branches as nodes: their parts are jobs of their own, which run without Python if all of them is native.

What a part takes from around it are its feeds, and where these lie is known when it is laid out. Lists of TensorArrays
and stacks lie somewhere else in each run. Native code finds them by a descriptor (kernels/control_flow/rows.py), which
is a value of eight words like any other; whoever runs the outermost loop, its host, says where each is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from graphflow._core.codegen.cpu.programs.control_source import BRANCH_SOURCE, LOOP_SOURCE
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.native_parts import draws
from graphflow._core.compiler.nodes import Binding, KernelNode, NestedNode, Part
from graphflow._core.compiler.values import Value
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Plan, producers

Prepare = Callable[[Plan, Lowering], Part | None]
"""Makes a part of a plan, as it lies in a lowering; None if not all of it is native."""
SOURCES: Final = {kinds.WHILE: LOOP_SOURCE, kinds.IF: BRANCH_SOURCE}


def part_plan(
    body: Plan, names: Sequence[str], around: Mapping[str, Instruction], fetches: Sequence[str]
) -> Plan:
    """A part of a construct as a plan of its own: what it takes from around it is fed, but for variables and constants.

    names: what the construct takes. around: the instruction that makes each value there.
    """
    extra: dict[str, Instruction] = {}
    captured: list[str] = []
    for name in dict.fromkeys(names):
        maker = around.get(name)
        if maker is not None and maker.is_prologue:
            extra[maker.name] = maker
        elif name not in body.feeds:
            captured.append(name)
    return Plan((*extra.values(), *body.instructions), (*body.feeds, *captured), tuple(fetches))


def nested(prepare: Prepare, lowering: Lowering, i: Instruction) -> bool:
    """Lowers a While or If whose parts are native as a node; False if they are not."""
    if i.writes():
        return False
    around = producers(lowering.plan)
    made = (
        _loop(prepare, lowering, i, around)
        if i.type == kinds.WHILE
        else _branch(prepare, lowering, i, around)
    )
    if made is None or any(draws(part) for part in made.parts):
        return False  # Only the host of the outermost loop holds random states, and those of its own parts.
    bindings = _bindings(lowering, made.parts)
    if bindings is None:
        return False
    lowering.around.bindings.update(bindings)
    lowering.add_effect(made, bindings.keys())
    return True


def _bindings(lowering: Lowering, parts: Sequence[Part]) -> dict[str, Binding] | None:
    """What parts use, as it is known around them; None if one list is used for rows of several shapes."""
    found: dict[str, Binding] = {}
    for part in parts:
        for root, binding in part.job.lowering.around.bindings.items():
            handle = None if binding.kind == "stack" else lowering.value(binding.of)
            if handle is not None and binding.kind == "list":
                root = handle.root
                of, source = lowering.around.gradients.get(root, (root, ""))
                binding = replace(binding, kind="gradient" if source else "list", of=of, source=source)
            elif handle is not None and handle.root != binding.of:
                return None
            if found.setdefault(root, lowering.around.bindings.get(root, binding)) != binding:
                return None
    return found


def _inputs(
    lowering: Lowering, i: Instruction, parts: Sequence[Part], own: Sequence[str] = ()
) -> dict[str, Value] | None:
    """Where what the parts take from around lies, as whole blocks."""
    found: dict[str, Value] = {}
    for name in dict.fromkeys(n for part in parts for n in part.feeds if n not in own):
        value = lowering.value(name)
        if value is None:
            return None
        found[name] = lowering.compact(i, value)
    return found


def _branch(
    prepare: Prepare, lowering: Lowering, i: Instruction, around: Mapping[str, Instruction]
) -> NestedNode | None:
    predicate = lowering.value(i.inputs[0])
    if predicate is None or (predicate.shape, predicate.dtype) != ((), "bool"):
        return None
    used = i.used or (True,) * len(i.outputs)
    fetched = [[k for k, name in enumerate(body.fetches) if name and used[k]] for body in i.bodies]
    if not lowering.around.inside and any(
        k not in of for of in fetched for k in range(len(i.outputs)) if used[k]
    ):
        return None  # There is nothing if the other branch is taken.
    parts: list[Part] = []
    types: dict[int, tuple[tuple[int, ...], str]] = {}
    for body, wanted in zip(i.bodies, fetched, strict=True):
        plan = part_plan(body, i.inputs, around, [body.fetches[k] for k in wanted])
        part = prepare(plan, lowering)
        if part is None:
            return None
        parts.append(part)
        for k, value in zip(wanted, part.results, strict=True):
            if types.setdefault(k, (value.shape, value.dtype)) != (value.shape, value.dtype):
                return None
    inputs = _inputs(lowering, i, parts)
    if inputs is None:
        return None
    targets: list[Value | None] = [None] * len(i.outputs)
    for k, kind in types.items():
        lowering.known[i.outputs[k]] = kind
        targets[k] = lowering.result(i, k)
    return _node(i, parts, inputs, [predicate], targets, predicate=predicate, fetched=fetched)


def _loop(
    prepare: Prepare, lowering: Lowering, i: Instruction, around: Mapping[str, Instruction]
) -> NestedNode | None:
    found = loop_parts(prepare, lowering, i, around)
    inputs = None if found is None else _inputs(lowering, i, found, i.bodies[1].feeds)
    if found is None or inputs is None:
        return None
    starts: list[tuple[str, Value]] = []
    for name, start, result in zip(i.bodies[1].feeds, i.inputs, found[1].results, strict=False):
        value = lowering.value(start)
        if value is None or (value.shape, value.dtype) != (result.shape, result.dtype):
            return None
        starts.append((name, lowering.compact(i, value)))
    targets: list[Value | None] = []
    for k, result in enumerate(found[1].results):
        lowering.known[i.outputs[k]] = (result.shape, result.dtype)
        targets.append(lowering.result(i, k))
    return _node(i, found, inputs, [value for _, value in starts], targets, starts=starts)


def loop_parts(
    prepare: Prepare, lowering: Lowering, i: Instruction, around: Mapping[str, Instruction]
) -> list[Part] | None:
    """Condition and body of a While whose variables keep shape and dtype; None if not all of that is native."""
    condition, body = i.bodies
    for name, start in zip(body.feeds, i.inputs, strict=False):
        if name not in lowering.known and start in lowering.known:
            lowering.known[name] = lowering.known[start]
    parts: list[Part] = []
    for plan in (condition, body):
        part = prepare(part_plan(replace(plan, feeds=body.feeds), i.inputs, around, plan.fetches), lowering)
        if part is None:
            return None
        parts.append(part)
    for name, result in zip(body.feeds, parts[1].results, strict=True):
        if lowering.known[name] != (result.shape, result.dtype):
            return None
    return parts


def _node(
    i: Instruction,
    parts: Sequence[Part],
    inputs: Mapping[str, Value],
    others: Sequence[Value],
    targets: Sequence[Value | None],
    *,
    predicate: Value | None = None,
    starts: Sequence[tuple[str, Value]] = (),
    fetched: Sequence[Sequence[int]] = (),
) -> NestedNode:
    nodes = [node for part in parts for node in part.job.lowering.nodes]
    return NestedNode(
        i,
        [*others, *inputs.values()],
        [target.root for target in targets if target is not None],
        sources=[SOURCES[i.type]],
        fallible=any(node.fallible for node in nodes),
        blas=any(isinstance(node, KernelNode) and node.blas for node in nodes),
        parts=parts,
        inputs=inputs,
        predicate=predicate,
        starts=starts,
        targets=targets,
        fetched=fetched,
    )

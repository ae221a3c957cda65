"""Makes a part of a loop or branch of its lowering, if nothing of it needs Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from graphflow._core.codegen import shared
from graphflow._core.compiler.compile_job import CompileJob
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.nodes import KernelNode, Part, PythonNode
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.compiler.values import Value
from graphflow._core.kernels.control_flow.rows import DESCRIPTOR_WORDS
from graphflow._core.plan.ir import Plan, walk

_HANDLED = "TensorArray"
"""How the names of the types begin that take or make the handle of a list."""
_HANDLES = ("handle", "grad_handle")
"""What definitions call handles."""


def described(plan: Plan) -> Known:
    """The handles of lists in a plan, which are descriptors in native code."""
    return {
        name: ((DESCRIPTOR_WORDS,), "int64")
        for i in walk(plan)
        if i.type.startswith(_HANDLED) and i.definition is not None
        for names, kinds in (
            (i.inputs, [spec.name for spec in i.definition.inputs]),
            (i.outputs, list(i.definition.outputs)),
        )
        for name, kind in zip(names, kinds, strict=True)
        if kind in _HANDLES
    }


def native_part(plan: Plan, lowering: Lowering) -> Part | None:
    """The part that a plan has become; None if something of it is not native, or is done once a run.

    Random numbers may be drawn where a host holds the states of those that draw them.
    """
    for node in lowering.nodes:
        if isinstance(node, PythonNode) or node.variables:
            return None
        if isinstance(node, KernelNode) and node.before and not (node.state and lowering.around.hosted):
            return None
    results: list[Value] = []
    for position, name in enumerate(plan.fetches):
        value = lowering.value(name)
        apart = None if value is None else _apart(plan, lowering, position, value)
        if apart is None:
            return None
        results.append(apart)
    names = tuple(f"result {k}" for k in range(len(results)))
    for name, value in zip(names, results, strict=True):
        lowering.define(name, value)
    job = CompileJob(replace(plan, fetches=names), lowering, shared.compiler())
    return Part(job, tuple(name for name in plan.feeds if name in lowering.values), tuple(results))


def _apart(plan: Plan, lowering: Lowering, position: int, value: Value) -> Value | None:
    """A result as a whole block of the part's own; the feed itself if that is handed on as it is, in its own place or
    from around the construct. None if there is no instruction that a copy could stand for.
    """
    name = plan.fetches[position]
    if value.root in plan.feeds and value.contiguous:
        feed = plan.feeds.index(value.root)
        if feed >= len(plan.fetches) or (feed == position and value.root == name):
            return value
    if value.root in lowering.blocks and value.contiguous:
        return value
    maker = next((i for i in plan.instructions if name in i.outputs), None)
    if maker is None and not plan.instructions:
        return None
    copy = lowering.temporary(name, value.dtype, value.shape)
    lowering.elementwise(maker or plan.instructions[0], "{0}", [value], copy)
    return copy


def draws(part: Part) -> list[tuple[str, Callable[[Any], Any], str]]:
    """What draws random numbers in a part: its name, its state given the run, and the constant that holds its words."""
    return [
        (node.instruction.name, node.state, node.reads[0].root)
        for node in part.job.lowering.nodes
        if isinstance(node, KernelNode) and node.state is not None
    ]

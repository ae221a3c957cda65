"""The Plan: what will run, in order, as immutable data that a person can read.

Values are named as their tensors are ("dense/MatMul:0"). A variable's tensor is not a value but a place: an
instruction that takes it reads it when it runs. Branches and loops are instructions with plans inside, whose
instructions use the values around them by name.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan import kinds

PASS_THROUGH: Final = frozenset({"Identity", "StopGradient", "PreventGradient", "PlaceholderWithDefault"})
"""Types whose result is their input."""
LOCAL: Final = "_session_local"
"""The attribute of a variable that the graph calls its session's own."""
_SHORT: Final = 8
"""Constants of at most so many elements are printed."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The operation of the user's graph that an instruction stands for, as data: there is no way from it to the graph.

    line: file and line number of the user's code that built it.
    """

    name: str
    type: str
    line: tuple[str, int]

    @property
    def built(self) -> str:
        """The line as messages quote it: "FILE:NUMBER"."""
        return f"{self.line[0]}:{self.line[1]}"

    def __str__(self) -> str:
        return f"{self.type} {self.name!r} (built at {self.built})"


@dataclass(frozen=True, slots=True, eq=False)
class Instruction:
    """One step of a plan.

    Args:
        name: The operation's name, unique in the plan.
        type: The op type, or "If" and "While" with `bodies`, "Send" and "Recv" between devices, "Fused" for a region.
        inputs: Names of values.
        outputs: Names of values; outputs[i] has dtypes[i] and shapes[i].
        dtypes: The dtype of each output.
        shapes: The shape of each output, as far as it is known.
        attrs: The operation's attributes by name.
        control: Names of instructions that come first.
        device: The device that computes it; "" before it is placed.
        index: When its operation was built, the order among equals.
        definition: The op's; None of what is no op.
        origin: The operation that it stands for, for messages; None if it stands for none.
        bodies: The plans inside it, of a branch or loop.
        used: Whether anything takes each output, () if all are taken.
    """

    name: str
    type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    dtypes: tuple[DType, ...]
    shapes: tuple[Dims, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    control: tuple[str, ...] = ()
    device: str = ""
    index: int = 0
    definition: OpDef | None = None
    origin: Origin | None = None
    bodies: tuple[Plan, ...] = ()
    used: tuple[bool, ...] = ()
    """Whether anything takes each output, () if all are taken; known once the plan is whole."""

    @property
    def is_variable(self) -> bool:
        """Whether its result is a variable itself, which is read where it is used."""
        return self.definition is not None and self.definition.is_variable

    @property
    def is_constant(self) -> bool:
        """Whether its result is the attribute "value"."""
        return self.type == kinds.CONST

    @property
    def is_prologue(self) -> bool:
        """Whether it belongs to no segment of a plan: a variable, or a constant, of which each segment has its own."""
        return self.is_variable or self.is_constant

    @property
    def stateful(self) -> bool:
        """Whether it has an effect or depends on more than its inputs."""
        if self.bodies:
            return any(i.stateful for body in self.bodies for i in body.instructions)
        return self.definition is None or self.definition.stateful

    @property
    def blocks(self) -> bool:
        """Whether it, or what is inside its bodies, may wait for another run or thread."""
        if self.bodies:
            return any(i.blocks for body in self.bodies for i in body.instructions)
        return self.definition is not None and self.definition.blocks

    def free_variables(self) -> list[str]:
        """The values from around it that it and its bodies use; one may be there twice."""
        names = list(self.inputs)
        made: set[str] = set()
        for body in self.bodies:
            for inner in body.instructions:
                made.update(inner.outputs)
                names += inner.free_variables()
            made.update(body.feeds)
            names += [f for f in body.fetches if f]
        return [n for n in names if n not in made]

    def writes(self) -> tuple[str, ...]:
        """The inputs that are variables which it writes, those inside its bodies included."""
        if self.bodies:
            return tuple(name for body in self.bodies for i in body.instructions for name in i.writes())
        if self.definition is None or not self.definition.writes:
            return ()
        return tuple(n for n, spec in zip(self.inputs, self.definition.inputs, strict=False) if spec.written)

    def refs(self) -> tuple[str, ...]:
        """The inputs that must be variables themselves, those inside its bodies included."""
        if self.bodies:
            return tuple(name for body in self.bodies for i in body.instructions for name in i.refs())
        return tuple(n for n, ref in zip(self.inputs, self.ref_mask(), strict=True) if ref)

    def ref_mask(self) -> tuple[bool, ...]:
        """For each input whether it is a variable itself and not its value."""
        if self.definition is None or not self.definition.takes_refs:
            return (False,) * len(self.inputs)
        return tuple(spec.ref for spec in self.definition.inputs)

    def describe(self) -> str:
        """Type and name, as messages say it."""
        return f"{self.type} {self.name!r}"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Plan:
    """A sequence of instructions, with what goes in and what comes out.

    Args:
        instructions: The steps, in an order in which they can be done.
        feeds: Names of the values given from outside (for a loop's body: the loop variables).
        fetches: Names of the values handed out; one may be a variable's.
        targets: Names of instructions that run for their effect.
        feed_types: Dtype and shape of each feed; () if nobody says, as in the body of a loop.
    """

    instructions: tuple[Instruction, ...]
    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    feed_types: tuple[tuple[DType, Dims], ...] = ()

    def with_instructions(self, instructions: Sequence[Instruction]) -> Plan:
        """The same plan with other instructions.

        Args:
            instructions: The instructions.
        """
        return replace(self, instructions=tuple(instructions))

    def variables(self) -> dict[str, Instruction]:
        """The variables of the plan and its bodies, by the name of their value."""
        return {i.outputs[0]: i for i in walk(self) if i.is_variable}

    def __str__(self) -> str:
        return "\n".join(_lines(self, ""))


def walk(plan: Plan) -> Iterator[Instruction]:
    """All instructions, those of the bodies included.

    Args:
        plan: A plan.

    Returns:
        An iterator of instructions, each before those of its bodies.
    """
    for instruction in plan.instructions:
        yield instruction
        for body in instruction.bodies:
            yield from walk(body)


def taken_beside(plan: Plan, names: Container[str]) -> set[str]:
    """The values that a plan gives, or that others of its instructions take than those of some names."""
    beside = (i for i in plan.instructions if i.name not in names)
    return {name for i in beside for name in i.free_variables()}.union(plan.fetches)


def producers(plan: Plan) -> dict[str, Instruction]:
    """The instruction that makes each value of the outermost level; nothing makes what is fed."""
    return {output: i for i in plan.instructions for output in i.outputs if output not in plan.feeds}


def needed(plan: Plan, by: Sequence[Instruction]) -> set[str]:
    """The names of the instructions of the outermost level that these need, their own among them."""
    makers = producers(plan)
    by_name = {i.name: i for i in plan.instructions}
    found: set[str] = set()
    todo = list(by)
    while todo:
        i = todo.pop()
        if i.name not in found:
            found.add(i.name)
            todo += [makers[n] for n in i.free_variables() if n in makers]
            todo += [by_name[c] for c in i.control if c in by_name]
    return found


def rename_inputs(i: Instruction, names: Mapping[str, str]) -> Instruction:
    """The instruction with values that it takes under other names, in its bodies as well."""
    if names.keys().isdisjoint(i.free_variables()):
        return i
    bodies = tuple(
        replace(
            body,
            instructions=tuple(rename_inputs(inner, names) for inner in body.instructions),
            fetches=tuple(names.get(f, f) for f in body.fetches),
        )
        for body in i.bodies
    )
    return replace(i, inputs=tuple([names.get(n, n) for n in i.inputs]), bodies=bodies)


def _lines(plan: Plan, indent: str) -> Iterator[str]:
    if plan.feeds:
        yield f"{indent}feed {', '.join(plan.feeds)}"
    for instruction in plan.instructions:
        yield indent + line_of(instruction)
        labels = ("then", "else") if instruction.type == kinds.IF else ("while", "do")
        for label, body in zip(labels, instruction.bodies, strict=False):
            yield f"{indent}  {label}:"
            yield from _lines(body, indent + "    ")
    if plan.fetches or plan.targets:
        yield f"{indent}return {', '.join(plan.fetches + plan.targets)}"


def _literal(value: Any) -> str:
    """A constant as text; nothing if it is long."""
    if value.size > _SHORT:
        return ""
    return np.array2string(value, separator=", ").replace("\n", "")


def line_of(i: Instruction) -> str:
    """One instruction as a line of a printed plan, without its bodies."""
    types = ", ".join(
        f"{d.name}{'' if s is None else '[' + ','.join('?' if n is None else str(n) for n in s) + ']'}"
        for d, s in zip(i.dtypes, i.shapes, strict=False)  # A wrong plan is printed too.
    )
    literal = _literal(i.attrs["value"]) if i.is_constant else ""
    text = f"{i.name} = {i.type}({literal or ', '.join(i.inputs)})"
    if types:
        text += f" : {types}"
    if i.control:
        text += f" after {', '.join(i.control)}"
    return text + (f" @ {i.device}" if i.device else "")

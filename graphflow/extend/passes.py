"""Passes and rewrites of extensions, and the instructions that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Literal, TypeAlias

from graphflow._core.graph.op_def import OpDef, lookup
from graphflow._core.ops import load_all
from graphflow._core.plan import inference, pipeline
from graphflow._core.plan.build import of_definition
from graphflow._core.plan.ir import Instruction, Plan, producers
from graphflow._core.plan.passes import simplify

Point: TypeAlias = Literal["placed", "folded", "merged"]
PlanPass: TypeAlias = Callable[[Plan], Plan]
Rewrite: TypeAlias = Callable[[Instruction, Mapping[str, Instruction]], Instruction | str | None]


@dataclass(frozen=True)
class Registration:
    """What was added to the planning of this process's sessions; a context manager that takes it out at its end."""

    _remove: Callable[[], None]

    def remove(self) -> None:
        """Takes it out again. Plans that were made with it stay as they are. It may be called twice."""
        self._remove()

    def __enter__(self) -> Registration:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def add_pass(function: PlanPass, at: Point = "folded", name: str | None = None) -> Registration:
    """Has every plan that is made from now on in this process go through a pass.

    It is in force where plans are made: in the program with the session, and, for the functions of datasets, on the
    task that reads the dataset. With ConfigProto(verify_plans=True) the plan is checked after it as after graphflow's.

    Args:
        function: A pure function from a plan to a plan: it changes no plan and no instruction, keeps nothing, and gives
            the same for the same plan. Several threads may call it at once.
        at: "placed": each instruction has its device, nothing else was done. "folded": what depends on constants alone
            is a constant; what becomes equal will be merged, and what becomes superfluous dropped. "merged": equal
            instructions are merged, and what is superfluous will be dropped. At one point, passes run in the order in
            which they were added. The plan is put in its order later in any case.
        name: What messages and `watch` functions call it; by default the function's name.

    Returns:
        The registration, which can be removed.

    Raises:
        ValueError: There is no such point, or a pass has this name.
    """
    added = pipeline.AddedPass(function, name or function.__name__, at)
    pipeline.add_pass(added)
    return Registration(lambda: pipeline.remove_pass(added))


def add_rewrite(op_type: str, rule: Rewrite) -> Registration:
    """Has every plan that is made from now on in this process go through a rewrite of single instructions.

    Rewrites are tried together with graphflow's own, behind the point "folded", until none applies.

    Args:
        op_type: Which instructions the rule is asked about.
        rule: A pure function(instruction, makers) that returns another instruction with the same name and outputs, the
            name of a value that equals the result, or None. `makers` has, by the names of the values around, the
            instructions that make them; it lacks what is fed, and what comes from outside of a branch or loop. The rule
            must not change a bit of any result. It need not look at order, devices and variables: what it returns is
            left out if the instruction must not take those values there.

    Returns:
        The registration, which can be removed.

    Raises:
        KeyError: No op type has that name.
    """
    _definition(op_type)
    simplify.add_rule(op_type, rule)
    return Registration(lambda: simplify.remove_rule(op_type, rule))


def in_place_of(
    instruction: Instruction, op_type: str, inputs: Sequence[str], attrs: Mapping[str, Any] | None = None
) -> Instruction:
    """An instruction of another op type that makes the same values under the same names.

    Args:
        instruction: What is replaced: name, outputs with dtypes and shapes, control inputs and device are kept.
        op_type: The new op type.
        inputs: Names of the values that it takes.
        attrs: Its attributes.

    Returns:
        The new instruction.

    Raises:
        KeyError: No op type has that name.
    """
    return replace(
        instruction,
        type=op_type,
        inputs=tuple(inputs),
        attrs=dict(attrs or {}),
        definition=_definition(op_type),
        bodies=(),
    )


def new_instruction(
    plan: Plan,
    name: str,
    op_type: str,
    inputs: Sequence[str],
    attrs: Mapping[str, Any] | None = None,
    *,
    near: Instruction,
) -> Instruction:
    """An instruction that is not there yet, for the same level of the plan as its inputs.

    Args:
        plan: The level that it is for: what it takes is made or fed there. Put it anywhere into `plan.instructions`.
        name: Its name, which no other instruction of the plan may have; a result is named "NAME:0" and so on.
        op_type: Its op type; "Const" has the attributes {"value": array, "dtype": dtype}.
        inputs: Names of the values that it takes.
        attrs: Its attributes, those that name the dtypes of type variables among them.
        near: An instruction whose device it runs on, and whose operation errors name.

    Returns:
        The instruction, with dtypes and shapes as the op's shape rule infers them.

    Raises:
        KeyError: No op type has that name.
        ValueError: Nothing in the plan makes one of the inputs; or what the shape rule raises.
    """
    definition = _definition(op_type)
    makers = producers(plan)
    fed = dict(zip(plan.feeds, plan.feed_types, strict=False))
    given = []
    for value in inputs:
        if value in makers:
            position = makers[value].outputs.index(value)
            given.append(
                inference.given(value, makers[value].dtypes[position], makers[value].shapes[position])
            )
        elif value in fed:
            given.append(inference.given(value, *fed[value]))
        else:
            raise ValueError(
                f"{op_type} {name!r} takes {value!r}, which nothing at this level of the plan makes."
            )
    chosen = dict(attrs or {})
    for spec, tensor in zip(definition.inputs, given, strict=False):
        if spec.variable is not None:
            chosen.setdefault(spec.variable, tensor.dtype)
    op = inference.DescribedOperation(name, definition, chosen, [])
    return of_definition(definition, name, inputs, inference.inferred(op, given), chosen, near)


def _definition(op_type: str) -> OpDef:
    try:
        return lookup(op_type)
    except KeyError:
        load_all()  # Most modules of ops are loaded where they are first used.
        return lookup(op_type)

"""Loops and branches over scalars: they run whole in the scalar machine, without coming back to Python."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from graphflow._core.codegen.cpu.programs.scalar_machine import Label, Register, ScalarProgram
from graphflow._core.codegen.cpu.regions.scalar_text import ScalarTextError
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.nodes import Statements
from graphflow._core.compiler.scalar_texts import scalar_text
from graphflow._core.compiler.values import Value
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan

_TEXTS: Final[Mapping[str, str]] = {"Select": "{1} if {0} else {2}", "SelectV2": "{1} if {0} else {2}"}
_MACHINE_DTYPES: Final = frozenset({"float32", "float64", "int32", "int64", "bool"})


def _control(lowering: Lowering, i: Instruction) -> bool:
    """An If or a While of which every value is a scalar, as one statement of the scalar machine."""
    outputs = [(name, dtype.name) for name, dtype in zip(i.outputs, i.dtypes, strict=True)]
    if any(
        dtype not in _MACHINE_DTYPES or lowering.known.get(name, ((1,), ""))[0] != ()
        for name, dtype in outputs
    ):
        return False
    captured: dict[str, Value] = {}
    for name in dict.fromkeys(i.inputs):
        value = lowering.value(name)
        if value is None or value.shape != () or value.dtype not in _MACHINE_DTYPES:
            return False
        captured[name] = value
    names = list(captured)

    def build(program: ScalarProgram, reads: list[Register]) -> dict[str, Register]:
        scope = dict(zip(names, reads, strict=True))
        _instruction(program, i, scope)
        return {f"out{k}": scope[name] for k, (name, _) in enumerate(outputs)}

    try:
        trial = ScalarProgram()
        build(trial, [trial.variable(value.dtype) for value in captured.values()])
    except (ScalarTextError, KeyError):
        return False
    results = [(f"out{k}", lowering.result(i, k)) for k in range(len(outputs))]
    lowering.add(
        Statements(
            i, list(captured.values()), [v.root for _, v in results], space=(), results=results, build=build
        )
    )
    return True


def _plan(program: ScalarProgram, plan: Plan, scope: dict[str, Register]) -> None:
    for instruction in plan.instructions:
        _instruction(program, instruction, scope)


def _instruction(program: ScalarProgram, i: Instruction, scope: dict[str, Register]) -> None:
    """Adds an instruction's code; ScalarTextError or KeyError if it is not one of scalars."""
    if i.type == kinds.WHILE:
        _while(program, i, scope)
        return
    if i.type == kinds.IF:
        _if(program, i, scope)
        return
    if i.type == kinds.NO_OP:
        return
    if len(i.outputs) != 1 or i.shapes[0] != () or i.stateful and not i.is_constant:
        raise ScalarTextError(f"{i.describe()} is not for the scalar machine")
    if i.is_constant:
        scope[i.outputs[0]] = program.constant(i.attrs["value"].item(), i.dtypes[0].name)
        return
    if i.type in PASS_THROUGH:
        scope[i.outputs[0]] = scope[i.inputs[0]]
        return
    text = _TEXTS.get(i.type) or (None if i.definition is None else i.definition.scalar)
    if not isinstance(text, str) or i.definition is None:
        raise ScalarTextError(f"{i.describe()} has no scalar text")
    places = {spec.name: f"p{k}" for k, spec in enumerate(i.definition.inputs)}
    text = re.sub(r"\{(\d+)\}", r"p\1", text) if i.type in _TEXTS else scalar_text(i, text, places)
    operands = {f"p{k}": scope[name] for k, name in enumerate(i.inputs)}
    scope[i.outputs[0]] = program.evaluate(text, i.dtypes[0].name, operands)


def _while(program: ScalarProgram, i: Instruction, scope: dict[str, Register]) -> None:
    condition, body = i.bodies
    variables = []
    for name, start in zip(body.feeds, i.inputs, strict=False):
        register = program.variable(scope[start].dtype)
        program.assign(register, scope[start])
        variables.append(register)
        scope[name] = register
    top, end = Label(), Label()
    program.place(top)
    _plan(program, condition, scope)
    program.jump(end, scope[condition.fetches[0]], unless=True)
    _plan(program, body, scope)
    following = [scope[name] for name in body.fetches]
    crossing = any(f in variables and f is not v for f, v in zip(following, variables, strict=True))
    if crossing:
        kept = [program.variable(f.dtype) for f in following]
        for target, value in zip(kept, following, strict=True):
            program.assign(target, value)
        following = kept
    for variable, value in zip(variables, following, strict=True):
        if variable is not value:
            program.assign(variable, value)
    program.jump(top)
    program.place(end)
    scope.update(zip(i.outputs, variables, strict=True))


def _if(program: ScalarProgram, i: Instruction, scope: dict[str, Register]) -> None:
    results = [program.variable(dtype.name) for dtype in i.dtypes]
    otherwise, end = Label(), Label()
    program.jump(otherwise, scope[i.inputs[0]], unless=True)
    for number, body in enumerate(i.bodies):
        inner = dict(scope)
        _plan(program, body, inner)
        for result, name in zip(results, body.fetches, strict=True):
            if name:
                program.assign(result, inner[name])
        if number == 0:
            program.jump(end)
            program.place(otherwise)
    program.place(end)
    scope.update(zip(i.outputs, results, strict=True))


LOOP_RULES: Final[dict[str, Rule]] = {"While": _control, "If": _control}

"""Why an instruction of a plan that is compiled stays with NumPy, in words: `Session.explain` and profiles say it."""

from __future__ import annotations

from typing import Final

from graphflow._core.compiler.added_rules import added_rules
from graphflow._core.compiler.cpu.rules import RULES
from graphflow._core.compiler.cpu.without_native import no_native_form
from graphflow._core.compiler.lower import NATIVE_DTYPES, Lowering
from graphflow._core.graph.op_def import is_extension
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction

_LISTS: Final = "object"
"""What a value is noted as that is no array, such as a TensorArray."""


def why_on_numpy(i: Instruction, lowering: Lowering) -> str:
    """Why an instruction that this lowering left to NumPy has no node of its own there, as a part of a sentence.

    The first of these that holds: its op type has no native form; a value that it takes or gives does not lie in
    native memory; its rule does not take these shapes and attributes.
    """
    if i.bodies:
        return (
            "not all of the loop is native" if i.type == kinds.WHILE else "not all of its branches is native"
        )
    reason = no_native_form(i.type)
    if reason:
        return reason
    definition = i.definition
    ruled = i.type in RULES or i.type in added_rules("cpu")
    if not ruled and (definition is None or definition.scalar is None) and is_extension(i.type):
        return "no native form: its extension has a NumPy kernel alone"
    for name in i.inputs:
        if name not in lowering.values and name not in lowering.constants:
            return f"it takes {_unsuitable(name, lowering)}"
    for name in i.outputs:
        if name not in lowering.values or name in lowering.objects:
            return f"it gives {_unsuitable(name, lowering)}"
    return "its native form does not take these shapes and attributes"


def _unsuitable(name: str, lowering: Lowering) -> str:
    """A value that does not lie in native memory, and why it does not."""
    if name not in lowering.known:
        return f"{name!r}, whose shape is not known before the run"
    shape, dtype = lowering.known[name]
    if dtype == _LISTS:
        return f"{name!r}, which is no array of numbers"
    if dtype not in NATIVE_DTYPES:
        return f"{name!r} of dtype {dtype}, for which there is no native code"
    if 0 in shape:
        return f"{name!r}, which has no elements"
    return f"{name!r}, whose shape follows from values"

"""Makes instructions, a function for each kind: no other file says an Instruction's fields one by one.

The names of the kinds that no op definition has, those of constructs and of transfers between devices, stand in
`kinds`. A changed copy of an instruction is made by `dataclasses.replace`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef, Signature, lookup
from graphflow._core.graph.shapes import Dims
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import Instruction, Origin, Plan

Value = tuple[str, DType, Dims]
"""The name of a value, its dtype and what is known of its shape."""


def origin_of(op: Operation) -> Origin:
    """What a plan keeps of an operation."""
    return Origin(op.name, op.type, op.line)


def of_operation(
    op: Operation, inputs: Sequence[str], attrs: Mapping[str, Any], control: Sequence[str]
) -> Instruction:
    """What runs an operation of a graph, given the names that its inputs have in the plan, and its attributes there."""
    outputs = op.outputs
    return Instruction(
        name=op.name,
        type=op.type,
        inputs=tuple(inputs),
        outputs=tuple([t.name for t in outputs]),
        dtypes=tuple([t.dtype for t in outputs]),
        shapes=tuple([t.dims for t in outputs]),
        attrs=attrs,
        control=tuple(control),
        device=op.device,
        index=op._id,
        definition=op.op_def,
        origin=origin_of(op),
    )


def of_definition(
    definition: OpDef,
    name: str,
    inputs: Sequence[str],
    results: Signature,
    attrs: Mapping[str, Any],
    near: Instruction,
) -> Instruction:
    """What an op definition says, without an operation of the graph, on the device of another instruction."""
    return Instruction(
        name=name,
        type=definition.name,
        inputs=tuple(inputs),
        **_results([(f"{name}:{position}", *result) for position, result in enumerate(results)]),
        attrs=attrs,
        device=near.device,
        index=near.index,
        definition=definition,
        origin=near.origin,
    )


def construct(
    kind: str,
    name: str,
    bodies: tuple[Plan, ...],
    inputs: Sequence[str],
    outputs: Sequence[Tensor],
    *,
    control: Sequence[str],
    device: str,
    index: int,
    origin: Origin,
) -> Instruction:
    """An "If" or a "While": `bodies` are its branches, or its condition and body; `origin` is one of its operations."""
    return Instruction(
        name=name,
        type=kind,
        inputs=tuple(inputs),
        **_results(_values(outputs)),
        control=tuple(control),
        device=device,
        index=index,
        origin=origin,
        bodies=bodies,
    )


def constants(
    i: Instruction, values: Sequence[np.ndarray[Any, Any]], control: Sequence[str] = ()
) -> list[Instruction]:
    """Constants in the place of an instruction, one for each of its results; `values` are the arrays of these."""
    return [
        Instruction(
            name=i.name if position == 0 else f"{i.name}/{position}",
            type=kinds.CONST,
            inputs=(),
            **_results([(output, dtype, value.shape)]),
            attrs={"value": value, "dtype": dtype},
            control=tuple(control),
            device=i.device,
            index=i.index,
            origin=i.origin,
        )
        for position, (output, dtype, value) in enumerate(zip(i.outputs, i.dtypes, values, strict=True))
    ]


def identity_for(i: Instruction, position: int, value: str) -> Instruction:
    """What gives a value the name of one of an instruction's results."""
    dtype = i.dtypes[position]
    return Instruction(
        name=f"{i.name}/{position}",
        type=kinds.IDENTITY,
        inputs=(value,),
        **_results([(i.outputs[position], dtype, i.shapes[position])]),
        attrs={"T": dtype},
        device=i.device,
        index=i.index,
        definition=lookup(kinds.IDENTITY),
        origin=i.origin,
    )


def send(
    maker: Instruction, name: str, value: str | None, attrs: Mapping[str, Any], control: Sequence[str]
) -> Instruction:
    """What sends a value from the device of its maker; None is a signal that the instruction is through."""
    return Instruction(
        name=f"{name}/send",
        type=kinds.SEND,
        inputs=() if value is None else (value,),
        **_results([]),
        attrs=attrs,
        control=tuple(control),
        device=maker.device,
        index=maker.index,
        origin=maker.origin,
    )


def receive(
    maker: Instruction, name: str, device: str, dtype: DType, dims: Dims, attrs: Mapping[str, Any]
) -> Instruction:
    """What receives on a device what `send` sends under the same key."""
    return Instruction(
        name=f"{name}/recv",
        type=kinds.RECEIVE,
        inputs=(),
        **_results([(f"{name}/recv:0", dtype, dims)]),
        attrs=attrs,
        device=device,
        index=maker.index,
        origin=maker.origin,
    )


def region(
    kind: str,
    name: str,
    inputs: Sequence[str],
    outputs: Sequence[Value],
    attrs: Mapping[str, Any],
    work: Sequence[Instruction],
) -> Instruction:
    """One instruction for several of one device, the last of which errors name."""
    return Instruction(
        name=name,
        type=kind,
        inputs=tuple(inputs),
        **_results(outputs),
        attrs=attrs,
        device=work[0].device,
        index=work[0].index,
        origin=work[-1].origin,
    )


def _values(tensors: Sequence[Tensor]) -> list[Value]:
    return [(t.name, t.dtype, t.dims) for t in tensors]


def _results(values: Sequence[Value]) -> dict[str, Any]:
    return {
        "outputs": tuple([name for name, _, _ in values]),
        "dtypes": tuple([dtype for _, dtype, _ in values]),
        "shapes": tuple([dims for _, _, dims in values]),
    }

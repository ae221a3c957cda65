"""A plan for known shapes: what depends on shapes alone becomes constant, and what nobody needs any more goes."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.graph.op_def import OpDef
from graphflow._core.ops.math.segments import DYNAMIC_STITCH
from graphflow._core.plan import build, kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, walk
from graphflow._core.plan.pass_context import PassContext
from graphflow._core.plan.passes.fold import fold
from graphflow._core.plan.pipeline import mark_used
from graphflow._core.resources.store import ResourceStore

OF_SHAPES: Final = frozenset({"Shape", "ShapeN", "Size", "Rank"})
# fmt: off
_SORTED_SEGMENTS: Final = frozenset(f"Segment{kind}" for kind in ("Max", "Mean", "Min", "Prod", "Sum"))
_DATA: Final = frozenset({
    "a", "b", "b_indices", "backprop_val_grad", "box_ind", "condition", "constant_values", "data",
    "default_value", "dense", "diagonal", "end_token", "features", "grad", "hypothesis_indices",
    "hypothesis_values", "indices", "input", "input_indices", "input_values", "inputs", "keys", "labels",
    "labels_indices", "labels_values", "like", "logits", "max_sequence_lengths", "maxval", "minval",
    "num_lower", "num_upper", "off_value", "on_value", "output_indices", "params", "parent_ids",
    "predictions", "reduced", "ref", "segment_ids", "seq_lengths", "sequence_length", "shift",
    "sorted_inputs", "sp_indices", "sp_values", "sparse_indices", "sparse_values", "step_ids",
    "sum_indices", "t", "targets", "tensor", "true_classes", "truth_indices", "truth_values", "updates",
    "value", "values", "var", "x", "y",
})
# fmt: on
"""Names of inputs on whose values no shape depends, also if they are integers."""

Known = dict[str, tuple[tuple[int, ...], str]]
"""Shape and NumPy dtype name of every value, as a run had them."""


def static_type(i: Instruction, position: int) -> tuple[tuple[int, ...], str] | None:
    """The shape and dtype name that the graph says of a result; None if the shape is not known whole."""
    dims = i.shapes[position]
    if dims is None or None in dims:
        return None
    return tuple([int(n) for n in dims if n is not None]), i.dtypes[position].name


def apart_from_feeds(plan: Plan, known: Known) -> tuple[Plan, Known]:
    """The plan in which what is fed has its name for itself, if the operation that would make it runs as well."""
    feeds = set(plan.feeds)
    instructions: list[Instruction] = []
    known = dict(known)
    for i in plan.instructions:
        if feeds.isdisjoint(i.outputs):
            instructions.append(i)
        elif not i.is_variable and not i.is_constant:
            outputs = tuple(f"{o} as computed" if o in feeds else o for o in i.outputs)
            for position, (own, name) in enumerate(zip(outputs, i.outputs, strict=True)):
                if own != name:
                    known[own] = static_type(i, position) or known[name]
            instructions.append(replace(i, outputs=outputs))
    return plan.with_instructions(instructions), known


def complete(plan: Plan, known: Known, store: ResourceStore) -> None:
    """Adds what a run did not observe: variables, constants, and results that are another name of a value."""
    for i in plan.instructions:
        if i.is_variable:
            value = store.cell(i).value
            if value is not None:
                known.setdefault(i.outputs[0], (value.shape, value.dtype.name))
        elif i.is_constant:
            known[i.outputs[0]] = (i.attrs["value"].shape, i.attrs["value"].dtype.name)
        elif i.type in PASS_THROUGH and i.inputs[0] in known:
            known.setdefault(i.outputs[0], known[i.inputs[0]])


def specialise(plan: Plan, known: Known, ctx: PassContext) -> Plan:
    """The plan for these shapes."""
    instructions: list[Instruction] = []
    fixed = _of_fixed_shape(plan, known)
    for i in plan.instructions:
        if i.type in OF_SHAPES and fixed.issuperset(i.inputs):
            instructions += _constants(i, known)
        else:
            instructions.append(i)
    folded = fold(plan.with_instructions(instructions), ctx, controlled=True)
    return mark_used(_without_dead(folded), frozenset())


def may_reshape(plan: Plan, known: Known) -> bool:
    """Whether a run for the known shapes may give a variable another shape."""
    free = [i for i in walk(plan) if i.type == kinds.ASSIGN and not i.attrs.get("validate_shape", True)]
    if not free:
        return False
    fixed = _of_fixed_shape(plan, known)
    return any(
        i.inputs[1] not in fixed or i.inputs[0] not in known or known[i.inputs[1]][0] != known[i.inputs[0]][0]
        for i in free
    )


def _of_fixed_shape(plan: Plan, known: Known) -> set[str]:
    """The values that have the shape that is known of them whenever the feeds have theirs."""
    fixed = {name for name in plan.feeds if name in known}
    settled: set[str] = set()
    """Values that follow from shapes alone."""
    for i in plan.instructions:
        plain = i.definition is not None and not i.bodies
        of_shapes = settled.issuperset(i.inputs) or (i.type in OF_SHAPES and fixed.issuperset(i.inputs))
        if i.is_constant or (plain and not i.stateful and of_shapes):
            settled.update(i.outputs)
        for position, output in enumerate(i.outputs):
            if output in known and (output in settled or has_fixed_shape(i, position, known, fixed, settled)):
                fixed.add(output)
    return fixed


def has_fixed_shape(
    i: Instruction, position: int, known: Known, fixed: Container[str], settled: Container[str]
) -> bool:
    """Whether a result has the same shape whenever the feeds have theirs.

    fixed: the values before it of which that is so; settled: those that are the same altogether then.
    """
    dims, definition = i.shapes[position], i.definition
    if dims is not None and None not in dims:
        return True
    if definition is None or i.bodies or i.is_variable:
        return False
    if not all(name in fixed or name in settled for name in i.inputs):
        return False
    if definition.dynamic_shape:
        sizing = _sizing_inputs(i)
        return bool(sizing) and all(name in settled for name in sizing)
    if definition.scalar is not None:
        return True
    return all(
        name in settled or is_data or not _may_be_shape(i, *known[name])
        for name, is_data in zip(i.inputs, _are_data(definition, len(i.inputs)), strict=True)
    )


def _are_data(definition: OpDef, count: int) -> Sequence[bool]:
    """For each of so many inputs of an op whether no shape depends on its value."""
    specs = definition.inputs
    lists = [position for position, spec in enumerate(specs) if spec.variadic]
    if len(lists) == 1:
        at = lists[0]
        specs = (*specs[:at], *[specs[at]] * (count - len(specs) + 1), *specs[at + 1 :])
    if len(specs) != count:  # Of several lists; nobody says here where one ends.
        return [_DATA.issuperset(spec.name for spec in specs)] * count
    return [spec.name in _DATA for spec in specs]


def _sizing_inputs(i: Instruction) -> Sequence[str]:
    """The inputs whose values alone say how many rows the result has, beside the shapes of the others; else none."""
    if i.type in _SORTED_SEGMENTS:
        return i.inputs[1:]
    return i.inputs[: len(i.inputs) // 2] if i.definition is DYNAMIC_STITCH else ()


def _may_be_shape(i: Instruction, shape: tuple[int, ...], dtype: str) -> bool:
    """Whether an input of this shape may be sizes, axes, paddings or the like, on which shapes of results depend."""
    return len(shape) <= 2 and (dtype in ("int32", "int64") or i.type == "Range")


def _constants(i: Instruction, known: Known) -> list[Instruction]:
    values = []
    for name, dtype in zip(i.inputs, i.dtypes, strict=False):
        shape = known[name][0]
        number: Any = shape
        if i.type == "Size":
            number = int(np.prod(shape, dtype=np.int64))
        elif i.type == "Rank":
            number = len(shape)
        values.append(np.array(number, dtype.as_numpy_dtype))
    return build.constants(i, values)


def _without_dead(plan: Plan) -> Plan:
    """The plan without pure instructions whose results nobody takes, and that nothing runs or waits for.

    What is waited for may fail, and what waits for it comes after all that it comes after itself.
    """
    needed = {*plan.fetches, *plan.targets}
    kept: list[Instruction] = []
    for i in reversed(plan.instructions):
        effect = not i.is_variable and i.stateful and not i.is_constant
        if effect or i.name in needed or any(o in needed for o in i.outputs):
            kept.append(i)
            for inner in walk(Plan((i,))):
                needed.update(inner.inputs, inner.control)
            for body in i.bodies:
                needed.update(body.fetches)
    return plan.with_instructions(list(reversed(kept)))

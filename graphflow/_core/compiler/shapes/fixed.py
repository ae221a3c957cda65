"""Whether the shape of a result is the same whenever the feeds of a plan have theirs, asked of one instruction.

So what is compiled for the shapes of one run holds for others. loops.py asks it of a whole plan.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from graphflow._core.graph.op_def import OpDef
from graphflow._core.ops.math.segments import DYNAMIC_STITCH
from graphflow._core.plan.ir import Instruction

OF_SHAPES: Final = frozenset({"Shape", "ShapeN", "Size", "Rank"})
# fmt: off
_SORTED_SEGMENTS: Final = frozenset(f"Segment{kind}" for kind in ("Max", "Mean", "Min", "Prod", "Sum"))
_DATA: Final = frozenset({
    "a", "a_indices", "a_values", "b", "b_indices", "b_values", "backprop_val_grad", "box_ind", "condition",
    "constant_values", "data",
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


def may_size(i: Instruction) -> Sequence[bool]:
    """For each input whether the shape of a result may depend on its value, as far as the graph says."""
    unknown = any(dims is None or None in dims for dims in i.shapes)
    definition = i.definition
    if (
        definition is None
        or i.bodies
        or not unknown
        or definition.scalar is not None
        or definition.dynamic_shape
    ):
        return [False] * len(i.inputs)
    return [not is_data for is_data in _are_data(definition, len(i.inputs))]


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

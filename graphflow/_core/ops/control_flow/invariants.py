"""What stays the same in a loop: the tensors that a variable is made of, and the shapes that they keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import IndexedSlices, SparseTensor
from graphflow._core.ops.core import convert_to_tensor


def components(value: Any) -> list[Any]:
    """The tensors that a leaf is made of."""
    if isinstance(value, IndexedSlices):
        return [value.values, value.indices] + ([] if value.dense_shape is None else [value.dense_shape])
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if hasattr(value, "flow") and hasattr(value, "with_flow"):
        return [value.flow]
    return [value]


def recomposed(value: Any, tensors: Sequence[Tensor]) -> Any:
    """A leaf of the same kind as `value`, of other tensors."""
    if isinstance(value, IndexedSlices | SparseTensor):
        return type(value)(*tensors)
    if hasattr(value, "flow") and hasattr(value, "with_flow"):
        return value.with_flow(tensors[0])
    return tensors[0]


def kept_dims(leaf: Any, dims: list[shapes.Dims]) -> list[shapes.Dims]:
    """What stays of the shapes of a loop variable's parts: a SparseTensor may have more values later."""
    if not isinstance(leaf, SparseTensor):
        return dims
    rank = None if dims[2] is None else dims[2][0]
    return [(None, rank), (None,), (rank,)]


def sparse_dims(parts: Sequence[Tensor], rank: shapes.Dims) -> list[shapes.Dims]:
    """The shapes of a SparseTensor's parts of which an invariant says the rank, as the shape of its dense_shape."""
    known = (None,) if rank is None else rank
    if len(known) != 1 or not less_specific(known, parts[2].dims):
        raise ValueError(
            f"The shape invariant {shapes.text(rank)} specified for {parts[0].name} is not compatible with the initial "
            f"shape of the loop variable: its dense_shape has shape {shapes.text(parts[2].dims)}."
        )
    return [(None, known[0]), (None,), known]


def less_specific(general: shapes.Dims, special: shapes.Dims) -> bool:
    """Whether every shape that fits `special` fits `general`."""
    if general is None:
        return True
    if special is None or len(general) != len(special):
        return False
    return all(g is None or g == s for g, s in zip(general, special, strict=True))


def _shape_said(spec: Any, value: Any) -> Any:
    """The shape that a spec such as gf.TensorSpec says; TypeError if a loop variable is of another kind."""
    is_tensor = not isinstance(value, SparseTensor | IndexedSlices) and not hasattr(value, "flow")
    found = convert_to_tensor(value) if is_tensor else value
    fits = isinstance(found, spec.value_type) and getattr(found, "dtype", spec.dtype) is spec.dtype
    if not fits:
        raise TypeError(f"The shape invariant {spec!r} is of another kind than the loop variable {value!r}.")
    return shapes.TensorShape([spec.shape.ndims]) if isinstance(value, SparseTensor) else spec.shape


class _ShapeLeaf:
    """A shape that nest does not take apart."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


def shapes_as_leaves(invariants: Any, structure: Any) -> Any:
    """Invariants in the structure of the loop variables, each an object that nest does not take apart."""
    if not nest.is_nested(structure):
        return _ShapeLeaf(
            invariants if not hasattr(invariants, "value_type") else _shape_said(invariants, structure)
        )
    if isinstance(structure, Mapping):
        return {key: shapes_as_leaves(invariants[key], structure[key]) for key in structure}
    if len(invariants) != len(structure):
        raise ValueError(
            f"shape_invariants {invariants!r} do not have the structure of the loop variables {structure!r}."
        )
    return [shapes_as_leaves(i, s) for i, s in zip(invariants, structure, strict=True)]

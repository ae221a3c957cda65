"""Python indexing of tensors: what stands between the brackets becomes one StridedSlice, or a boolean mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.compositions import boolean_mask
from graphflow._core.ops.array.slicing import MASKS, STRIDED_SLICE
from graphflow._core.ops.core import apply, constant, op_scope, pack
from graphflow._core.ops.math import casting

_REFUSED = (
    "Only integers, slices (`:`), ellipsis (`...`), newaxis (`None`) and scalar int32/int64 tensors "
    "are valid indices, "
    "got {!r}"
)


class _Spec:
    """The entries and masks that a Python index is turned into."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks = dict.fromkeys(MASKS, 0)

    def add(self, item: Any) -> None:
        bit = 1 << len(self.begin)
        if isinstance(item, slice):
            parts = [_index(p) for p in (item.start, item.stop, item.step)]
            self._append(*(d if p is None else p for p, d in zip(parts, (0, 0, 1), strict=True)))
            self.masks["begin_mask"] |= bit if parts[0] is None else 0
            self.masks["end_mask"] |= bit if parts[1] is None else 0
        elif item is Ellipsis:
            self._append(0, 0, 1)
            self.masks["ellipsis_mask"] |= bit
        elif item is None:
            self._append(0, 0, 1)
            self.masks["new_axis_mask"] |= bit
        else:
            place = _index(item)
            self._append(place, place + 1, 1)
            self.masks["shrink_axis_mask"] |= bit

    def _append(self, begin: Any, end: Any, stride: Any) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)


def _index(item: Any) -> Any:
    """An entry of an index as an int or a scalar integer tensor; TypeError for anything else."""
    if item is None or isinstance(item, int) and not isinstance(item, bool):
        return item
    if (
        isinstance(item, np.integer)
        or isinstance(item, np.ndarray)
        and item.ndim == 0
        and item.dtype.kind in "iu"
    ):
        return int(item)
    if isinstance(item, shapes.Dimension):
        return None if item.value is None else item.value
    if isinstance(item, Tensor):
        if item.dtype in (dtypes.int32, dtypes.int64) and item.dims in ((), None):
            return item
        raise TypeError(_REFUSED.format(item))
    convert = getattr(item, "as_graph_tensor", None)
    if convert is not None and getattr(item, "dtype", None) in (dtypes.int32, dtypes.int64):
        return convert(None, None)
    raise TypeError(_REFUSED.format(item))


def getitem(tensor: Any, index: Any, var: Any = None) -> Tensor:
    """tensor[index] with Python's meaning: ints, slices, Ellipsis, None, scalar integer tensors; a boolean tensor
    selects as gf.boolean_mask does.

    TypeError for anything else, ValueError if an index is known to be out of range.
    """
    mask_like = isinstance(index, Tensor | np.ndarray) or hasattr(index, "as_graph_tensor")
    if mask_like and getattr(index, "dtype", None) is not None and dtypes.as_dtype(index.dtype).is_bool:
        return boolean_mask(tensor, index)
    spec = _Spec(tensor)
    for item in index if isinstance(index, list | tuple) else [index]:
        spec.add(item)
    with op_scope(None, "strided_slice", [tensor, *spec.begin]) as scope:
        vectors = _vectors([spec.begin, spec.end, spec.strides])
        return apply(STRIDED_SLICE, (tensor, *vectors), spec.masks, scope).outputs[0]


def _vectors(parts: Sequence[list[Any]]) -> list[Tensor]:
    """Each list as an integer vector, all of one dtype."""
    tensors = [v for part in parts for v in part if isinstance(v, Tensor)]
    ints = [v for part in parts for v in part if not isinstance(v, Tensor)]
    wide = any(t.dtype is dtypes.int64 for t in tensors) or any(not -(2**31) <= v < 2**31 for v in ints)
    kind = dtypes.int64 if wide else dtypes.int32
    result: list[Tensor] = []
    for part in parts:
        if not any(isinstance(v, Tensor) for v in part):
            result.append(constant(np.array(part, kind.as_numpy_dtype), name="stack"))
            continue
        result.append(pack([_of_type(v, kind) for v in part], name="stack"))
    return result


def _of_type(value: Any, kind: dtypes.DType) -> Any:
    if not isinstance(value, Tensor):
        return constant(value, kind)
    if value.dtype is kind:
        return value
    return casting.cast(value, kind)

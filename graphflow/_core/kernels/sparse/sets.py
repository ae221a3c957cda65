"""NumPy kernels of sets in the last axis of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, Final

import numpy as np

from graphflow._core.kernels.array.array import invalid
from graphflow._core.kernels.registry import Kernel, Node, kernel

Sets = tuple[tuple[int, ...], dict[tuple[int, ...], set[Any]]]
"""The shape without the last axis, and the sets that are not empty by where they are."""

_OPERATIONS: Final[Mapping[str, Callable[[set[Any], set[Any]], set[Any]]]] = {
    "a-b": lambda a, b: a - b,
    "b-a": lambda a, b: b - a,
    "intersection": lambda a, b: a & b,
    "union": lambda a, b: a | b,
}


def _check(indices: Any, shape: Any) -> None:
    """InvalidArgumentError if indices are out of bounds, not in order, or repeated."""
    outside = ((indices < 0) | (indices >= shape)).any(1)
    for i in np.flatnonzero(outside)[:1]:
        raise invalid(
            f"indices[{i}] = {indices[i].tolist()} is out of bounds: need 0 <= index < {shape.tolist()}"
        )
    rows = [tuple(row) for row in indices.tolist()]
    for i, (before, row) in enumerate(pairwise(rows), 1):
        if row <= before:
            what = "repeated" if row == before else "out of order"
            raise invalid(f"indices[{i}] = {list(row)} is {what}")


def _of_sparse(indices: Any, values: Any, shape: Any, validate: bool) -> Sets:
    if len(shape) < 2:
        raise invalid(f"Sets are in the last of at least two axes, but the shape is {shape.tolist()}.")
    if validate:
        _check(indices, shape)
    sets: dict[tuple[int, ...], set[Any]] = {}
    for place, value in zip(indices[:, :-1].tolist(), values.tolist(), strict=True):
        sets.setdefault(tuple(place), set()).add(value)
    return tuple(shape[:-1].tolist()), sets


def _of_dense(values: Any) -> Sets:
    if values.ndim < 2:
        raise invalid(f"Sets are in the last of at least two axes, but the shape is {list(values.shape)}.")
    group = values.shape[:-1]
    return group, {place: set(values[place].tolist()) for place in np.ndindex(group)}


@kernel("SetSize")
def _size(node: Node) -> Kernel:
    validate = bool(node.attrs.get("validate_indices", True))

    def run(indices: Any, values: Any, shape: Any) -> Any:
        group, sets = _of_sparse(indices, values, shape, validate)
        result = np.zeros(group, np.int32)
        for place, members in sets.items():
            result[place] = len(members)
        return result

    return run


def _operation(node: Node, read: Callable[[tuple[Any, ...], bool], tuple[Sets, Sets]]) -> Kernel:
    name = node.attrs["set_operation"]
    name = name.decode() if isinstance(name, bytes) else name
    combine, validate = _OPERATIONS[name], bool(node.attrs.get("validate_indices", True))

    def run(*inputs: Any) -> Any:
        (group, first), (other, second) = read(inputs, validate)
        if group != other:
            raise invalid(f"Mismatched group shapes of sets: {list(group)} vs {list(other)}.")
        dtype = inputs[1 if len(inputs) == 6 else 0].dtype
        none: set[Any] = set()
        indices, values, largest = [], [], 0
        for place in sorted(first.keys() | second.keys()):
            members = sorted(combine(first.get(place, none), second.get(place, none)))
            indices += [(*place, i) for i in range(len(members))]
            values += members
            largest = max(largest, len(members))
        return (
            np.array(indices, np.int64).reshape(len(values), len(group) + 1),
            np.array(values, dtype),
            np.array((*group, largest), np.int64),
        )

    return run


@kernel("DenseToDenseSetOperation")
def _dense_to_dense(node: Node) -> Kernel:
    return _operation(node, lambda inputs, validate: (_of_dense(inputs[0]), _of_dense(inputs[1])))


@kernel("DenseToSparseSetOperation")
def _dense_to_sparse(node: Node) -> Kernel:
    return _operation(
        node,
        lambda inputs, validate: (
            _of_dense(inputs[0]),
            _of_sparse(inputs[1], inputs[2], inputs[3], validate),
        ),
    )


@kernel("SparseToSparseSetOperation")
def _sparse_to_sparse(node: Node) -> Kernel:
    return _operation(
        node,
        lambda inputs, validate: (
            _of_sparse(inputs[0], inputs[1], inputs[2], validate),
            _of_sparse(inputs[3], inputs[4], inputs[5], validate),
        ),
    )

"""NumPy kernels of the ops on variables. Each gets the variable's cell, which does a change whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.kernels.array.indexing import (
    check_coordinates,
    check_not_empty,
    check_range,
    combine_rows,
)
from graphflow._core.kernels.array.slicing import indexer
from graphflow._core.kernels.registry import Kernel, Node, kernel


def _snapshot(node: Node, cell: Any) -> Any:
    """The new value, for an op whose result is used: a copy, since the variable may change again in the same run."""
    if not node.used or node.used[0]:
        return cell.get().copy()
    return None


@kernel("Assign")
def _assign(node: Node) -> Kernel:
    validate = bool(node.attrs.get("validate_shape", True))

    def run(cell: Any, value: Any) -> Any:
        cell.assign(value, validate)
        return _snapshot(node, cell)

    return run


def _in_place(function: Callable[..., Any]) -> Callable[[Node], Kernel]:
    def factory(node: Node) -> Kernel:
        def run(cell: Any, value: Any) -> Any:
            if np.shape(value) != cell.get().shape:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"a variable of shape {cell.get().shape} cannot be changed by a value of shape {np.shape(value)}.",
                )
            cell.update(lambda old, out: function(old, value, out=out))
            return _snapshot(node, cell)

        return run

    return factory


kernel("AssignAdd")(_in_place(np.add))
kernel("AssignSub")(_in_place(np.subtract))
kernel("IsVariableInitialized")(lambda node: lambda cell: np.bool_(cell.value is not None))


def _apart(updates: Any, array: Any) -> Any:
    """The updates, copied if they are the variable itself, which changes while they are read."""
    return np.array(updates) if np.may_share_memory(updates, array) else updates


def _scatter(change: Callable[[Any, Any, Any], None]) -> Callable[[Node], Kernel]:
    def factory(node: Node) -> Kernel:
        def run(cell: Any, indices: Any, updates: Any) -> Any:
            def apply(array: Any) -> None:
                check_range(indices, array.shape[0], "indices")
                change(array, indices, _apart(updates, array))

            cell.modify(apply)
            return _snapshot(node, cell)

        return run

    return factory


def _set_rows(array: Any, indices: Any, updates: Any) -> None:
    array[indices] = updates


def _rows_for(array: Any, indices: Any, updates: Any) -> Any:
    """A row for each index; one that is given for all is repeated."""
    return np.broadcast_to(updates, indices.shape + array.shape[1:]).reshape((indices.size, *array.shape[1:]))


def _combined(ufunc: Any) -> Callable[[Any, Any, Any], None]:
    """Changes rows in the order of the indices, whatever repeats."""

    def change(array: Any, indices: Any, updates: Any) -> None:
        combine_rows(ufunc, array, indices.reshape(-1), _rows_for(array, indices, updates))

    return change


kernel("ScatterUpdate")(_scatter(_set_rows))
kernel("ScatterAdd")(_scatter(_combined(np.add)))
kernel("ScatterSub")(_scatter(_combined(np.subtract)))
kernel("ScatterMul")(_scatter(_combined(np.multiply)))


def _divide_rows(array: Any, indices: Any, updates: Any) -> None:
    if array.dtype.kind in "iu":
        if np.any(np.asarray(updates) == 0):
            raise errors.InvalidArgumentError(None, None, "Integer division by zero")
        _combined(np.floor_divide)(array, indices, updates)
    else:
        _combined(np.divide)(array, indices, updates)


kernel("ScatterDiv")(_scatter(_divide_rows))
kernel("ScatterMin")(_scatter(_combined(np.minimum)))
kernel("ScatterMax")(_scatter(_combined(np.maximum)))


def _columns(array: Any, indices: Any) -> tuple[Any, ...]:
    check_coordinates(indices, array.shape)
    return tuple(np.moveaxis(indices, -1, 0))


def _scatter_nd(change: Callable[[Any, Any, Any], None]) -> Callable[[Node], Kernel]:
    def factory(node: Node) -> Kernel:
        def run(cell: Any, indices: Any, updates: Any) -> Any:
            check_not_empty(indices, updates, cell.get().shape)
            cell.modify(lambda array: change(array, _columns(array, indices), _apart(updates, array)))
            return _snapshot(node, cell)

        return run

    return factory


kernel("ScatterNdUpdate")(_scatter_nd(_set_rows))
kernel("ScatterNdAdd")(_scatter_nd(np.add.at))
kernel("ScatterNdSub")(_scatter_nd(np.subtract.at))


@kernel("StridedSliceAssign")
def _slice_assign(node: Node) -> Kernel:
    index = indexer(node)

    def run(cell: Any, begin: Any, end: Any, strides: Any, value: Any) -> Any:
        place = index(begin, end, strides)
        try:
            shape = cell.get()[place].shape
        except IndexError as error:
            raise errors.InvalidArgumentError(
                None, None, f"slice index {place} out of bounds of shape {cell.get().shape}: {error}"
            ) from None
        try:
            np.broadcast_to(value, shape)
        except ValueError:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"a value of shape {np.shape(value)} cannot be assigned to a part of shape {shape}.",
            ) from None

        def change(array: Any) -> None:
            array[place] = _apart(value, array)

        cell.modify(change)
        return _snapshot(node, cell)

    return run


@kernel("CountUpTo")
def _count_up_to(node: Node) -> Kernel:
    limit = node.attrs["limit"]

    def again(cell: Any) -> Any:
        """What the counting gave, which an earlier attempt of the run has done (plan/again.py)."""
        return (cell.get() - 1)[()]

    def run(cell: Any) -> Any:
        before: list[Any] = []

        def count(old: Any, out: Any) -> None:
            if old >= limit:
                raise errors.OutOfRangeError(None, None, f"Reached limit of {limit}")
            before.append(old[()])
            np.add(old, 1, out=out)

        cell.update(count)
        return before[0]

    return again if node.attrs.get("again") else run

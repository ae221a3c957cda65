"""The kernels of TensorArrays: they use the lists of lists.py.

A list is made by its op, in each run anew, and travels as the value of its handle; its gradients hang on it. The
kernels keep the arrays they are given: they are registered as views, so that no later write of a variable changes
what was written.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.graph import shapes
from graphflow._core.kernels.control_flow.lists import ArrayList, wrong
from graphflow._core.kernels.registry import Kernel, Node, kernel

_FLOW = np.float32(0.0)


@kernel("TensorArrayV3")
def _create(node: Node) -> Kernel:
    dtype, dims = node.attrs["dtype"], shapes.as_dims(node.attrs["element_shape"])
    options = {
        "dynamic": node.attrs["dynamic_size"],
        "clear": node.attrs["clear_after_read"],
        "same_shape": node.attrs["identical_element_shapes"],
    }
    return lambda size: (ArrayList(dtype, int(size), dims, **options), _FLOW)


@kernel("TensorArrayGradV3")
def _gradient(node: Node) -> Kernel:
    source = node.attrs["source"]
    return lambda array, flow: (array.gradient(source), _FLOW)


@kernel("TensorArrayWriteV3", view=True)
def _write(node: Node) -> Kernel:
    def write(array: ArrayList, index: Any, value: Any, flow: Any) -> Any:
        array.write(index, value)
        return _FLOW

    return write


@kernel("TensorArrayReadV3", view=True)
def _read(node: Node) -> Kernel:
    def read(array: ArrayList, index: Any, flow: Any) -> Any:
        value = array.read(index)
        # A view, so that a fetched element is copied: the list may hold it still.
        return value[...] if value.ndim else value

    return read


@kernel("TensorArrayGatherV3")
def _gather(node: Node) -> Kernel:
    dims = shapes.as_dims(node.attrs["element_shape"])

    def gather(array: ArrayList, indices: Any, flow: Any) -> Any:
        if np.ndim(indices) != 1:
            raise wrong(f"Expected a vector of indices, got shape {list(np.shape(indices))}.")
        return array.stack(indices.tolist(), dims)

    return gather


@kernel("TensorArrayScatterV3", view=True)
def _scatter(node: Node) -> Kernel:
    def scatter(array: ArrayList, indices: Any, value: Any, flow: Any) -> Any:
        if np.ndim(indices) != 1 or np.ndim(value) == 0 or len(indices) != len(value):
            raise wrong(
                f"Expected as many indices as rows: the indices have shape {list(np.shape(indices))}, the value "
                f"{list(np.shape(value))}."
            )
        array.scatter(indices, value)
        return _FLOW

    return scatter


@kernel("TensorArrayConcatV3")
def _concat(node: Node) -> Kernel:
    rest = shapes.as_dims(node.attrs["element_shape_except0"])

    def concat(array: ArrayList, flow: Any) -> tuple[Any, Any]:
        joined, lengths = array.concatenate(rest)
        if not shapes.compatible(rest, joined.shape[1:]):
            raise wrong(
                f"Expected elements of shape {shapes.text(rest)} behind their first axis, got "
                f"{list(joined.shape[1:])}: all axes but the first must be the same."
            )
        return joined, lengths

    return concat


@kernel("TensorArraySplitV3", view=True)
def _split(node: Node) -> Kernel:
    def split(array: ArrayList, value: Any, lengths: Any, flow: Any) -> Any:
        if np.ndim(lengths) != 1:
            raise wrong(f"Expected lengths to be a vector, received shape: {list(np.shape(lengths))}")
        if np.ndim(value) == 0:
            raise wrong("Expected value to be at least a vector, but received shape: []")
        sizes = lengths.tolist()
        if any(size < 0 for size in sizes):
            raise wrong(f"Expected lengths that are not negative, got {sizes}.")
        if sum(sizes) != len(value):
            raise wrong(
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is {sum(sizes)} and "
                f"value's shape is: {list(value.shape)}"
            )
        array.check_count(len(sizes))
        start = 0
        for index, size in enumerate(sizes):
            array.write(index, value[start : start + size])
            start += size
        return _FLOW

    return split


@kernel("TensorArraySizeV3")
def _size(node: Node) -> Kernel:
    return lambda array, flow: np.int32(len(array))


@kernel("TensorArrayCloseV3")
def _close(node: Node) -> Kernel:
    return lambda array: array.close()

"""NumPy kernels of the ops that hand a tensor on, tell its shape, or change it without changing the elements.

Results that share memory with an input are said to (view=True); nothing here writes to an input.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import graphflow.errors as errors
from graphflow._core.graph import shapes
from graphflow._core.kernels.array.array import invalid, normalized
from graphflow._core.kernels.registry import Kernel, Node, kernel, simple


def _identity(node: Node) -> Kernel:
    return lambda x: x


for _type in ("Identity", "StopGradient", "PreventGradient", "PlaceholderWithDefault"):
    kernel(_type, view=True)(_identity)


@kernel("IdentityN", view=True)
def _identity_n(node: Node) -> Kernel:
    if len(node.dtypes) == 1:
        return lambda x: x
    return lambda *inputs: inputs


@kernel("Shape")
def _shape(node: Node) -> Kernel:
    kind = node.attrs["out_type"].as_numpy_dtype
    return lambda x: np.array(x.shape, kind)


@kernel("ShapeN")
def _shape_n(node: Node) -> Kernel:
    kind = node.attrs["out_type"].as_numpy_dtype
    if len(node.dtypes) == 1:
        return lambda x: np.array(x.shape, kind)
    return lambda *inputs: tuple(np.array(x.shape, kind) for x in inputs)


@kernel("Size")
def _size(node: Node) -> Kernel:
    kind = node.attrs["out_type"].as_numpy_dtype
    return lambda x: kind(x.size)


simple("Rank", lambda x: np.int32(x.ndim))


def _reshape(tensor: Any, shape: Any) -> Any:
    wanted = tuple(shape.tolist())
    free = wanted.count(-1)
    if free > 1 or any(n < -1 for n in wanted):
        raise invalid(f"A shape may have one -1 and no other negative extent, got {list(wanted)}.")
    if free:
        rest = math.prod(n for n in wanted if n != -1)
        if rest == 0:
            if tensor.size:
                raise invalid(f"Cannot reshape {tensor.size} elements to {list(wanted)}.")
            raise invalid(
                "reshape cannot infer the missing input size for an empty tensor unless all specified "
                f"input sizes are non-zero, got {list(wanted)}."
            )
        if tensor.size % rest:
            raise invalid(
                f"Input to reshape is a tensor with {tensor.size} values, but the requested shape "
                f"requires a multiple of {rest}: {list(wanted)}."
            )
    elif math.prod(wanted) != tensor.size:
        raise invalid(
            f"Input to reshape is a tensor with {tensor.size} values, but the requested shape has "
            f"{math.prod(wanted)}: {list(wanted)}."
        )
    return tensor.reshape(wanted)


simple("Reshape", _reshape, view=True)


def _expand_dims(x: Any, dim: Any) -> Any:
    return np.expand_dims(x, normalized(dim.item(), x.ndim + 1, "dim"))


simple("ExpandDims", _expand_dims, view=True)


@kernel("Squeeze", view=True)
def _squeeze(node: Node) -> Kernel:
    axes = tuple(node.attrs["squeeze_dims"])

    def run(x: Any) -> Any:
        chosen = tuple(normalized(a, x.ndim, "squeeze_dims") for a in axes)
        bad = next((a for a in chosen if x.shape[a] != 1), None)
        if bad is not None:
            raise invalid(f"Can not squeeze dim[{bad}], expected a dimension of 1, got {x.shape[bad]}")
        return x.squeeze(chosen if axes else None)

    return run


@kernel("Bitcast")
def _bitcast(node: Node) -> Kernel:
    kind = np.dtype(node.attrs["type"].as_numpy_dtype)

    def run(x: Any) -> Any:
        source = np.ascontiguousarray(x).reshape(x.shape)
        if source.dtype.itemsize > kind.itemsize:
            ratio = source.dtype.itemsize // kind.itemsize
            return np.frombuffer(source.tobytes(), kind).reshape(*source.shape, ratio)
        if source.dtype.itemsize < kind.itemsize:
            return np.frombuffer(source.tobytes(), kind).reshape(source.shape[:-1])
        return np.frombuffer(source.tobytes(), kind).reshape(source.shape)

    return run


@kernel("Placeholder", stateful=True)
def _placeholder(node: Node) -> Kernel:
    shape = shapes.text(shapes.as_dims(node.attrs.get("shape")))
    message = (
        f"You must feed a value for placeholder tensor '{node.name}' with dtype {node.dtypes[0].name} and "
        f"shape {shape}: "
        "pass feed_dict={tensor: value} to Session.run"
    )

    def unfed(run: object) -> None:
        raise errors.InvalidArgumentError(None, None, message)

    return unfed

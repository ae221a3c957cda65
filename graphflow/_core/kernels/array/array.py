"""NumPy kernels of the ops that make tensors, or change the shape of one without changing its elements.

Results that share memory with an input are said to (view=True); nothing here writes to an input.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphflow._core.kernels.registry import Kernel, Node, kernel, simple
from graphflow.errors import InvalidArgumentError


def invalid(message: str) -> InvalidArgumentError:
    """The error for a value that an op cannot use; the executor adds the op and the user's line."""
    return InvalidArgumentError(None, None, message)


def normalized(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; InvalidArgumentError if there is no such axis."""
    position = int(axis)
    if not -rank <= position < rank:
        raise invalid(
            f"{what} {position} is out of range for a tensor of rank {rank}: expected {-rank} to {rank - 1}."
        )
    return position + rank if position < 0 else position


def boxed(value: Any) -> Any:
    """An element of an array of strings as a scalar array: NumPy gives the bytes object itself."""
    return value if isinstance(value, np.ndarray | np.generic) else np.array(value, object)


def checked(function: Kernel, *errors: type[Exception]) -> Kernel:
    """A kernel whose NumPy errors about values become InvalidArgumentError."""
    expected = errors or (ValueError,)

    def run(*inputs: Any) -> Any:
        try:
            return function(*inputs)
        except expected as error:
            shapes = ", ".join(str(np.shape(x)) for x in inputs)
            raise invalid(f"{error} (shapes of the inputs: {shapes})") from None

    return run


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


def _transpose(x: Any, perm: Any) -> Any:
    order = [normalized(p, x.ndim, "perm") for p in perm]
    if len(order) != x.ndim or len(set(order)) != len(order):
        raise invalid(f"perm {order} is no permutation of the {x.ndim} axes.")
    return x.transpose(order)


simple("Transpose", _transpose, view=True)
simple("ConjugateTranspose", lambda x, perm: np.conj(_transpose(x, perm)))


def _invert_permutation(x: Any) -> Any:
    result = np.full(x.shape, -1, x.dtype)
    if x.size and (x.min() < 0 or x.max() >= x.size):
        raise invalid(f"{x.tolist()} is not between 0 and {x.size}")
    result[x] = np.arange(x.size, dtype=x.dtype)
    if x.size and result.min() < 0:
        raise invalid(f"{x.tolist()} is duplicated in the input: it is no permutation.")
    return result


simple("InvertPermutation", _invert_permutation)


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


# ---- joining ------------------------------------------------------------------------------------------------------


@kernel("Pack")
def _pack(node: Node) -> Kernel:
    axis = node.attrs["axis"]
    return checked(lambda *parts: np.stack(parts, axis))


@kernel("Unpack", view=True)
def _unpack(node: Node) -> Kernel:
    axis, count = node.attrs["axis"], node.attrs["num"]

    def run(value: Any) -> Any:
        where = normalized(axis, value.ndim)
        if value.shape[where] != count:
            raise invalid(f"Input shape {value.shape} along axis {where} must equal num, {count}.")
        rows = np.moveaxis(value, where, 0)
        return boxed(rows[0]) if count == 1 else tuple(boxed(rows[i]) for i in range(count))

    return run


def _concat(*inputs: Any) -> Any:
    *parts, axis = inputs
    return np.concatenate(parts, normalized(axis.item(), parts[0].ndim))


simple("ConcatV2", checked(_concat))


def _pieces(value: Any, sizes: list[int], axis: int) -> Any:
    lead = (slice(None),) * axis
    start, result = 0, []
    for length in sizes:
        result.append(value[(*lead, slice(start, start + length))])
        start += length
    return result[0] if len(result) == 1 else tuple(result)


@kernel("Split", view=True)
def _split(node: Node) -> Kernel:
    count = node.attrs["num_split"]

    def run(where: Any, value: Any) -> Any:
        axis = normalized(where, value.ndim)
        if value.shape[axis] % count:
            raise invalid(
                "Number of ways to split should evenly divide the split dimension, but got split_dim "
                f"{axis} (size = {value.shape[axis]}) and num_split {count}"
            )
        return _pieces(value, [value.shape[axis] // count] * count, axis)

    return run


@kernel("SplitV", view=True)
def _split_v(node: Node) -> Kernel:
    count = node.attrs["num_split"]

    def run(value: Any, sizes: Any, where: Any) -> Any:
        axis = normalized(where, value.ndim)
        lengths = [int(n) for n in sizes]
        total, fixed = value.shape[axis], sum(n for n in lengths if n >= 0)
        if len(lengths) != count or lengths.count(-1) > 1 or min(lengths) < -1:
            raise invalid(f"size_splits must be {count} sizes, of which one may be -1, got {lengths}.")
        if fixed > total or (fixed != total and -1 not in lengths):
            raise invalid(f"The sizes {lengths} must sum to the length of axis {axis}, {total}.")
        return _pieces(value, [total - fixed if n == -1 else n for n in lengths], axis)

    return run


# ---- making -------------------------------------------------------------------------------------------------------


def _fill(dims: Any, value: Any) -> Any:
    shape = tuple(dims.tolist())
    if any(n < 0 for n in shape):
        raise invalid(f"Fill dimensions must be >= 0, got {list(shape)}.")
    result = np.empty(shape, value.dtype if hasattr(value, "dtype") else object)
    result[...] = value.item() if result.dtype == object and hasattr(value, "item") else value
    return result


def _zeros_like(x: Any) -> Any:
    return np.full(x.shape, b"", object) if x.dtype == object else np.zeros(x.shape, x.dtype)


simple("Fill", _fill)
simple("ZerosLike", _zeros_like)
simple("OnesLike", lambda x: np.ones(x.shape, x.dtype))


def _range(start: Any, limit: Any, delta: Any) -> Any:
    first, last, step = start.item(), limit.item(), delta.item()
    if step == 0:
        raise invalid("Requires delta != 0: 0")
    if (step > 0 and first > last) or (step < 0 and first < last):
        raise invalid(
            f"Requires start {'<=' if step > 0 else '>='} limit when delta {'>' if step > 0 else '<'} "
            f"0: {first}/{last}"
        )
    if start.dtype.kind in "iu":
        return np.arange(first, last, step, dtype=start.dtype)
    count = math.ceil(abs((last - first) / step))
    # Added up as TensorFlow does, so that long float ranges agree to the last bit.
    return np.add.accumulate(
        np.concatenate([np.array([start]), np.full(max(count - 1, 0), delta)]), dtype=start.dtype
    )[:count]


simple("Range", _range)


def _linspace(start: Any, stop: Any, num: Any) -> Any:
    count = int(num)
    if count <= 0:
        raise invalid(f"Requires num > 0: {count}")
    kind = start.dtype
    if count == 1:
        return np.array([start], kind)
    step = (stop - start) / kind.type(count - 1)
    result = start + step * np.arange(count, dtype=kind)
    result[-1] = stop
    return result


simple("LinSpace", _linspace)


@kernel("OneHot")
def _one_hot(node: Node) -> Kernel:
    axis = node.attrs["axis"]

    def run(indices: Any, depth: Any, on_value: Any, off_value: Any) -> Any:
        length = int(depth)
        if length < 0:
            raise invalid(f"depth must be non-negative, got: {length}")
        where = normalized(axis, indices.ndim + 1)
        classes = np.arange(length).reshape(
            *(length if i == 0 else 1 for i in range(indices.ndim - where + 1))
        )
        hot = np.expand_dims(indices, where) == classes
        return np.where(hot, on_value, off_value).astype(node.dtypes[0].as_numpy_dtype, copy=False)

    return run


# ---- slices -------------------------------------------------------------------------------------------------------


def indexer(node: Node) -> Callable[[Any, Any, Any], tuple[Any, ...]]:
    """A function (begin, end, strides) -> NumPy's index for a strided slice with the node's masks."""
    begin_mask, end_mask, shrink = (node.attrs[k] for k in ("begin_mask", "end_mask", "shrink_axis_mask"))
    ellipsis, new_axis = node.attrs["ellipsis_mask"], node.attrs["new_axis_mask"]

    def index(begin: Any, end: Any, strides: Any) -> tuple[Any, ...]:
        starts, stops, steps = begin.tolist(), end.tolist(), strides.tolist()
        result: list[Any] = []
        for i, step in enumerate(steps):
            bit = 1 << i
            if ellipsis & bit:
                result.append(Ellipsis)
            elif new_axis & bit:
                result.append(None)
            elif step == 0:
                raise invalid(f"strides[{i}] must be non-zero")
            elif shrink & bit:
                result.append(0 if begin_mask & bit else starts[i])
            else:
                result.append(
                    slice(None if begin_mask & bit else starts[i], None if end_mask & bit else stops[i], step)
                )
        return tuple(result)

    return index


@kernel("StridedSlice", view=True)
def _strided_slice(node: Node) -> Kernel:
    index = indexer(node)

    def run(x: Any, begin: Any, end: Any, strides: Any) -> Any:
        position = index(begin, end, strides)
        try:
            return boxed(x[position])
        except IndexError as error:
            raise invalid(f"slice index {position} out of bounds of shape {x.shape}: {error}") from None

    return run


@kernel("StridedSliceGrad")
def _strided_slice_grad(node: Node) -> Kernel:
    index = indexer(node)

    def run(shape: Any, begin: Any, end: Any, strides: Any, dy: Any) -> Any:
        result = np.zeros(tuple(shape.tolist()), dy.dtype)
        result[index(begin, end, strides)] = dy
        return result

    return run


def _slice(x: Any, begin: Any, size: Any) -> Any:
    index = []
    if len(begin) != x.ndim or len(size) != x.ndim:
        raise invalid(
            f"begin {begin.tolist()} and size {size.tolist()} must have {x.ndim} elements for shape {x.shape}."
        )
    for axis, (start, length) in enumerate(zip(begin.tolist(), size.tolist(), strict=True)):
        stop = x.shape[axis] if length == -1 else start + length
        if start < 0 or length < -1 or start > stop or stop > x.shape[axis]:
            raise invalid(
                f"Expected begin[{axis}] in [0, {x.shape[axis]}] and the block within, but got begin "
                f"{start} and size {length}."
            )
        index.append(slice(start, stop))
    return x[tuple(index)]


simple("Slice", _slice, view=True)

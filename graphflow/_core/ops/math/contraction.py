"""Sums of products over chosen axes: tensordot and einsum, made of transpositions, reshapes and matrix products."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import graphflow._core.ops.core as core
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.random_seed import counted_as
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array import array
from graphflow._core.ops.core import convert_to_tensor, op_scope
from graphflow._core.ops.math import arithmetic, casting, comparison, linalg, reductions


def split_axes(x: Tensor, axes: Tensor) -> tuple[Tensor, Tensor]:
    """The axes counted from the front, and all the others, ascending; computed while the graph runs."""
    chosen = arithmetic.floormod(array.reshape(axes, [-1]), casting.cast(array.rank(x), axes.dtype))
    every = casting.cast(array.range_(array.rank(x)), axes.dtype)
    matches = comparison.equal(array.expand_dims(every, 1), array.expand_dims(chosen, 0))
    return chosen, array.boolean_mask(every, comparison.logical_not(reductions.reduce_any(matches, 1)))


def tensordot(a: TensorLike, b: TensorLike, axes: IntTensorLike, name: str | None = None) -> Tensor:
    """The sum of products of elements over axes of two tensors (tf.tensordot).

    Args:
        a: A tensor.
        b: A tensor of the same dtype.
        axes: The number of last axes of `a` and first axes of `b` to sum over, or a pair of (lists of) axes.
        name: A name for the operation.

    Returns:
        A tensor: the axes of `a` that are left, then those of `b`.

    Raises:
        ValueError: If they do not exist, are not as many, or their sizes differ.
    """
    with op_scope(name, "Tensordot", (a, b)) as scope:
        dtype = next((x.dtype for x in (a, b) if isinstance(x, Tensor)), None)
        a = convert_to_tensor(a, preferred_dtype=dtype, name="a")
        b = convert_to_tensor(b, preferred_dtype=a.dtype, name="b")
        if isinstance(axes, Tensor) and core.constant_value(axes) is not None:
            axes = core.constant_value(axes).tolist()
        if a.dims is None or b.dims is None or isinstance(axes, Tensor):
            return _dynamic_tensordot(a, b, axes, scope)
        a_axes, b_axes = _axis_pair(a, b, axes)
        a_free = [i for i in range(len(a.dims)) if i not in a_axes]
        b_free = [i for i in range(len(b.dims)) if i not in b_axes]
        with counted_as(_tensorflow_builds(a, a_free, b, b_free)):
            left = _as_matrix(a, a_free, a_axes)
            right = _as_matrix(b, b_axes, b_free)
            product = linalg.matmul(left, right)
            sizes = [*_extents(a, a_free), *_extents(b, b_free)]
            return array.reshape(product, sizes or np.zeros(0, np.int32), name=scope)


def _tensorflow_builds(a: Tensor, a_free: list[int], b: Tensor, b_free: list[int]) -> int:
    """How many operations TensorFlow makes: it always transposes, and asks for sizes one by one if some are unknown."""
    unknown = [None in (x.dims or ()) for x in (a, b)]
    loose = [any((x.dims or ())[axis] is None for axis in free) for x, free in ((a, a_free), (b, b_free))]
    return sum(16 if one else 4 for one in unknown) + 1 + {0: 2, 1: 4, 2: 3}[sum(loose)]


def _axis_pair(a: Tensor, b: Tensor, axes: Any) -> tuple[list[int], list[int]]:
    rank = len(a.dims or ())
    if isinstance(axes, int | np.integer):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        for x in (a, b):
            if axes > len(x.dims or ()):
                raise ValueError(f"'axes' must not be larger than the number of dimensions of tensor {x}.")
        return list(range(rank - int(axes), rank)), list(range(int(axes)))
    if not isinstance(axes, list | tuple | np.ndarray) or len(axes) != 2:
        raise ValueError("'axes' must be an integer or have length 2.")
    chosen = []
    for x, own in zip((a, b), axes):
        listed = [own] if isinstance(own, int | np.integer) else list(own)
        chosen.append([shapes.normalize_axis(int(axis), len(x.dims or ()), "axis") for axis in listed])
    if len(chosen[0]) != len(chosen[1]):
        raise ValueError(
            f"Different number of contraction axes 'a' and 'b', {len(chosen[0])} != {len(chosen[1])}."
        )
    return chosen[0], chosen[1]


def _as_matrix(x: Tensor, rows: list[int], columns: list[int]) -> Tensor:
    """The tensor with some axes gathered into rows and the others into columns."""
    order = rows + columns
    turned = x if order == sorted(order) and len(order) == len(x.dims or ()) else array.transpose(x, order)
    if len(rows) == 1 and len(columns) == 1:
        return turned
    return array.reshape(turned, [_product_of(x, rows), _product_of(x, columns)])


def _extents(x: Tensor, axes: Sequence[int]) -> list[Any]:
    dims = x.dims or ()
    dynamic = array.shape(x) if any(dims[i] is None for i in axes) else None
    return [dims[i] if dims[i] is not None else dynamic[i] for i in axes]  # type: ignore[index]


def _product_of(x: Tensor, axes: Sequence[int]) -> Any:
    total: Any = 1
    for extent in _extents(x, axes):
        total = extent if isinstance(total, int) and total == 1 else total * extent
    return total


def _dynamic_tensordot(a: Tensor, b: Tensor, axes: Any, scope: str) -> Tensor:
    """For unknown ranks or axes: what to move where is computed while the graph runs."""
    if isinstance(axes, int | np.integer):
        if axes < 0:
            raise ValueError("'axes' must be at least 0.")
        rank = array.rank(a)
        axes = array.range_(arithmetic.subtract(rank, int(axes)), rank), array.range_(int(axes))
    first, second = (casting.cast(own, dtypes.int32) for own in axes)
    (a_axes, a_free), (b_axes, b_free) = split_axes(a, first), split_axes(b, second)
    a_shape, b_shape = array.shape(a), array.shape(b)
    a_outer, b_outer = array.gather(a_shape, a_free), array.gather(b_shape, b_free)
    inner = reductions.reduce_prod(array.gather(a_shape, a_axes))
    left = array.reshape(
        array.transpose(a, array.concat([a_free, a_axes], 0)),
        array.stack([reductions.reduce_prod(a_outer), inner]),
    )
    right = array.reshape(
        array.transpose(b, array.concat([b_axes, b_free], 0)),
        array.stack([inner, reductions.reduce_prod(b_outer)]),
    )
    return array.reshape(linalg.matmul(left, right), array.concat([a_outer, b_outer], 0), name=scope)


# ---- einsum --------------------------------------------------------------------------------------------------------

_EQUATION = re.compile(r"^([a-zA-Z.,]*)(->[a-zA-Z.]*)?$")


def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """Sums of products named by letters, such as "ij,jk->ik" (tf.einsum).

    Spaces are left out of account, "..." stands for further axes. As in TensorFlow 1, a letter may not stand twice
    in one input, but in the trace of a single one, such as "ii". Several inputs are multiplied from left to right.

    Args:
        equation: The letters of each input's axes, and of the result's.
        *inputs: The tensors.
        **kwargs: `name` alone.

    Returns:
        A tensor.

    Raises:
        ValueError: If the equation is malformed or does not fit the inputs.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"invalid keyword arguments for this function: {', '.join(sorted(kwargs))}")
    with op_scope(name, "einsum", inputs):
        text = equation.replace(" ", "")
        tensors = _common(inputs)
        if len(tensors) == 1 and "->" not in text:
            text, tensors[0] = _traced(text, tensors[0])
        labels, wanted = _labels(text, tensors)
        letters, result = labels[0], tensors[0]
        for position in range(1, len(tensors)):
            later = "".join(labels[position + 1 :]) + wanted
            summed = {c for c in letters + labels[position] if c not in later}
            result, letters = _multiplied(result, letters, tensors[position], labels[position], summed)
        missing = [letters.index(c) for c in letters if c not in wanted]
        if missing:
            result = reductions.reduce_sum(result, missing)
            letters = "".join(c for c in letters if c in wanted)
        order = [letters.index(c) for c in wanted]
        return result if order == sorted(order) else array.transpose(result, order)


def _common(inputs: Sequence[Any]) -> list[Tensor]:
    dtype = next((x.dtype for x in inputs if isinstance(x, Tensor)), None)
    return [convert_to_tensor(x, preferred_dtype=dtype) for x in inputs]


def _traced(text: str, tensor: Tensor) -> tuple[str, Tensor]:
    """An input summed along the diagonal of each two axes that have the same letter, and the letters that are left."""
    for letter in dict.fromkeys(c for c in text if c.isalpha() and text.count(c) == 2):
        if tensor.dims is None:
            raise ValueError("einsum needs inputs of known rank. Use set_shape.")
        head, _, tail = text.partition("...")
        further = len(tensor.dims) - len(head + tail)
        axes = [*head, *("." * further), *tail]
        places = [place for place, c in enumerate(axes) if c == letter]
        others = [place for place, c in enumerate(axes) if c != letter]
        tensor = linalg.trace(array.transpose(tensor, others + places))
        text = text.replace(letter, "")
    return text, tensor


def _labels(text: str, tensors: list[Tensor]) -> tuple[list[str], str]:
    """The letters of each input and of the result, "..." replaced by letters of its own."""
    found = _EQUATION.match(text)
    if found is None:
        raise ValueError(f"Indices have incorrect format: {text}. Expected something like 'ij,jk->ik'.")
    parts = found.group(1).split(",")
    if len(parts) != len(tensors):
        raise ValueError(
            f"Incorrect number of inputs: the equation {text!r} has {len(parts)}, got {len(tensors)}."
        )
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in text]
    widest = 0
    counts = []
    for part, tensor in zip(parts, tensors):
        if tensor.dims is None:
            raise ValueError("einsum needs inputs of known rank. Use set_shape.")
        extra = len(tensor.dims) - len(part.replace("...", ""))
        if extra != 0 and not (extra > 0 and "..." in part):
            raise ValueError(f"The labels {part!r} do not fit an input of shape {shapes.text(tensor.dims)}.")
        counts.append(extra)
        widest = max(widest, extra)
    ellipsis = "".join(free[:widest])
    labels = [part.replace("...", ellipsis[widest - extra :]) for part, extra in zip(parts, counts)]
    for label in labels:
        if "." in label:
            raise ValueError(f"Indices have incorrect format: {text}.")
        if len(set(label)) != len(label):
            raise ValueError(f"Subscript not supported: an axis appears more than once: {label}")
    if found.group(2) is not None:
        wanted = found.group(2)[2:].replace("...", ellipsis)
    else:
        letters = "".join(labels)
        wanted = ellipsis + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1 and c not in ellipsis)
        )
    unknown = [c for c in wanted if c not in "".join(labels)]
    if unknown or len(set(wanted)) != len(wanted):
        raise ValueError(
            f"Invalid equation: {text}: the labels of the result must each stand in an input, and once."
        )
    return labels, wanted


def _multiplied(x: Tensor, x_letters: str, y: Tensor, y_letters: str, summed: set[str]) -> tuple[Tensor, str]:
    """The product of two labelled tensors, summed over the labels that nothing needs any more."""
    shared = [c for c in x_letters if c in y_letters]
    batch = [c for c in shared if c not in summed]
    inner = [c for c in shared if c in summed]
    _check_sizes(x, x_letters, y, y_letters, shared)
    rows = [c for c in x_letters if c not in shared]
    columns = [c for c in y_letters if c not in shared]
    if not inner:
        letters = batch + rows + columns
        left = _aligned(x, x_letters, letters)
        right = _aligned(y, y_letters, letters)
        return arithmetic.multiply(left, right), "".join(letters)
    left = _grouped(x, x_letters, batch, rows, inner)
    right = _grouped(y, y_letters, batch, inner, columns)
    product = linalg.matmul(left, right)
    if (len(rows), len(columns)) != (1, 1):
        sizes = _extents(x, [x_letters.index(c) for c in batch + rows])
        sizes += _extents(y, [y_letters.index(c) for c in columns])
        product = array.reshape(product, sizes or np.zeros(0, np.int32))
    return product, "".join(batch + rows + columns)


def _check_sizes(x: Tensor, x_letters: str, y: Tensor, y_letters: str, shared: list[str]) -> None:
    for c in shared:
        sizes = (x.dims or ())[x_letters.index(c)], (y.dims or ())[y_letters.index(c)]
        if None not in sizes and sizes[0] != sizes[1] and 1 not in sizes:
            raise ValueError(
                f"Dimensions must be equal, but are {sizes[0]} and {sizes[1]} for the label {c!r} of shapes "
                f"{shapes.text(x.dims)} and {shapes.text(y.dims)}."
            )


def _aligned(x: Tensor, letters: str, wanted: list[str]) -> Tensor:
    """The axes in the order wanted, with axes of one element for the letters that it lacks."""
    own = [c for c in wanted if c in letters]
    order = [letters.index(c) for c in own]
    x = x if order == sorted(order) else array.transpose(x, order)
    for place, c in enumerate(wanted):
        if c not in letters:
            x = array.expand_dims(x, place)
    return x


def _grouped(x: Tensor, letters: str, batch: list[str], first: list[str], second: list[str]) -> Tensor:
    """The axes as batch axes, then those of one group as rows, then those of the other as columns."""
    order = [letters.index(c) for c in batch + first + second]
    turned = x if order == sorted(order) else array.transpose(x, order)
    if len(first) == 1 and len(second) == 1:
        return turned
    outer, rows, columns = ([letters.index(c) for c in group] for group in (batch, first, second))
    return array.reshape(turned, [*_extents(x, outer), _product_of(x, rows), _product_of(x, columns)])

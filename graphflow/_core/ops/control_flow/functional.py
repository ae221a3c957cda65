"""map_fn, scan, foldl and foldr: a function applied along the first axis, in a loop.

All four take their elements from TensorArrays and go from one end to the other in a while_loop; the gradient is that
of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import shape as shape_of
from graphflow._core.ops.control_flow.control_flow import while_loop
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import constant, convert_to_tensor, op_scope


class _Elements:
    """The elements of a nested structure of tensors, along their first axis."""

    def __init__(self, elems: Any) -> None:
        self._structure = elems
        self.tensors = [convert_to_tensor(e, name="elem") for e in nest.flatten(elems)]
        for tensor in self.tensors:
            if tensor.dims == ():
                what = "a scalar" if len(self.tensors) == 1 else "scalars"
                raise ValueError(
                    f"elements in elems must be tensors with at least one axis, not {what}, as {tensor.name!r} is."
                )
        first: int | None = None
        for tensor in self.tensors:
            if tensor.dims is not None:
                first = shapes.merge((first,), (tensor.dims[0],))[0]  # type: ignore[index]
        self.static = first
        self.count: Any = shape_of(self.tensors[0])[0] if first is None else first
        self._arrays = [
            TensorArray(t.dtype, self.count, dynamic_size=False, infer_shape=True).unstack(t)
            for t in self.tensors
        ]

    def at(self, index: Any) -> Any:
        """The elements at an index, in the structure's form."""
        return nest.pack_sequence_as(self._structure, [array.read(index) for array in self._arrays])


def _check_function(fn: Any) -> None:
    if not callable(fn):
        raise TypeError("fn must be callable.")


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """fn of each element of `elems` along the first axis, stacked along a new first axis (tf.map_fn).

    elems may be a nested structure of tensors of equal first axis;

    Args:
        fn: A function of an element.
        elems: A tensor, or nested structure of tensors, of equal first axis.
        dtype: The dtypes, in the structure, of what fn returns, if they differ from those of elems.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        back_prop: Whether gradients pass through.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        infer_shape: Whether each turn must give the same shape.
        name: A name for the operation.

    Returns:
        What `fn` gives, in its structure, along a new first axis.

    Raises:
        ValueError: If structures differ or an element is a scalar.
        TypeError: If fn is not callable.
    """
    _check_function(fn)
    with op_scope(name, "map", nest.flatten(elems)):
        elements = _Elements(elems)
        form = elems if dtype is None else dtype
        types = (
            [t.dtype for t in elements.tensors]
            if dtype is None
            else [dtypes.as_dtype(d) for d in nest.flatten(dtype)]
        )
        count = elements.count
        results = [TensorArray(t, count, dynamic_size=False, infer_shape=infer_shape) for t in types]

        def step(i: Tensor, arrays: Sequence[TensorArray]) -> tuple[Tensor, list[TensorArray]]:
            values = fn(elements.at(i))
            nest.assert_same_structure(form, values)
            return i + 1, [a.write(i, v) for a, v in zip(arrays, nest.flatten(values), strict=True)]

        _, results = while_loop(
            lambda i, _: i < count,
            step,
            (constant(0), results),
            parallel_iterations=10 if parallel_iterations is None else parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return nest.pack_sequence_as(form, [_stacked(a, elements.static) for a in results])


def _stacked(array: TensorArray, count: int | None) -> Tensor:
    result = array.stack()
    if result.dims is not None:
        result.set_shape((count, *result.dims[1:]))
    return result


def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """All values of a = fn(a, element) along the first axis of `elems`, stacked (tf.scan).

    It starts from `initializer`, or from the first element, which then is the first value too. With `reverse` it goes
    from the last element to the first. Errors as of map_fn.

    Args:
        fn: A function of the value so far and an element.
        elems: A tensor, or nested structure of tensors, of equal first axis.
        initializer: What it begins with.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        back_prop: Whether gradients pass through.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        infer_shape: Whether each turn must give the same shape.
        reverse: Whether to begin at the end.
        name: A name for the operation.

    Returns:
        All values along a new first axis.
    """
    _check_function(fn)
    with op_scope(name, "scan", nest.flatten(elems)):
        elements = _Elements(elems)
        count, first = elements.count, 0
        if initializer is None:
            form, first = elems, 1
            start = nest.flatten(elements.at(count - 1 if reverse else 0))
        else:
            form = initializer
            start = [convert_to_tensor(v) for v in nest.flatten(initializer)]
        results = [
            TensorArray(
                v.dtype,
                count,
                dynamic_size=False,
                infer_shape=infer_shape,
                element_shape=v.shape if infer_shape else None,
            )
            for v in start
        ]
        if first:
            results = [a.write(count - 1 if reverse else 0, v) for a, v in zip(results, start, strict=True)]

        def step(i: Tensor, values: Sequence[Tensor], arrays: Sequence[TensorArray]) -> Any:
            found = fn(nest.pack_sequence_as(form, values), elements.at(i))
            nest.assert_same_structure(form, found)
            flat = nest.flatten(found)
            written = [a.write(i, v) for a, v in zip(arrays, flat, strict=True)]
            return (i - 1 if reverse else i + 1), flat, written

        begin = convert_to_tensor(count - 1 - first if reverse else first)
        _, _, results = while_loop(
            (lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < count),
            step,
            (begin, start, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
        )
        return nest.pack_sequence_as(form, [_stacked(a, elements.static) for a in results])


def _fold(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any,
    backwards: bool,
    options: dict[str, Any],
    name: str | None,
) -> Any:
    _check_function(fn)
    with op_scope(name, "foldr" if backwards else "foldl", nest.flatten(elems)):
        elements = _Elements(elems)
        count, first = elements.count, 0
        if initializer is None:
            start, first = elements.at(count - 1 if backwards else 0), 1
        else:
            start = nest.map_structure(convert_to_tensor, initializer)
        form = start

        def step(i: Tensor, values: Sequence[Tensor]) -> tuple[Tensor, list[Any]]:
            place = i - 1 if backwards else i
            found = fn(nest.pack_sequence_as(form, values), elements.at(place))
            nest.assert_same_structure(form, found)
            return (place if backwards else i + 1), nest.flatten(found)

        begin = convert_to_tensor(count - first if backwards else first)
        condition = (lambda i, _: i > 0) if backwards else (lambda i, _: i < count)
        _, result = while_loop(condition, step, (begin, nest.flatten(start)), **options)
        return nest.pack_sequence_as(form, result)


def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of a = fn(a, element), from the first element to the last (tf.foldl). See scan.

    Args:
        fn: A function of the value so far and an element.
        elems: A tensor, or nested structure of tensors, of equal first axis.
        initializer: What it begins with.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        back_prop: Whether gradients pass through.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        name: A name for the operation.

    Returns:
        The last value.
    """
    options = {"parallel_iterations": parallel_iterations, "back_prop": back_prop, "swap_memory": swap_memory}
    return _fold(fn, elems, initializer, False, options, name)


def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Any:
    """The last value of a = fn(a, element), from the last element to the first (tf.foldr). See scan.

    Args:
        fn: A function of the value so far and an element.
        elems: A tensor, or nested structure of tensors, of equal first axis.
        initializer: What it begins with.
        parallel_iterations: Accepted, and not needed: the order of the turns changes no result.
        back_prop: Whether gradients pass through.
        swap_memory: Accepted, and not needed: values of loops stay where they are.
        name: A name for the operation.

    Returns:
        The last value.
    """
    options = {"parallel_iterations": parallel_iterations, "back_prop": back_prop, "swap_memory": swap_memory}
    return _fold(fn, elems, initializer, True, options, name)
